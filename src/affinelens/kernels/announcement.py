"""Having kernels compiled before they are needed, and saying so when that takes a while.

The first use after an installation compiles them; later ones read them from a cache.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from numba.core.event import install_recorder

COMPILING = "compiling kernels, once"
# Compiling that takes less than this is not worth a word.
_ANNOUNCE_AFTER = 1.5
Waiting = Callable[[str, float], object]
_log = logging.getLogger("affinelens")


def compile_announced(kernel: Any, use: Callable[[], object], waiting: Waiting | None) -> None:
    """Compile or load kernels by using them, unless this process has the given one already.

    Those who wait are told now and then: by ``waiting``, with a sentence and the seconds so far, or once in the log.
    """
    if getattr(kernel, "signatures", True):
        return
    failed: list[BaseException] = []
    thread = threading.Thread(target=_use, args=(use, failed), daemon=True)
    started = time.monotonic()
    announced = False
    with install_recorder("numba:compile") as compiling:  # nothing is recorded while kernels are read from the cache
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
            waited = time.monotonic() - started
            if waited < _ANNOUNCE_AFTER or not compiling.buffer or not thread.is_alive():
                continue
            if waiting is not None:
                waiting(COMPILING, waited)
            elif not announced:
                _log.warning("%s", COMPILING)
            announced = True
    if failed:
        raise failed[0]


def _use(use: Callable[[], object], failed: list[BaseException]) -> None:
    try:
        use()
    except BaseException as error:
        failed.append(error)
