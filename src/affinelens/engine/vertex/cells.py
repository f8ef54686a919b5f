"""The walk over the arrangement, depth first, one hyperplane at a time.

A cell is its vertices and, for each, the hyperplanes it lies on. A hyperplane cuts the cell if and only if two of its
vertices lie strictly on different sides. The signs of all hyperplanes that cut an ancestor are kept with each vertex as
bits, so that those that still cut a child are found by a few bit operations, and only new vertices are evaluated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.bits import NONE, ONE, ZERO, count_bits, lowest_bit
from affinelens.engine.vertex.counting import conclude_section, count_frame, next_section
from affinelens.engine.vertex.found import emit
from affinelens.engine.vertex.frames import pop, push
from affinelens.engine.vertex.jit import inlined, kernel, merged
from affinelens.engine.vertex.program import (
    BREAKS, BREAK_OFFSET, CHOICE, CHOICE_OFFSET, GROUPED, GROUP_SIZE, LEADER, PAIRS, UNITS, Compiled, Program,
)  # fmt: skip
from affinelens.engine.vertex.stages import (
    add_breaks, add_winners, classify, inherit_sums, list_passed, make_functions, name_winners, room_for_levels,
    set_sign,
)  # fmt: skip
from affinelens.engine.vertex.state import (
    ABOVE, ANSWER, ARENA_USED, BELOW, BIT, BRANCHING, BREAK, CLIPPED, CONCLUDING, COUNT, DEPTH, DOMAIN,
    END, ENTERED, FINISHED, FRESH, FRESH_COUNT, FULL, GROUP, GROW_ARENA, GROW_FRAMES, GROW_IDS, GROW_LEVELS,
    GROW_REQUESTS, GROW_SLOTS, IDS, IDS_USED, KIND, NEXT, OLD_PLACE, OLD_SIDE, OPEN, ORDINARY, PAUSED, PHASE,
    PLACE, REQUESTS, SECTION, SECTIONS, SIDE, SLOT, SPLIT, SPLIT_BY_GROUP, STAGE, STARTED, UNDECIDED, UNIT, VERTEX,
    WINNER, WORK, Arena, Functions, Results, Rows, Stack, State,
)  # fmt: skip
from affinelens.engine.vertex.vertices import copy_vertex, cross, evaluate, is_edge, value_at

# What a cell needs, if not a cut: nothing more in this stage; that its group's winner be noted; nothing right now.
_NONE_CUTS, _WON, _CHOSEN = -1, -2, -3


@kernel
def walk(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, results: Results,
    requests: Any, budget: int,
) -> int:  # fmt: skip
    """Go on with a walk until it is finished, its budget of work is spent, or it needs something."""
    frame = stack.frame
    _apply_answers(control, arena.signs, requests)
    control[WORK] = 0
    while control[DEPTH] > 0:
        if control[WORK] > budget:
            return PAUSED
        f = control[DEPTH] - 1
        phase = frame[f, PHASE]
        if phase == BRANCHING:
            if frame[f, NEXT] >= frame[f, END]:
                pop(control, stack, f)
                continue
            status = _next_child(program, control, arena, stack, rows, functions, results, f)
        elif phase == OPEN and frame[f, KIND] == SECTION:
            status = next_section(program, control, arena, stack, rows, functions, requests, f)
        elif phase == CONCLUDING:
            status = conclude_section(program, control, arena, stack, rows, f)
        elif phase == OPEN:
            unit = _choose(program, stack, rows, f)
            if unit >= 0:
                status = _cut(program, control, arena, stack, rows, requests, f, unit)
            elif unit == _NONE_CUTS:
                status = _leave(program, control, arena, stack, rows, functions, results, requests, f)
            elif unit == _WON:
                status = _win(program, stack, rows, f)
            else:
                status = FINISHED
        elif phase == SPLIT_BY_GROUP:
            status = _next_candidate(program, control, stack, f)
        elif phase == STARTED:
            status = _start(program, control, arena, stack, rows, requests, f)
        else:
            status = _settle(program, control, arena, stack, rows, functions, f)
        if status != FINISHED:
            return status
    return FINISHED


def advance(compiled: Compiled, state: State, budget: int) -> int:
    """Go on with a walk; see :func:`walk`."""
    return walk(
        compiled.program, state.control, state.arena, state.stack, state.rows, state.functions, state.results,
        state.requests, budget,
    )  # fmt: skip


@merged
def _apply_answers(control: Any, signs: Any, requests: Any) -> None:
    """Record the signs that rational arithmetic found."""
    half = signs.shape[1] >> 1
    for i in range(control[REQUESTS]):
        vertex, unit, answer = requests[i, VERTEX], requests[i, BIT], requests[i, ANSWER]
        bit = ONE << np.uint64(unit & 63)
        if answer > 0:
            signs[vertex, unit >> 6] |= bit
        elif answer < 0:
            signs[vertex, half + (unit >> 6)] |= bit
    control[REQUESTS] = 0


@kernel
def _start(program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, requests: Any, f: int) -> int:
    """Find the signs of the domain's rows at the corners of the unit cube."""
    asked = ZERO
    for row in range(program.domain_rows):
        asked = evaluate(
            control,
            arena,
            rows.row,
            rows.whole,
            stack.slot,
            requests,
            row,
            row,
            0,
            stack.frame[f, COUNT],
            asked,
            program.dim,
        )
        if asked < 0:
            return GROW_REQUESTS
    control[REQUESTS] = asked
    stack.frame[f, PHASE] = ENTERED
    return UNDECIDED if asked > 0 else FINISHED


