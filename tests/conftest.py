"""Before any test: kernels are compiled once, not in each process; and Ctrl-C works, also where a shell has turned it
off, as it does for what it starts in the background. After each: freed memory goes back to the system."""

from __future__ import annotations

import ctypes
import signal
import sys

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(config, "workerinput") and not config.option.collectonly:
        from affinelens.engine.linear_program import interior_point
        from affinelens.engine.vertex.driver import warm_up

        warm_up.prepare()
        interior_point.prepare()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """glibc keeps freed arrays of up to 32 MB for later, scattered; after hundreds of tests these are gigabytes."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)):
        trim(0)
