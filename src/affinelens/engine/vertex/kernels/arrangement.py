"""The walk over the arrangement, depth first, one hyperplane at a time.

A cell is its vertices and, for each, the hyperplanes it lies on. A hyperplane cuts the cell if and only if two of its
vertices lie strictly on different sides. The signs of all hyperplanes that cut an ancestor are kept with each vertex as
bits, so that those that still cut a child are found by a few bit operations, and only new vertices are evaluated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.kernels.bits import NONE, ONE, ZERO, lowest_bit
from affinelens.engine.vertex.kernels.counting import conclude_section, count_frame, next_section
from affinelens.engine.vertex.kernels.emission import emit
from affinelens.engine.vertex.kernels.edges import copy_level, cross_edges, list_edges, separate
from affinelens.engine.vertex.kernels.frames import pop, push, take_slot
from affinelens.engine.vertex.kernels.last_cut import ORDINARY_CUT, halve
from affinelens.kernels.compilation import entry, inlined, kernel, merged
from affinelens.kernels.lanes import LANES
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.kernels.pruning import can_be_left, no_clause_holds
from affinelens.engine.vertex.kernels.selecting import select_side, select_winner
from affinelens.engine.vertex.kernels.stage_opening import (
    add_breaks, add_winners, follow, inherit_sums, is_carried, name_winners, open_stage, room_for_levels,
)  # fmt: skip
from affinelens.engine.vertex.layout.state import Arena, Functions, Results, Rows, Stack, State
from affinelens.engine.vertex.kernels.vertices import copy_vertex, evaluate, look_again

# What a cell needs, if not a cut: nothing more in this stage; that its group's winner be noted; nothing right now.
_NONE_CUTS, _WON, _CHOSEN = -1, -2, -3


@entry
def walk(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, results: Results,
    requests: Any, budget: int,
) -> int:  # fmt: skip
    """Go on with a walk until it is finished, its budget of work is spent, or it needs something."""
    frame = stack.frame
    _apply_answers(control, arena.bits, stack.used.shape[1], requests)
    control.work = 0
    while control.depth > 0:
        if control.work > budget:
            return endings.PAUSED
        f = control.depth - 1
        phase = frame[f].phase
        if phase == phases.BRANCHING:
            if frame[f].next >= frame[f].end:
                pop(control, stack, f)
                continue
            status = _next_child(program, control, arena, stack, rows, functions, results, f)
        elif frame[f].kind == kinds.SECTION:
            status = endings.FINISHED
            if phase == phases.OPEN:
                status = next_section(program, control, arena, stack, rows, functions, requests, f)
            if status == endings.FINISHED and frame[f].phase == phases.CONCLUDING:
                status = conclude_section(program, control, arena, stack, rows, f)
        elif phase == phases.OPEN:
            unit = _choose(program, stack, rows, f)
            if unit >= 0:
                status = halve(program, control, arena, stack, rows, results, f, unit)
                if status == ORDINARY_CUT:
                    status = _cut(program, control, arena, stack, rows, requests, f, unit)
            elif unit == _NONE_CUTS:
                status = _leave(program, control, arena, stack, rows, functions, results, requests, f)
            elif unit == _WON:
                status = _win(program, stack, rows, f)
            else:
                status = endings.FINISHED
        elif phase == phases.SPLIT_BY_GROUP:
            status = _next_candidate(program, control, stack, f)
        elif phase == phases.STARTED:
            status = _start(program, control, arena, stack, rows, requests, f)
        else:
            status = _settle(program, control, arena, stack, rows, functions, f)
        if status != endings.FINISHED:
            return status
    return endings.FINISHED


def advance(compiled: Compiled, state: State, budget: int) -> int:
    """Go on with a walk; see :func:`walk`."""
    return walk(
        compiled.program, state.control, state.arena, state.stack, state.rows, state.functions, state.results,
        state.requests, budget,
    )  # fmt: skip


@merged
def _apply_answers(control: Any, bits: Any, words: int, requests: Any) -> None:
    """Record the signs that rational arithmetic found."""
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
def _start(program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, requests: Any, f: int) -> int:
    """Find the signs of the domain's rows at the corners of the unit cube."""
    count, words = stack.frame[f].count, stack.used.shape[1]
    stage, live = stack.frame[f].stage, stack.frame[f].live
    asked = evaluate(
        program, control, arena, rows, stack.slot, requests, stack.cutting, f, live, stage, ZERO, count, words
    )
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
        return _next_rival(program, stack, rows, f)
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
        return _CHOSEN
    return unit


