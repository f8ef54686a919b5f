"""A watch over calls that may hang or take memory without end, for long runs of damaged files."""

from __future__ import annotations

import faulthandler
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OverrunError(Exception):
    """A call took longer, or more memory, than any file that is so small may."""


class _Alarm(BaseException):
    """Ends a call that hangs; no reader that catches every ``Exception`` takes it for damage."""


def _ring(*_: Any) -> None:
    raise _Alarm


@contextmanager
def watched(seconds: float = 10.0, megabytes: int = 1024) -> Iterator[None]:
    """Raise an `OverrunError` for a call inside that takes longer, or more memory, whatever else came of it.

    Time is the processor's, so that others on the machine do not matter. Only in the main thread. A call that hangs
    where no Python runs ends the process, with its stack printed.
    """
    before, peak = time.process_time(), _peak_memory()
    faulthandler.dump_traceback_later(20 * seconds, exit=True)
    previous = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _Alarm:
        raise OverrunError(f"was still at it after {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        faulthandler.cancel_dump_traceback_later()
        taken, more = time.process_time() - before, _peak_memory() - peak
        if taken > seconds:
            raise OverrunError(f"took {taken:.1f} s")
        if more > megabytes:
            raise OverrunError(f"took {more} MiB")


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
