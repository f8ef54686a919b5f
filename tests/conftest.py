"""Before any test: kernels are compiled once, not in each process; Ctrl-C works, also where a shell has turned it off,
as it does for what it starts in the background; and memory that tests free goes back to the system."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Iterator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    _give_freed_memory_back()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        from affinelens.engine.linear_program import interior_point
        from affinelens.engine.vertex.driver import warm_up

        warm_up.prepare()
        interior_point.prepare()


@pytest.fixture(autouse=True)
def _close_pictures() -> Iterator[None]:
    """What a test drew on figures of pyplot's is gone after it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def _give_freed_memory_back() -> None:
    """Let glibc map every large array by itself.

    It would come to keep arrays of up to 32 MB that are freed, and to fill with zeros what a walk reserves of them and
    never touches: gigabytes, after hundreds of tests.
    """
    if sys.platform == "linux" and (set_option := getattr(ctypes.CDLL(None), "mallopt", None)):
        threshold = -3
        set_option(threshold, 2**17)