@kernel
def _is_unwanted(program: Program, stack: Stack, rows: Rows, f: int, stage: int) -> bool:
    """Whether frame f's cell, which is one of the last stage, lies below a break of every clause."""
    offset = program.stage[stage].break_offset
    first = program.domain_rows + offset
    for w in range(stack.frame[f].live):
        cutting = stack.cutting[f, w]
        while cutting != NONE:  # signs may be left over from another part
            b = rows.hyperplane[first + 64 * w + lowest_bit(cutting)].break_number
            cutting &= cutting - ONE
            rows.sign[b] = 0
            for k in range(program.hyperplane[b].first_follower, program.hyperplane[b + 1].first_follower):
                rows.sign[program.followers[k]] = 0
    return no_clause_holds(program, rows)


@merged
def _leave(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, results: Results,
    requests: Any, f: int,
) -> int:  # fmt: skip
    """A stage is finished on a cell: write it down if the stage is the last, otherwise open the next."""
    frame = stack.frame
    stage = frame[f].stage
    if stage >= 0 and program.stage[stage].is_grouped:
        name_winners(program, rows, stage)
    if stage == program.stages - 1:
        status = emit(program, control, arena, stack, rows, results, frame[f].ids, frame[f].count, f)
        if status == endings.FULL:
            return status
    else:
        status = _enter(program, control, arena, stack, rows, functions, requests, f)
        if status != endings.FINISHED and status != endings.UNDECIDED:
            return status
    frame[f].phase = phases.BRANCHING
    frame[f].next = 0
    frame[f].end = 0
    if stage >= 0:
        results.counts[stage] += 1
    return status


@kernel
def _next_candidate(program: Program, control: Any, stack: Stack, f: int) -> int:
    """Push the part of a cell where the next member of a group wins."""
    frame = stack.frame
    candidate = frame[f].next
    if candidate >= frame[f].end:
        pop(control, stack, f)
        return endings.FINISHED
    g = f + 1
    if g >= len(frame):
        return endings.GROW_FRAMES
    frame[f].next += 1
    selected = select_winner(program, control, stack, f, candidate)
    if selected == 0:
        return endings.FINISHED
    push(control, frame, f, frame[f].stage, phases.OPEN, kinds.CLIPPED)
    frame[g].selected = selected
    frame[g].ids = frame[f].ids
    frame[g].count = frame[f].count
    frame[g].group = frame[f].group
    frame[g].winner = candidate
    for w in range(frame[f].live):
        stack.cutting[g, w] = stack.cutting[f, w]
    for w in range(stack.used.shape[1]):
        stack.used[g, w] = stack.used[f, w]
    inherit_sums(program, stack, f, g)
    return endings.FINISHED


@kernel
def _cuts(program: Program, stack: Stack, rows: Rows, f: int, stage: int, b: int) -> int:
    """The number among the stage's candidates of a break that cuts frame f's cell, or -1."""
    place = rows.place[b]
    if place < 0:
        return -1
    unit = place - program.domain_rows - program.stage[stage].break_offset
    if stack.cutting[f, unit >> 6] & (ONE << np.uint64(unit & 63)):
        return unit
    return -1


