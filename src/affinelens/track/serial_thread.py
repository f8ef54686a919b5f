"""A thread that does what it is given, one after the other."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

Job = tuple[Callable[[], None], "Future[None]"]


class SerialThread:
    """Starts with its first job, ends with this object, and holds up neither the interpreter's end nor a fork.

    Handing over a job takes microseconds; starting a thread for each would wait for the interpreter lock every time.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def do(self, job: Callable[[], None]) -> Future[None]:
        """Do it after what was given before; the future has what it raises."""
        if self._thread is None or not self._thread.is_alive():  # a fork leaves threads behind
            self._jobs = SimpleQueue()
            self._thread = threading.Thread(target=_work, args=(self._jobs,), daemon=True)
            self._thread.start()
            weakref.finalize(self, self._jobs.put, None)
        done: Future[None] = Future()
        self._jobs.put((job, done))
        return done


def _work(jobs: SimpleQueue[Job | None]) -> None:
    """Do jobs until there is None; nothing is held on to between two."""
    while (given := jobs.get()) is not None:
        job, done = given
        try:
            job()
        except BaseException as error:
            done.set_exception(error)
        else:
            done.set_result(None)
        del given, job, done