@merged
def _choose(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """The hyperplane to cut frame f's cell by, with the children that are wanted; or what else is to be done."""
    frame = stack.frame
    if frame[f, KIND] == CLIPPED:
        return _next_rival(program, stack, rows, f)
    unit = -1
    for w in range(stack.cutting.shape[1]):
        if stack.cutting[f, w] != NONE:
            unit = 64 * w + lowest_bit(stack.cutting[f, w])
            break
    if unit < 0:
        return _NONE_CUTS
    stage = frame[f, STAGE]
    frame[f, NEXT] = 1 if frame[f, KIND] == DOMAIN else 0
    frame[f, END] = 2
    if stage >= 0 and program.stage[stage, GROUPED]:
        b = rows.whole[program.domain_rows + program.stage[stage, BREAK_OFFSET] + unit, program.dim + BREAK]
        choice = program.stage[stage, CHOICE_OFFSET] + program.hyperplane[b, CHOICE]
        frame[f, GROUP] = choice
        frame[f, PHASE] = SPLIT_BY_GROUP
        frame[f, END] = program.group[choice, GROUP_SIZE]
        return _CHOSEN
    return unit


@merged
def _leave(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, results: Results,
    requests: Any, f: int,
) -> int:  # fmt: skip
    """A stage is finished on a cell: write it down if the stage is the last, otherwise open the next."""
    frame = stack.frame
    stage = frame[f, STAGE]
    if stage >= 0 and program.stage[stage, GROUPED]:
        name_winners(program, rows, stage)
    if stage == program.stages - 1:
        status = emit(program, control, arena, stack, rows, results, frame[f, IDS], frame[f, COUNT], f)
        if status == FULL:
            return status
    else:
        status = _enter(program, control, arena, stack, rows, functions, requests, f)
        if status != FINISHED and status != UNDECIDED:
            return status
    frame[f, PHASE] = BRANCHING
    frame[f, NEXT] = 0
    frame[f, END] = 0
    if stage >= 0:
        results.counts[stage] += 1
    return status


@kernel
def _next_candidate(program: Program, control: Any, stack: Stack, f: int) -> int:
    """Push the part of a cell where the next member of a group wins."""
    frame = stack.frame
    candidate = frame[f, NEXT]
    if candidate >= frame[f, END]:
        pop(control, stack, f)
        return FINISHED
    g = f + 1
    if g >= len(frame):
        return GROW_FRAMES
    frame[f, NEXT] += 1
    push(control, frame, f, frame[f, STAGE], OPEN, CLIPPED)
    frame[g, IDS] = frame[f, IDS]
    frame[g, COUNT] = frame[f, COUNT]
    frame[g, GROUP] = frame[f, GROUP]
    frame[g, WINNER] = candidate
    for w in range(stack.cutting.shape[1]):
        stack.cutting[g, w] = stack.cutting[f, w]
    for w in range(stack.used.shape[1]):
        stack.used[g, w] = stack.used[f, w]
    inherit_sums(program, stack, f, g)
    return FINISHED


@kernel
def _cuts(program: Program, stack: Stack, rows: Rows, f: int, stage: int, b: int) -> int:
    """The number among the stage's candidates of a break that cuts frame f's cell, or -1."""
    place = rows.place[b]
    if place < 0:
        return -1
    unit = place - program.domain_rows - program.stage[stage, BREAK_OFFSET]
    if stack.cutting[f, unit >> 6] & (ONE << np.uint64(unit & 63)):
        return unit
    return -1


@kernel
def _next_rival(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """The next hyperplane between a group's candidate and a rival, and the side on which the candidate wins."""
    frame = stack.frame
    stage, choice, candidate = frame[f, STAGE], frame[f, GROUP], frame[f, WINNER]
    size, table = program.group[choice, GROUP_SIZE], program.group[choice, PAIRS]
    for rival in range(size):
        if rival == candidate:
            continue
        b = program.stage[stage, BREAK_OFFSET] + program.pairs[table + candidate * size + rival]
        unit = _cuts(program, stack, rows, f, stage, b)
        if unit >= 0:
            frame[f, NEXT] = 1 if candidate < rival else 0
            frame[f, END] = frame[f, NEXT] + 1
            return unit
        lost = rows.sign[b] < 0 if candidate < rival else rows.sign[b] >= 0
        if lost:
            frame[f, PHASE] = BRANCHING
            frame[f, NEXT] = 0
            frame[f, END] = 0
            return _CHOSEN
    return _WON


@kernel
def _win(program: Program, stack: Stack, rows: Rows, f: int) -> int:
    """A group's candidate has beaten all rivals on frame f's cell, which becomes an ordinary one."""
    frame = stack.frame
    stage, choice = frame[f, STAGE], frame[f, GROUP]
    size, table = program.group[choice, GROUP_SIZE], program.group[choice, PAIRS]
    first = program.stage[stage, BREAK_OFFSET]
    for a in range(size):
        for b in range(a + 1, size):
            unit = _cuts(program, stack, rows, f, stage, first + program.pairs[table + a * size + b])
            if unit >= 0:
                stack.cutting[f, unit >> 6] &= ~(ONE << np.uint64(unit & 63))
    frame[f, KIND] = ORDINARY
    return FINISHED


@inlined
def _free_slot(used: Any, f: int) -> int:
    for w in range(used.shape[1]):
        if ~used[f, w] != NONE:
            return 64 * w + lowest_bit(~used[f, w])
    return -1


@merged
def _cut(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, requests: Any, f: int, unit: int
) -> int:
    """Cut frame f's cell by one of its hyperplanes: make the vertices that lie on it and find their signs.

    Child 0 is the part below, child 1 the part above. Their ids are laid out as one list, [below | on the hyperplane |
    above].
    """
    frame, ids, tight, signs = stack.frame, arena.ids, arena.tight, arena.signs
    d = program.dim
    stage = frame[f, STAGE]
    first_place = 0 if stage < 0 else program.domain_rows + program.stage[stage, BREAK_OFFSET]
    place = first_place + unit
    n, start, top = frame[f, COUNT], frame[f, IDS], control[IDS_USED]
    scratch = len(ids) - 2 * n
    if top + 4 * n + 64 > len(ids):
        return GROW_IDS
    slot = _free_slot(stack.used, f)
    if slot < 0:
        return GROW_SLOTS
    if frame[f, SLOT] < 0:  # not so when a cut is done again after growing
        frame[f, SLOT] = slot
        frame[f, OLD_PLACE] = stack.slot[slot, PLACE]
        frame[f, OLD_SIDE] = stack.slot[slot, SIDE]
        stack.slot[slot, PLACE] = place
    half = signs.shape[1] >> 1
    word, bit = unit >> 6, ONE << np.uint64(unit & 63)
    n_below, n_above, n_zero = 0, 0, 0
    for i in range(n):
        v = ids[start + i]
        if signs[v, word] & bit:
            ids[scratch + n_above] = v
            n_above += 1
        elif signs[v, half + word] & bit:
            ids[top + n_below] = v
            n_below += 1
        else:
            n_zero += 1
            ids[scratch + 2 * n - n_zero] = v

    first = control[ARENA_USED]
    fresh = first
    capacity = len(tight)
    single = tight.shape[1] == 1
    for i in range(n_above):
        p = ids[scratch + i]
        p_tight = tight[p, 0]
        p_value = -1.0
        for j in range(n_below):
            q = ids[top + j]
            shared = count_bits(p_tight & tight[q, 0])
            if not single:
                for w in range(1, tight.shape[1]):
                    shared += count_bits(tight[p, w] & tight[q, w])
            if shared < d - 1 or not is_edge(tight, ids, start, n, p, q, d):
                continue
            if fresh >= capacity:
                return GROW_ARENA
            if p_value < 0.0:
                p_value = max(value_at(rows.row, arena.x, place, p, d), 0.0)
            cross(control, arena, rows.row, rows.whole, stack.slot, place, p, q, p_value, fresh, slot, d)
            fresh += 1
    crossings = fresh - first
    if fresh + n_zero > capacity:
        return GROW_ARENA
    for i in range(n_zero):
        v = ids[scratch + 2 * n - 1 - i]
        copy_vertex(arena, v, fresh, d)
        tight[fresh, slot >> 6] |= ONE << np.uint64(slot & 63)
        for w in range(signs.shape[1]):
            signs[fresh, w] = signs[v, w]
        fresh += 1
    n_fresh = fresh - first
    if top + n_below + n_fresh + n_above > scratch:
        return GROW_IDS
    for i in range(n_fresh):
        ids[top + n_below + i] = first + i
    for i in range(n_above):
        ids[top + n_below + n_fresh + i] = ids[scratch + i]

    asked = ZERO
    for w in range(half):
        rest = stack.cutting[f, w]
        if w == word:
            rest &= ~bit
        while rest != NONE:
            other = 64 * w + lowest_bit(rest)
            rest &= rest - ONE
            asked = evaluate(
                control,
                arena,
                rows.row,
                rows.whole,
                stack.slot,
                requests,
                first_place + other,
                other,
                first,
                crossings,
                asked,
                d,
            )
            if asked < 0:
                return GROW_REQUESTS
    control[REQUESTS] = asked
    control[ARENA_USED] = fresh
    control[IDS_USED] = top + n_below + n_fresh + n_above
    control[WORK] += 4 + n
    frame[f, SPLIT] = top
    frame[f, BELOW] = n_below
    frame[f, ABOVE] = n_above
    frame[f, FRESH] = first
    frame[f, FRESH_COUNT] = n_fresh
    frame[f, UNIT] = unit
    frame[f, PHASE] = BRANCHING
    return UNDECIDED if asked > 0 else FINISHED


@merged
def _next_child(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, results: Results,
    f: int,
) -> int:  # fmt: skip
    """Go down to one side of a cut."""
    frame, ids, signs = stack.frame, arena.ids, arena.signs
    side, stage, n_fresh = frame[f, NEXT], frame[f, STAGE], frame[f, FRESH_COUNT]
    start = frame[f, SPLIT]
    n = frame[f, BELOW] + n_fresh
    if side == 1:
        start += frame[f, BELOW]
        n = n_fresh + frame[f, ABOVE]
    g = f + 1
    if g >= len(frame):
        return GROW_FRAMES
    stack.slot[frame[f, SLOT], SIDE] = 2 * side - 1
    word, bit = frame[f, UNIT] >> 6, ONE << np.uint64(frame[f, UNIT] & 63)
    for w in range(stack.used.shape[1]):
        total = NONE
        for i in range(n):
            total |= arena.tight[ids[start + i], w]
        stack.used[g, w] = total
    half = signs.shape[1] >> 1
    left = NONE
    passed = ZERO
    carries = stage >= 0 and stage < program.stages - 1 and not program.stage[stage, GROUPED]
    for w in range(half):
        before = stack.cutting[f, w]
        if before == NONE:
            stack.cutting[g, w] = NONE
            continue
        positive, negative = NONE, NONE
        if before == bit and w == word:  # the child lies on one side of the only hyperplane there was
            positive, negative = (bit, NONE) if side == 1 else (NONE, bit)
        else:
            for i in range(n):
                v = ids[start + i]
                positive |= signs[v, w]
                negative |= signs[v, half + w]
        both = positive & negative & before
        stack.cutting[g, w] = both
        left |= both
        if stage >= 0:
            decided = before & ~both
            _record_signs(program, rows, stage, w, decided, positive, negative)
            if carries:
                passed = _list_decided(program, functions, rows, stage, w, decided, passed)
    if left == NONE and stage == program.stages - 1 and frame[f, KIND] == ORDINARY:
        status = emit(program, control, arena, stack, rows, results, start, n, g)
        if status == FULL:
            return status
        results.counts[stage] += 1
        frame[f, NEXT] += 1
        return status
    if stage < program.stages - 1:
        inherit_sums(program, stack, f, g)
    if carries and add_breaks(program, functions, stack, g, stage, passed) != FINISHED:
        return GROW_LEVELS
    frame[f, NEXT] += 1
    push(control, frame, f, stage, OPEN, frame[f, KIND])
    frame[g, IDS] = start
    frame[g, COUNT] = n
    frame[g, GROUP] = frame[f, GROUP]
    frame[g, WINNER] = frame[f, WINNER]
    return FINISHED


@inlined
def _record_signs(
    program: Program, rows: Rows, stage: int, w: int, decided: np.uint64, positive: np.uint64, negative: np.uint64
) -> None:
    """Note the signs of hyperplanes that no longer cut the cell; one that is zero on all of it has sign 0."""
    first = program.domain_rows + program.stage[stage, BREAK_OFFSET] + 64 * w
    while decided != NONE:
        i = lowest_bit(decided)
        bit = ONE << np.uint64(i)
        decided &= decided - ONE
        sign = 1 if positive & bit else (-1 if negative & bit else 0)
        set_sign(program, rows, rows.whole[first + i, program.dim + BREAK], sign)


@inlined
def _list_decided(
    program: Program, functions: Functions, rows: Rows, stage: int, w: int, decided: np.uint64, passed: int
) -> int:
    """Append those of the decided hyperplanes that the cell lies above to the list of passed breaks."""
    first = program.domain_rows + program.stage[stage, BREAK_OFFSET] + 64 * w
    while decided != NONE:
        b = rows.whole[first + lowest_bit(decided), program.dim + BREAK]
        decided &= decided - ONE
        passed = list_passed(program, functions, rows, b, passed)
    return passed


@merged
def _enter(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, requests: Any, f: int
) -> int:
    """Open the next stage on the finished cell of frame f: its functions, candidates, and their signs."""
    frame, ids = stack.frame, arena.ids
    d = program.dim
    stage, n, start = frame[f, STAGE] + 1, frame[f, COUNT], frame[f, IDS]
    first, top = control[ARENA_USED], control[IDS_USED]
    g = f + 1
    if g >= len(frame):
        return GROW_FRAMES
    if top + n > len(ids):
        return GROW_IDS
    if first + n > len(arena.tight):
        return GROW_ARENA
    if not room_for_levels(program, functions, stack, f, stage, 4):
        return GROW_LEVELS
    if stage > 0 and not room_for_levels(program, functions, stack, f, stage - 1, 4):
        return GROW_LEVELS
    for i in range(n):
        copy_vertex(arena, ids[start + i], first + i, d)
        for w in range(arena.signs.shape[1]):
            arena.signs[first + i, w] = NONE
        ids[top + i] = first + i
    inherit_sums(program, stack, f, g)
    if stage > 0 and program.stage[stage - 1, GROUPED]:
        add_winners(program, functions, rows, stack, g, stage - 1)
    make_functions(program, functions, stack, g, stage)
    candidates = classify(program, functions, rows, control, arena.x, stage, first, n)
    for w in range(stack.cutting.shape[1]):
        stack.cutting[g, w] = NONE
    first_place = program.domain_rows + program.stage[stage, BREAK_OFFSET]
    asked = ZERO
    for unit in range(candidates):
        stack.cutting[g, unit >> 6] |= ONE << np.uint64(unit & 63)
        asked = evaluate(
            control, arena, rows.row, rows.whole, stack.slot, requests, first_place + unit, unit, first, n, asked, d
        )
        if asked < 0:
            return GROW_REQUESTS
    if not program.stage[stage, GROUPED]:
        passed = ZERO
        offset = program.stage[stage, BREAK_OFFSET]
        for b in range(offset, offset + program.stage[stage, BREAKS]):
            if program.hyperplane[b, LEADER] == b and rows.place[b] < 0:
                passed = list_passed(program, functions, rows, b, passed)
        add_breaks(program, functions, stack, g, stage, passed)
    for w in range(stack.used.shape[1]):
        stack.used[g, w] = stack.used[f, w]
    control[WORK] += n + candidates + program.stage[stage, UNITS]
    control[REQUESTS] = asked
    push(control, frame, f, stage, ENTERED, ORDINARY)
    frame[g, IDS] = top
    frame[g, COUNT] = n
    control[ARENA_USED] = first + n
    control[IDS_USED] = top + n
    return UNDECIDED if asked > 0 else FINISHED


@merged
def _settle(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, f: int
) -> int:
    """After all signs of a stage are known: which candidates really cut the cell."""
    frame, ids, signs = stack.frame, arena.ids, arena.signs
    stage, start, n = frame[f, STAGE], frame[f, IDS], frame[f, COUNT]
    half = signs.shape[1] >> 1
    passed = ZERO
    for w in range(half):
        candidates = stack.cutting[f, w]
        if candidates == NONE:
            continue
        positive, negative = NONE, NONE
        for i in range(n):
            v = ids[start + i]
            positive |= signs[v, w]
            negative |= signs[v, half + w]
        stack.cutting[f, w] = positive & negative & candidates
        if stage >= 0:
            decided = candidates & ~(positive & negative)
            _record_signs(program, rows, stage, w, decided, positive, negative)
            if not program.stage[stage, GROUPED]:
                passed = _list_decided(program, functions, rows, stage, w, decided, passed)
    frame[f, PHASE] = OPEN
    if passed > 0:
        add_breaks(program, functions, stack, f, stage, passed)
    if control[SECTIONS] and stage == program.stages - 1 and stage >= 0 and not program.stage[stage, GROUPED]:
        count_frame(control, stack.frame, f, program.dim)
    return FINISHED
