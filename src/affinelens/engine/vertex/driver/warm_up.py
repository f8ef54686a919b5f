"""Having the kernels of the vertex engine compiled before a walk begins, which takes about half a minute once."""

from __future__ import annotations

import numpy as np

from affinelens.domain import Box
from affinelens.kernels.announcement import compile_announced
from affinelens.walk import ProgressFunction, waiting_for
from affinelens.engine.vertex.kernels.arrangement import advance, walk
from affinelens.engine.vertex.layout.program import compile_program
from affinelens.engine.vertex.layout.first_state import new_state
from affinelens.network import compile_model


def prepare(progress: ProgressFunction | None) -> None:
    """Compile or load the kernels, unless this process has them already."""
    compile_announced(walk, _walk_one_unit, waiting_for(progress))


def _walk_one_unit() -> None:
    network = compile_model([(np.ones((1, 1)), np.zeros(1)), (np.ones((1, 1)), np.zeros(1))], inputs=1)
    compiled = compile_program(network, Box(-1, 1, dim=1).frame)
    advance(compiled, new_state(compiled, 4), 1 << 40)
