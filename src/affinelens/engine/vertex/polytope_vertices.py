"""The vertices of one polytope: the vertex engine on a domain, before any unit of a network cuts it."""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Floats, Words
from affinelens.domain import Frame
from affinelens.engine.vertex import LARGEST_DIMENSION
from affinelens.engine.vertex.exact.arbiter import Arbiter
from affinelens.engine.vertex.kernels.arrangement import walk
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.first_state import new_state
from affinelens.engine.vertex.layout.program import Compiled, compile_program
from affinelens.errors import AffineLensError
from affinelens.network import AffineSum, Network
from affinelens.walk import Vertices


def polytope_vertices(frame: Frame) -> Vertices:
    """The vertices of a frame's domain, as those of a single region."""
    if frame.dim > LARGEST_DIMENSION:
        raise AffineLensError(
            f"vertices cannot be found here: dimension {frame.dim} is above {LARGEST_DIMENSION}; use the halfspaces"
        )
    nothing = Network((frame.inputs,), (), AffineSum(0, ()))
    compiled = compile_program(nothing, frame)
    points, tight = domain_cell(compiled)
    return Vertices(points * compiled.scale + compiled.shift, tight, np.array([0, len(points)]))


def domain_cell(compiled: Compiled) -> tuple[Floats, Words]:
    """The domain's vertices in the kernels' coordinates, and bits for the hyperplanes that each lies on."""
    state, arbiter = new_state(compiled, 1), Arbiter(compiled)
    while True:
        depth = int(state.control.depth)
        stages = state.stack.frame["stage"][:depth]
        if depth and (stages[-1] >= 0 or state.control.emitted):
            cell = state.stack.frame[int(np.flatnonzero(stages < 0)[-1])]
            ids = state.arena.ids[cell.ids :][: cell.count]
            points = np.ascontiguousarray(state.arena.x[ids, : compiled.program.dim])
            return points, np.ascontiguousarray(state.tight(ids))
        status = walk(compiled.program, state, 0)
        if status == endings.UNDECIDED:
            arbiter.answer(state)
        elif endings.is_growth(status):
            state = state.grown(status)
