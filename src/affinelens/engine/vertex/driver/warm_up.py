"""Having the kernels of the vertex engine compiled before a walk begins, which takes about half a minute once."""

from __future__ import annotations

from functools import cache

import numpy as np

from affinelens.domain import Box
from affinelens.engine.vertex.kernels.arrangement import walk
from affinelens.engine.vertex.layout.first_state import new_state
from affinelens.engine.vertex.layout.program import compile_program
from affinelens.network import compile_model


@cache
def prepare() -> None:
    """Compile or load the kernels by walking through a network of one unit, unless this process has done so."""
    network = compile_model([(np.ones((1, 1)), np.zeros(1)), (np.ones((1, 1)), np.zeros(1))], inputs=1)
    compiled = compile_program(network, Box(-1, 1, dim=1).frame)
    walk(compiled.program, new_state(compiled, 4), 1 << 40)
