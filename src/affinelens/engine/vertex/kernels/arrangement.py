"""The walk over the arrangement, depth first, one hyperplane at a time.

A cell is its vertices and, for each, the hyperplanes it lies on. A hyperplane cuts the cell if and only if two of its
vertices lie strictly on different sides. The signs of all hyperplanes that cut an ancestor are kept with each vertex as
bits, so that those that still cut a child are found by a few bit operations, and only new vertices are evaluated.
"""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.kernels.counting import conclude_section, next_section
from affinelens.engine.vertex.kernels.cutting import cut, next_child
from affinelens.engine.vertex.kernels.frames import pop
from affinelens.engine.vertex.kernels.guidance import HALF_DONE, guided, stand, steer
from affinelens.engine.vertex.kernels.group_splitting import CHOSEN, WON, next_candidate, next_rival, win
from affinelens.engine.vertex.kernels.last_cut import ORDINARY_CUT, halve
from affinelens.engine.vertex.kernels.signs import evaluate
from affinelens.engine.vertex.kernels.stage_passing import leave, settle
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Rows, Stack, State
from affinelens.kernels.bits import NONE, ONE, ZERO, lowest_bit
from affinelens.kernels.compilation import entry, kernel, merged
from affinelens.kernels.intrinsics import index, rarely

# What a cell needs if not a cut: nothing more in this stage.
_NONE_CUTS = -1


@entry
def walk(program: Program, state: State, budget: int) -> int:
    """Go on with a walk until it is finished, its budget of work is spent, somebody waits, or it needs something."""
    control, stack, rows = state.control, state.stack, state.rows
    frame = stack.frame
    _apply_answers(state)
    control.work = 0
    is_guided = control.guided > 0
    while control.depth > 0:
        if rarely(control.work > budget or control.hurried != 0):
            return endings.PAUSED
        f = index(control.depth - 1)
        if rarely(is_guided):
            if steer(control, guided(program, state), f) != endings.FINISHED:
                return endings.ASTRAY
            is_guided = control.guided > 0
        phase = frame[f].phase
        decided, by_integers = control.decided, control.by_integers
        if phase == phases.BRANCHING:
            if frame[f].next >= frame[f].end:
                pop(state, f)
                continue
            status = next_child(program, state, f)
        elif frame[f].kind == kinds.SECTION:
            status = endings.FINISHED
            if phase == phases.OPEN:
                status = next_section(program, state, f)
            if status == endings.FINISHED and frame[f].phase == phases.CONCLUDING:
                status = conclude_section(program, state, f)
        elif phase == phases.OPEN or phase == phases.HALVED:
            unit = frame[f].unit if phase == phases.HALVED else _choose(program, stack, rows, f)
            if unit >= 0:
                if rarely(is_guided and f == control.guided - 1 and state.guide[f].taken == HALF_DONE):
                    if stand(control, guided(program, state), f) != endings.FINISHED:
                        return endings.ASTRAY
                    is_guided = False
                    frame[f].phase, frame[f].unit = phases.HALVED, unit
                status = halve(program, state, f, unit)
                if status == ORDINARY_CUT:
                    status = cut(program, state, f, unit)
            elif unit == _NONE_CUTS:
                status = leave(program, state, f)
            elif unit == WON:
                status = win(program, stack, rows, f)
            else:
                status = endings.FINISHED
        elif phase == phases.SPLIT_BY_GROUP:
            status = next_candidate(program, state, f)
        elif phase == phases.STARTED:
            status = _start(program, state, f)
        else:
            status = settle(program, state, f)
        if rarely(status != endings.FINISHED):
            if status >= endings.GROW_ARENA:  # what was decided will be decided again
                control.decided, control.by_integers = decided, by_integers
            return status
    return endings.FINISHED if control.guided == 0 else endings.ASTRAY


@merged
def _apply_answers(state: State) -> None:
    """Record the signs that rational arithmetic found."""
    control, arena, stack, requests = state.control, state.arena, state.stack, state.requests
    bits, words = arena.bits, stack.used.shape[1]
    half = (bits.shape[1] - words) >> 1
    for i in range(control.requests):
        vertex, unit, answer = requests[i].vertex, requests[i].bit, requests[i].answer
        bit = ONE << np.uint64(unit & 63)
        if answer > 0:
            bits[vertex, words + (unit >> 6)] |= bit
        elif answer < 0:
            bits[vertex, words + half + (unit >> 6)] |= bit
    control.requests = 0


@kernel
def _start(program: Program, state: State, f: int) -> int:
    """Find the signs of the domain's rows at the corners of the unit cube."""
    control, stack = state.control, state.stack
    count = stack.frame[f].count
    stage, live = stack.frame[f].stage, stack.frame[f].live
    asked = evaluate(program, state, f, live, stage, ZERO, count)
    if asked < 0:
        return endings.GROW_REQUESTS
    control.requests = asked
    stack.frame[f].phase = phases.ENTERED
    return endings.UNDECIDED if asked > 0 else endings.FINISHED


@merged
def _choose(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """The hyperplane to cut frame f's cell by, with the children that are wanted; or what else is to be done."""
    frame = stack.frame
    if frame[f].kind == kinds.CLIPPED:
        return next_rival(program, stack, rows, f)
    unit = -1
    for w in range(frame[f].live):
        if stack.cutting[f, w] != NONE:
            unit = 64 * w + lowest_bit(stack.cutting[f, w])
            break
    if unit < 0:
        return _NONE_CUTS
    stage = frame[f].stage
    frame[f].next = 1 if frame[f].kind == kinds.DOMAIN else 0
    frame[f].end = 2
    if stage >= 0 and program.stage[stage].is_grouped:
        b = rows.hyperplane[program.domain_rows + program.stage[stage].break_offset + unit].break_number
        choice = program.stage[stage].choice_offset + program.hyperplane[b].choice
        frame[f].group = choice
        frame[f].phase = phases.SPLIT_BY_GROUP
        frame[f].end = program.group[choice].members
        return CHOSEN
    return unit
