"""Having the kernels compiled before a walk begins, and saying so when that takes a while.

The first use after an installation compiles them, which takes about half a minute; later ones read them from a cache.
"""

from __future__ import annotations

import logging
import threading
import time

import numpy as np
from numba.core.event import install_recorder

from affinelens.domain import Box
from affinelens.engine.outcome import Progress, ProgressFunction
from affinelens.engine.vertex.cells import advance, walk
from affinelens.engine.vertex.program import compile_program
from affinelens.engine.vertex.state import new_state
from affinelens.network import compile_model

COMPILING = "compiling kernels, once"
# Compiling that takes less than this is not worth a word.
_ANNOUNCE_AFTER = 1.5
_log = logging.getLogger("affinelens")


def prepare(progress: ProgressFunction | None) -> None:
    """Compile or load the kernels, unless this process has them already."""
    if getattr(walk, "signatures", True):
        return
    failed: list[BaseException] = []
    thread = threading.Thread(target=_compile, args=(failed,), daemon=True)
    started = time.monotonic()
    announced = False
    with install_recorder("numba:compile") as compiling:  # nothing is recorded while kernels are read from the cache
        thread.start()
        while thread.is_alive():
            thread.join(0.1)
            waited = time.monotonic() - started
            if waited < _ANNOUNCE_AFTER or not compiling.buffer or not thread.is_alive():
                continue
            if progress is not None:
                progress(Progress(0, (), waited, COMPILING))
            elif not announced:
                _log.warning("%s", COMPILING)
            announced = True
    if failed:
        raise failed[0]


def _compile(failed: list[BaseException]) -> None:
    """Walk a network with one unit."""
    try:
        network = compile_model([(np.ones((1, 1)), np.zeros(1)), (np.ones((1, 1)), np.zeros(1))], inputs=1)
        compiled = compile_program(network, Box(-1, 1, dim=1).frame)
        state = new_state(compiled, 4)
        advance(compiled, state, 1 << 40)
    except BaseException as error:
        failed.append(error)
