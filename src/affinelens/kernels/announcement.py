"""Saying that kernels are being compiled, when that takes a while.

The first use after an installation compiles them; later ones read them from a cache, about which nothing is said.
Whoever is told of progress hears it; otherwise it is said in the log, once however many kernels are compiled.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.event import install_recorder

from affinelens.progress import Progress, who_is_told

COMPILING = "compiling kernels, once"
# Compiling that takes less than this is not worth a word.
_ANNOUNCE_AFTER = 1.5
_PERIOD = 0.1
_log = logging.getLogger("affinelens")


def announced(compile_it: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that compiles or loads a kernel say so while it compiles."""

    def compile_announced(*arguments: Any) -> Any:
        if global_compiler_lock.is_locked():  # a part of what is being compiled
            return compile_it(*arguments)
        outcome: Future[Any] = Future()
        thread = threading.Thread(target=_settle, args=(outcome, compile_it, arguments), daemon=True)
        with install_recorder("numba:compile") as compiling:  # records nothing while code is read from the cache
            thread.start()
            _announce(outcome, lambda: bool(compiling.buffer))
        return outcome.result()

    return compile_announced


def _settle(outcome: Future[Any], compile_it: Callable[..., Any], arguments: Any) -> None:
    try:
        outcome.set_result(compile_it(*arguments))
    except BaseException as error:
        outcome.set_exception(error)


def _announce(outcome: Future[Any], is_compiling: Callable[[], bool]) -> None:
    started, told = time.monotonic(), who_is_told()
    while not wait([outcome], timeout=_PERIOD).done:
        waited = time.monotonic() - started
        if waited < _ANNOUNCE_AFTER or not is_compiling():
            continue
        if told is not None:
            told(Progress(0, (), waited, COMPILING))
        else:
            _log_once()


@cache
def _log_once() -> None:
    _log.warning("%s", COMPILING)
