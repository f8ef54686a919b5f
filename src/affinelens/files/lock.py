"""A lock on a folder, so that one process at a time writes there; it goes with the process that holds it."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from affinelens.errors import AffineLensError, AffineLensWarning, warn_user

LOCK = "writing.lock"
_HELD = {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK}


class Lock:
    """The right to write to a folder, held until it is released or the process ends, however it ends.

    The file stays behind a process that was killed, and does not hold anybody up.
    """

    def __init__(self, folder: Path) -> None:
        """Take the lock, or refuse if another process has it."""
        self._folder = folder
        self._descriptor = self._opened()

    def _opened(self) -> int:
        """The file, locked; once more if whoever had it took it away just now."""
        file = self._folder / LOCK
        while True:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                _lock(descriptor)
                if os.path.samestat(os.fstat(descriptor), file.stat()):
                    return descriptor
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno in _HELD:
                    os.close(descriptor)
                    raise AffineLensError(
                        f"{self._folder}: another process is writing there; wait for it or stop it first"
                    ) from None
                unlocked = f"{self._folder}: files cannot be locked there ({error.strerror})"
                warn_user(AffineLensWarning(f"{unlocked}; make sure that no other process writes there"))
                return descriptor
            os.close(descriptor)

    def release(self) -> None:
        """Let others write; the file goes if it is still this one, and not that of a folder that replaced this one."""
        if self._descriptor >= 0:
            file = self._folder / LOCK
            with suppress(OSError):
                if os.path.samestat(os.fstat(self._descriptor), file.stat()):
                    file.unlink()
            os.close(self._descriptor)
            self._descriptor = -1


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