@kernel
def _next_rival(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """The next hyperplane between a group's candidate and a rival, and the side on which the candidate wins."""
    frame = stack.frame
    stage, choice, candidate = frame[f].stage, frame[f].group, frame[f].winner
    size, table = program.group[choice].members, program.group[choice].pairs
    for rival in range(size):
        if rival == candidate:
            continue
        b = program.stage[stage].break_offset + program.pairs[table + candidate * size + rival]
        unit = _cuts(program, stack, rows, f, stage, b)
        if unit >= 0:
            frame[f].next = 1 if candidate < rival else 0
            frame[f].end = frame[f].next + 1
            return unit
        lost = rows.sign[b] < 0 if candidate < rival else rows.sign[b] >= 0
        if lost:
            frame[f].phase = phases.BRANCHING
            frame[f].next = 0
            frame[f].end = 0
            return _CHOSEN
    return _WON


@kernel
def _win(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """A group's candidate has beaten all rivals on frame f's cell, which becomes an ordinary one."""
    frame = stack.frame
    stage, choice = frame[f].stage, frame[f].group
    size, table = program.group[choice].members, program.group[choice].pairs
    first = program.stage[stage].break_offset
    for a in range(size):
        for b in range(a + 1, size):
            unit = _cuts(program, stack, rows, f, stage, first + program.pairs[table + a * size + b])
            if unit >= 0:
                stack.cutting[f, unit >> 6] &= ~(ONE << np.uint64(unit & 63))
    frame[f].kind = kinds.ORDINARY
    return endings.FINISHED


@merged
def _cut(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, requests: Any, f: int, unit: int
) -> int:
    """Cut frame f's cell by one of its hyperplanes: make the vertices that lie on it and find their signs.

    Child 0 is the part below, child 1 the part above. Their ids are laid out as one list, [below | on the hyperplane |
    above].
    """
    frame, ids = stack.frame, arena.ids
    d, lanes, words, half = program.dim, program.lanes, stack.used.shape[1], stack.cutting.shape[1]
    stage, g = frame[f].stage, f + 1
    place = unit + (0 if stage < 0 else program.domain_rows + program.stage[stage].break_offset)
    n, start, top = frame[f].count, frame[f].ids, control.ids_used
    if g >= len(frame):
        return endings.GROW_FRAMES
    if top + n > len(ids) or n + LANES > len(arena.upper):
        return endings.GROW_IDS
    slot = take_slot(stack, f, place)
    if slot < 0:
        return endings.GROW_SLOTS
    n_below, n_above, n_level = separate(arena, start, n, top, words, half, unit)
    first = control.arena_used
    crossings = list_edges(arena, start, n, top, n_below, n_above, words, d)
    if crossings < 0:
        return endings.GROW_IDS
    fresh = first + crossings
    if fresh + n_level > len(arena.bits):
        return endings.GROW_ARENA
    cross_edges(control, arena, rows, stack.slot, place, slot, top, crossings, first, words, lanes, d)
    copy_level(arena, n_level, fresh, slot, lanes, d)
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
    asked = evaluate(
        program, control, arena, rows, stack.slot, requests, stack.cutting, g, live, stage, first, fresh - first, words
    )
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
def _next_child(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, results: Results,
    f: int,
) -> int:  # fmt: skip
    """Go down to one side of a cut."""
    frame, ids, bits = stack.frame, arena.ids, arena.bits
    side, stage, n_fresh = frame[f].next, frame[f].stage, frame[f].fresh_count
    start = frame[f].split
    selected = select_side(program, control, stack, rows, f, side)
    if selected == 0:
        frame[f].next += 1
        return endings.FINISHED
    n = frame[f].below + n_fresh
    if side == 1:
        start += frame[f].below
        n = n_fresh + frame[f].above
    g = f + 1
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
        passed = _record_signs(program, functions, rows, stage, ZERO, decided, positive, negative, carries, passed)
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
            passed = _record_signs(program, functions, rows, stage, w, decided, positive, negative, carries, passed)
    if left == NONE and stage == program.stages - 1 and frame[f].kind == kinds.ORDINARY:
        status = emit(program, control, arena, stack, rows, results, start, n, g)
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
    push(control, frame, f, stage, phases.OPEN, frame[f].kind)
    frame[g].selected = selected
    frame[g].ids = start
    frame[g].count = n
    frame[g].group = frame[f].group
    frame[g].winner = frame[f].winner
    if frame[g].kind == kinds.WANTED and _is_unwanted(program, stack, rows, g, stage):
        pop(control, stack, g)
    return endings.FINISHED


@inlined
def _record_signs(
    program: Program, functions: Functions, rows: Rows, stage: int, w: int, decided: np.uint64, positive: np.uint64,
    negative: np.uint64, carries: bool, passed: int,
) -> int:  # fmt: skip
    """Note the signs of hyperplanes that no longer cut the cell; one that is zero on all of it has sign 0.

    If the sums of later stages are carried along, the breaks that are passed thereby are listed.
    """
    if stage < 0:
        return passed
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


@merged
def _enter(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, requests: Any, f: int
) -> int:
    """Open the next stage on the finished cell of frame f: its functions, candidates, and their signs."""
    frame, ids = stack.frame, arena.ids
    d = program.dim
    stage, n, start = frame[f].stage + 1, frame[f].count, frame[f].ids
    first, top = control.arena_used, control.ids_used
    g = f + 1
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
        add_winners(program, functions, rows, stack, g, stage - 1)
    candidates, passed = open_stage(program, functions, stack, rows, control, arena, g, stage, first, n)
    live = max(1, (candidates + 63) >> 6)
    for w in range(live):
        left = candidates - 64 * w
        stack.cutting[g, w] = NONE if left <= 0 else (~NONE if left >= 64 else (ONE << np.uint64(left)) - ONE)
    asked = ZERO
    for w in range(live):
        for v in range(first, first + n):
            if stack.cutting[g, w] & ~(arena.bits[v, words + w] | arena.bits[v, words + half + w]) != NONE:
                asked = look_again(
                    program, control, arena, rows, stack.slot, requests, stack.cutting, g, w, stage, v, words, asked
                )
                if asked < 0:
                    return endings.GROW_REQUESTS
    if passed > 0 and is_carried(program, stage):
        add_breaks(program, functions, stack, g, stage, passed)
    for w in range(words):
        stack.used[g, w] = stack.used[f, w]
    control.work += n + candidates + program.stage[stage].units
    control.requests = asked
    push(control, frame, f, stage, phases.ENTERED, kinds.ORDINARY)
    frame[g].live = live
    frame[g].ids = top
    frame[g].count = n
    control.arena_used = first + n
    control.ids_used = top + n
    return endings.UNDECIDED if asked > 0 else endings.FINISHED


@merged
def _settle(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, f: int
) -> int:
    """After all signs of a stage are known: which candidates really cut the cell."""
    frame, ids, bits = stack.frame, arena.ids, arena.bits
    stage, start, n = frame[f].stage, frame[f].ids, frame[f].count
    words, half = stack.used.shape[1], stack.cutting.shape[1]
    carries = stage >= 0 and is_carried(program, stage)
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
        passed = _record_signs(program, functions, rows, stage, w, decided, positive, negative, carries, passed)
    frame[f].phase = phases.OPEN
    if passed > 0:
        add_breaks(program, functions, stack, f, stage, passed)
    if len(program.wanted) > 0 and stage == program.stages - 1:
        frame[f].kind = kinds.WANTED
        if _is_unwanted(program, stack, rows, f, stage):
            pop(control, stack, f)
        return endings.FINISHED
    if len(program.wanted) > 0 and stage >= 0 and stage == program.stages - 2:
        if can_be_left(program, functions, arena, stack, rows, f, stage):
            pop(control, stack, f)
        return endings.FINISHED
    in_full = stage >= program.selected_stages and stage == program.stages - 1 and stage >= 0
    if control.sections and in_full and not program.stage[stage].is_grouped:
        count_frame(control, stack, f, program.dim)
    return endings.FINISHED
