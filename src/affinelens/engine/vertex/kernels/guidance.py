"""The way to where a job stands: the walk goes there from the root, step by step, as it once did, and finds nothing.

A job says for each frame which child to take, and which of the others are still to come. Every step is taken by the
kernels that take it otherwise; here is what they are told on the way. A job may come from a file that nobody vouches
for: a child that a frame does not have is never taken.
"""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import State
from affinelens.kernels.bits import ONE
from affinelens.kernels.compilation import kernel

# The topmost frame of a way, of whose last cut one half was written down already; and, below it, a frame that was
# told what to do.
HALF_DONE = -2
_STOOD_ON = -3


@kernel
def steer(program: Program, state: State, f: int) -> int:
    """Tell frame f, the topmost, what to do next on the way; at its end, the walk stands where the job does."""
    control, frame, guide = state.control, state.stack.frame, state.guide
    is_last = f == control.guided - 1
    if is_last and guide[f].next < 0:
        _arrive(state, f)
        return endings.FINISHED
    phase, is_section = frame[f].phase, frame[f].kind == kinds.SECTION
    if not (phase == phases.BRANCHING or phase == phases.SPLIT_BY_GROUP or (is_section and phase == phases.OPEN)):
        return endings.FINISHED
    if is_last:
        return stand(program, state, f)
    child, following, end = guide[f].taken, guide[f].next, guide[f].end
    if is_section:
        named = child
        child, following, end = (
            _unit(program, state, f, child), _unit(program, state, f, following), _unit(program, state, f, end),
        )  # fmt: skip
        if child == 64 * frame[f].live or _break(program, state, f, child) != named:
            return endings.ASTRAY
    if child < frame[f].next or child >= frame[f].end or following <= child or end > frame[f].end:
        return endings.ASTRAY
    guide[f].taken, guide[f].next, guide[f].end = _STOOD_ON, following, end
    frame[f].next, frame[f].end = child, child + 1
    return endings.FINISHED


@kernel
def stand(program: Program, state: State, f: int) -> int:
    """Frame f, the last of the way, has what there is to choose from: leave it what is still to come."""
    frame, guide = state.stack.frame, state.guide
    following, end = guide[f].next, guide[f].end
    if frame[f].kind == kinds.SECTION:
        following, end = _unit(program, state, f, following), _unit(program, state, f, end)
    if following < frame[f].next or following > end or end > frame[f].end:
        return endings.ASTRAY
    frame[f].next, frame[f].end = following, end
    _arrive(state, f)
    return endings.FINISHED


@kernel
def _arrive(state: State, f: int) -> None:
    """Give all frames below frame f the children that are still to come, and forget what was found on the way."""
    control, frame, guide = state.control, state.stack.frame, state.guide
    for g in range(f):
        if guide[g].taken == _STOOD_ON:
            frame[g].next, frame[g].end = guide[g].next, guide[g].end
    control.guided = 0
    control.emitted = control.facets_emitted = control.vertices_emitted = 0
    control.decided = control.by_integers = control.refreshed = 0
    for stage in range(len(state.results.counts)):
        state.results.counts[stage] = 0


@kernel
def _break(program: Program, state: State, f: int, unit: int) -> int:
    """The break of a hyperplane that cuts the cell of a section."""
    return state.rows.hyperplane[
        program.domain_rows + program.stage[state.stack.frame[f].stage].break_offset + unit
    ].break_number


@kernel
def _unit(program: Program, state: State, f: int, number: int) -> int:
    """The first hyperplane of a section whose break is not before one, or else one more than there are."""
    cutting, live = state.stack.cutting, state.stack.frame[f].live
    for unit in range(64 * live):
        if cutting[f, unit >> 6] & (ONE << np.uint64(unit & 63)) and _break(program, state, f, unit) >= number:
            return unit
    return 64 * live
