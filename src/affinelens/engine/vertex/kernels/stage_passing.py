"""From one stage to the next: a finished cell is written down or has the next stage opened on it."""

from __future__ import annotations

import numpy as np

from affinelens.kernels.intrinsics import index
from affinelens.engine.vertex.kernels.counting import count_frame
from affinelens.engine.vertex.kernels.cutting import record_signs
from affinelens.engine.vertex.kernels.emission import emit
from affinelens.engine.vertex.kernels.frames import pop, push
from affinelens.engine.vertex.kernels.group_splitting import name_winners
from affinelens.engine.vertex.kernels.pruning import can_be_left, is_unwanted
from affinelens.engine.vertex.kernels.signs import look_again
from affinelens.engine.vertex.kernels.stage_opening import open_stage
from affinelens.engine.vertex.kernels.sums import add_breaks, add_winners, inherit_sums, is_carried, room_for_levels
from affinelens.engine.vertex.kernels.vertices import copy_vertex
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import State
from affinelens.kernels.bits import NONE, ONE, ZERO
from affinelens.kernels.compilation import merged


@merged
def leave(program: Program, state: State, f: int) -> int:
    """A stage is finished on a cell: write it down if the stage is the last, otherwise open the next."""
    stack, rows, results = state.stack, state.rows, state.results
    frame = stack.frame
    stage = frame[f].stage
    if stage >= 0 and program.stage[stage].is_grouped:
        name_winners(program, rows, stage)
    if stage == program.stages - 1:
        status = emit(program, state, frame[f].ids, frame[f].count, f)
        if status == endings.FULL:
            return status
    else:
        status = _enter(program, state, f)
        if status != endings.FINISHED and status != endings.UNDECIDED:
            return status
    frame[f].phase = phases.BRANCHING
    frame[f].taken = 0
    frame[f].next = 0
    frame[f].end = 0
    if stage >= 0:
        results.counts[stage] += 1
    return status


@merged
def _enter(program: Program, state: State, f: int) -> int:
    """Open the next stage on the finished cell of frame f: its functions, candidates, and their signs."""
    control, arena, stack, functions = state.control, state.arena, state.stack, state.functions
    frame, ids = stack.frame, arena.ids
    d = program.dim
    stage, n, start = index(frame[f].stage + 1), frame[f].count, index(frame[f].ids)
    first, top = index(control.arena_used), index(control.ids_used)
    g = index(f + 1)
    if g >= len(frame):
        return endings.GROW_FRAMES
    if top + n > len(ids):
        return endings.GROW_IDS
    if first + n > len(arena.bits):
        return endings.GROW_ARENA
    if not room_for_levels(program, functions, stack, f, stage, 4):
        return endings.GROW_LEVELS
    if stage > 0 and not room_for_levels(program, functions, stack, f, stage - 1, 4):
        return endings.GROW_LEVELS
    words, half = stack.used.shape[1], stack.cutting.shape[1]
    for i in range(n):
        v = ids[start + i]
        copy_vertex(arena, v, first + i, program.lanes, d)
        for w in range(words):
            arena.bits[first + i, w] = arena.bits[v, w]
        ids[top + i] = first + i
    inherit_sums(program, stack, f, g)
    if stage > 0 and program.stage[stage - 1].is_grouped:
        add_winners(program, state, g, stage - 1)
    candidates, passed = open_stage(program, state, g, stage, first, n)
    live = max(1, (candidates + 63) >> 6)
    for w in range(live):
        left = candidates - 64 * w
        stack.cutting[g, w] = NONE if left <= 0 else (~NONE if left >= 64 else (ONE << np.uint64(left)) - ONE)
    asked = ZERO
    for w in range(live):
        for v in range(first, first + n):
            if stack.cutting[g, w] & ~(arena.bits[v, words + w] | arena.bits[v, words + half + w]) != NONE:
                asked = look_again(program, state, g, w, stage, v, asked)
                if asked < 0:
                    return endings.GROW_REQUESTS
    if passed > 0 and is_carried(program, stage):
        add_breaks(program, functions, stack, g, stage, passed)
    for w in range(words):
        stack.used[g, w] = stack.used[f, w]
    control.work += n + candidates + program.stage[stage].units
    control.requests = asked
    push(state, f, stage, phases.ENTERED, kinds.ORDINARY)
    frame[g].live = live
    frame[g].ids = top
    frame[g].count = n
    control.arena_used = first + n
    control.ids_used = top + n
    return endings.UNDECIDED if asked > 0 else endings.FINISHED


@merged
def settle(program: Program, state: State, f: int) -> int:
    """After all signs of a stage are known: which candidates really cut the cell."""
    control, arena, stack, rows, functions = state.control, state.arena, state.stack, state.rows, state.functions
    frame, ids, bits = stack.frame, arena.ids, arena.bits
    stage, start, n = frame[f].stage, index(frame[f].ids), frame[f].count
    words, half = stack.used.shape[1], stack.cutting.shape[1]
    passed = ZERO
    for w in range(frame[f].live):
        candidates = stack.cutting[f, w]
        if candidates == NONE:
            continue
        positive, negative = NONE, NONE
        for i in range(n):
            v = ids[start + i]
            positive |= bits[v, words + w]
            negative |= bits[v, words + half + w]
        both = positive & negative & candidates
        stack.cutting[f, w] = both
        decided = candidates & ~both
        passed = record_signs(program, state, stage, w, decided, positive, negative, passed)
    frame[f].phase = phases.OPEN
    if passed > 0:
        add_breaks(program, functions, stack, f, stage, passed)
    if len(program.wanted) > 0 and stage == program.stages - 1:
        frame[f].kind = kinds.WANTED
        if is_unwanted(program, stack, rows, f, stage):
            pop(state, f)
        return endings.FINISHED
    if len(program.wanted) > 0 and stage >= 0 and stage == program.stages - 2:
        if can_be_left(program, state, f, stage):
            pop(state, f)
        return endings.FINISHED
    in_full = stage >= program.selected_stages and stage == program.stages - 1 and stage >= 0
    if control.sections and in_full and not program.stage[stage].is_grouped:
        count_frame(state, f, program.dim)
    return endings.FINISHED
