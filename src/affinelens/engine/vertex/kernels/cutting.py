"""A cut: the vertices that lie on a hyperplane are made, and the walk goes down to one side and then the other."""

from __future__ import annotations

import numpy as np

from affinelens.kernels.intrinsics import index
from affinelens.engine.vertex.kernels.edges import copy_level, cross_edges, list_edges, separate
from affinelens.engine.vertex.kernels.emission import emit
from affinelens.engine.vertex.kernels.frames import pop, push, take_slot
from affinelens.engine.vertex.kernels.pruning import is_unwanted
from affinelens.engine.vertex.kernels.selected_cells import select_side
from affinelens.engine.vertex.kernels.signs import evaluate
from affinelens.engine.vertex.kernels.stage_opening import follow
from affinelens.engine.vertex.kernels.sums import add_breaks, inherit_sums, is_carried
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import State
from affinelens.kernels.bits import NONE, ONE, ZERO, lowest_bit
from affinelens.kernels.compilation import inlined, merged
from affinelens.kernels.lanes import LANES


@merged
def cut(program: Program, state: State, f: int, unit: int) -> int:
    """Cut frame f's cell by one of its hyperplanes: make the vertices that lie on it and find their signs.

    Child 0 is the part below, child 1 the part above. Their ids are laid out as one list, [below | on the hyperplane |
    above].
    """
    control, arena, stack = state.control, state.arena, state.stack
    frame, ids = stack.frame, arena.ids
    stage, g = frame[f].stage, index(f + 1)
    place = unit + (0 if stage < 0 else program.domain_rows + program.stage[stage].break_offset)
    n, start, top = frame[f].count, index(frame[f].ids), index(control.ids_used)
    if g >= len(frame):
        return endings.GROW_FRAMES
    if top + n > len(ids) or n + LANES > len(arena.upper):
        return endings.GROW_IDS
    slot = take_slot(stack, f, place)
    if slot < 0:
        return endings.GROW_SLOTS
    n_below, n_above, n_level = separate(state, start, n, top, unit)
    first = index(control.arena_used)
    crossings = list_edges(program, state, start, n, top, n_below, n_above)
    if crossings < 0:
        return endings.GROW_IDS
    fresh = first + crossings
    if fresh + n_level > len(arena.bits):
        return endings.GROW_ARENA
    cross_edges(program, state, place, slot, top, crossings, first)
    copy_level(program, state, n_level, fresh, slot)
    n_fresh = fresh - first + n_level
    if top + n_below + n_fresh + n_above > len(ids):
        return endings.GROW_IDS
    for i in range(n_fresh):
        ids[top + n_below + i] = first + i
    for i in range(n_above):
        ids[top + n_below + n_fresh + i] = arena.upper[i]
    live = frame[f].live
    for w in range(live):
        stack.cutting[g, w] = stack.cutting[f, w]
    stack.cutting[g, unit >> 6] &= ~(ONE << np.uint64(unit & 63))
    asked = evaluate(program, state, g, live, stage, first, fresh - first)
    if asked < 0:
        return endings.GROW_REQUESTS
    control.requests = asked
    control.arena_used = first + n_fresh
    control.ids_used = top + n_below + n_fresh + n_above
    control.work += 4 + n
    frame[f].split = top
    frame[f].below = n_below
    frame[f].above = n_above
    frame[f].fresh = first
    frame[f].fresh_count = n_fresh
    frame[f].unit = unit
    frame[f].phase = phases.BRANCHING
    return endings.UNDECIDED if asked > 0 else endings.FINISHED


@merged
def next_child(program: Program, state: State, f: int) -> int:
    """Go down to one side of a cut."""
    arena, stack, rows, functions, results = state.arena, state.stack, state.rows, state.functions, state.results
    frame, ids, bits = stack.frame, arena.ids, arena.bits
    side, stage, n_fresh = frame[f].next, frame[f].stage, frame[f].fresh_count
    start = index(frame[f].split)
    selected = select_side(program, state, f, side)
    frame[f].taken = side
    if selected == 0:
        frame[f].next += 1
        return endings.FINISHED
    n = frame[f].below + n_fresh
    if side == 1:
        start += frame[f].below
        n = n_fresh + frame[f].above
    g = index(f + 1)
    stack.slot[frame[f].slot].side = 2 * side - 1
    words, half, live = stack.used.shape[1], stack.cutting.shape[1], frame[f].live
    left = NONE
    passed = ZERO
    carries = stage >= 0 and is_carried(program, stage)
    if words == 1 and live == 1:
        used, positive, negative = NONE, NONE, NONE
        for i in range(n):
            v = ids[start + i]
            used |= bits[v, 0]
            positive |= bits[v, 1]
            negative |= bits[v, 1 + half]
        stack.used[g, 0] = used
        left = stack.cutting[f, 0] & positive & negative
        decided = stack.cutting[f, 0] & ~left
        stack.cutting[g, 0] = left
        passed = record_signs(program, state, stage, ZERO, decided, positive, negative, passed)
    else:
        for w in range(words):
            used = NONE
            for i in range(n):
                used |= bits[ids[start + i], w]
            stack.used[g, w] = used
        for w in range(live):
            positive, negative = NONE, NONE
            for i in range(n):
                v = ids[start + i]
                positive |= bits[v, words + w]
                negative |= bits[v, words + half + w]
            both = stack.cutting[f, w] & positive & negative
            left |= both
            decided = stack.cutting[f, w] & ~both
            stack.cutting[g, w] = both
            passed = record_signs(program, state, stage, w, decided, positive, negative, passed)
    if left == NONE and stage == program.stages - 1 and frame[f].kind == kinds.ORDINARY:
        status = emit(program, state, start, n, g)
        if status == endings.FULL:
            return status
        results.counts[stage] += 1
        frame[f].next += 1
        return status
    if stage < program.stages - 1:
        inherit_sums(program, stack, f, g)
    if carries and add_breaks(program, functions, stack, g, stage, passed) != endings.FINISHED:
        return endings.GROW_LEVELS
    frame[f].next += 1
    push(state, f, stage, phases.OPEN, frame[f].kind)
    frame[g].selected = selected
    frame[g].ids = start
    frame[g].count = n
    frame[g].group = frame[f].group
    frame[g].winner = frame[f].winner
    if frame[g].kind == kinds.WANTED and is_unwanted(program, stack, rows, g, stage):
        pop(state, g)
    return endings.FINISHED


@inlined
def record_signs(
    program: Program,
    state: State,
    stage: int,
    w: int,
    decided: np.uint64,
    positive: np.uint64,
    negative: np.uint64,
    passed: int,
) -> int:
    """Note the signs of hyperplanes that no longer cut the cell; one that is zero on all of it has sign 0.

    If the sums of later stages are carried along, the breaks that are passed thereby are listed.
    """
    rows, functions = state.rows, state.functions
    if stage < 0:
        return passed
    carries = is_carried(program, stage)
    offset = program.stage[stage].break_offset
    first = program.domain_rows + offset + 64 * w
    followed = program.stage[stage].followed > 0
    while decided != NONE:
        i = np.uint64(lowest_bit(decided))
        decided &= decided - ONE
        sign = np.int64(positive >> i & ONE) - np.int64(negative >> i & ONE)
        b = rows.hyperplane[first + np.int64(i)].break_number
        rows.sign[b] = sign
        if carries and sign > 0:
            functions.passed[passed] = b - offset
            passed += 1
        if followed:
            for k in range(program.hyperplane[b].first_follower, program.hyperplane[b + 1].first_follower):
                passed = follow(program, functions, rows, offset, program.followers[k], passed)
    return passed
