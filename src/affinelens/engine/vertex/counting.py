"""Counting the cells of the last stage without building them, by deletion and restriction.

The number of cells that hyperplanes H_1 .. H_m cut a polytope into is ``1 + sum_k cells(H_1 .. H_(k-1) on H_k)``: each
hyperplane adds as many cells as the earlier ones cut it into. So a cell of the last stage is never made; what is made
are its *sections* by hyperplanes, by two hyperplanes, and so on down to segments, on which crossings are counted. A
frame of kind SECTION is such a section: its dimension is in its WINNER column, and its hyperplanes from NEXT to END are
still to come. Hyperplanes that coincide on a section count once; so do crossings at the same point of a segment, and
that two crossings differ must be proved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.bits import NONE, ONE, ZERO, count_bits, lowest_bit
from affinelens.engine.vertex.error_bounds import value_bound
from affinelens.engine.vertex.frames import pop, push
from affinelens.engine.vertex.jit import inlined, merged
from affinelens.engine.vertex.program import BREAK_OFFSET, Program
from affinelens.engine.vertex.state import (
    ARENA_USED, BASE, CONCLUDING, COUNT, DECIDED, EMITTED, END, FINISHED,
    FRESH, FRESH_COUNT, GROW_ARENA,
    GROW_FRAMES, GROW_IDS, GROW_REQUESTS, GROW_SLOTS, IDS, IDS_USED, KIND, NEXT, OLD_PLACE, OLD_SIDE, OPEN,
    PHASE, PLACE, REQUESTS, SECTION, SIDE, SIZE, SLOT, SPLIT, STAGE, UNDECIDED, UNIT, WINNER, WORK, Arena, Functions,
    Rows, Stack,
)  # fmt: skip
from affinelens.engine.vertex.vertices import copy_vertex, cross, evaluate, is_edge, value_at

# A number of hyperplanes that no stage has.
_ALL = 1 << 40


@merged
def next_section(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, functions: Functions, requests: Any, f: int
) -> int:
    """Restrict frame f's hyperplanes to the next of them; a frame that has done all is left."""
    frame, ids, tight = stack.frame, arena.ids, arena.tight
    d = program.dim
    control[ARENA_USED] = frame[f, FRESH]
    control[IDS_USED] = frame[f, SPLIT]
    unit = _next_bit(stack.cutting, f, frame[f, NEXT])
    if unit < 0 or unit >= frame[f, END]:
        pop(control, stack, f)
        return FINISHED
    stage, n, start = frame[f, STAGE], frame[f, COUNT], frame[f, IDS]
    first_place = program.domain_rows + program.stage[stage, BREAK_OFFSET]
    place = first_place + unit
    slot = frame[f, SLOT]
    if slot < 0:
        for w in range(stack.used.shape[1]):
            if slot < 0 and ~stack.used[f, w] != NONE:
                slot = 64 * w + lowest_bit(~stack.used[f, w])
        if slot < 0:
            return GROW_SLOTS
        frame[f, SLOT] = slot
        frame[f, OLD_PLACE] = stack.slot[slot, PLACE]
        frame[f, OLD_SIDE] = stack.slot[slot, SIDE]
    stack.slot[slot, PLACE] = place
    top, first = control[IDS_USED], control[ARENA_USED]
    if top + 4 * n + 64 > len(ids):
        return GROW_IDS
    if f + 2 > len(frame):
        return GROW_FRAMES
    word, bit = unit >> 6, ONE << np.uint64(unit & 63)
    half = arena.signs.shape[1] >> 1
    scratch = len(ids) - 2 * n
    n_above, n_below = 0, 0
    fresh = first
    capacity = len(tight)
    if first + n > capacity:
        return GROW_ARENA
    for i in range(n):
        v = ids[start + i]
        if arena.signs[v, word] & bit:
            ids[scratch + n_above] = v
            n_above += 1
        elif arena.signs[v, half + word] & bit:
            n_below += 1
            ids[scratch + 2 * n - n_below] = v
        else:
            copy_vertex(arena, v, fresh, d)
            tight[fresh, slot >> 6] |= ONE << np.uint64(slot & 63)
            for w in range(2 * half):
                arena.signs[fresh, w] = arena.signs[v, w]
            fresh += 1
    copies = fresh - first
    single = tight.shape[1] == 1
    for i in range(n_above):
        p = ids[scratch + i]
        p_tight = tight[p, 0]
        p_value = -1.0
        for j in range(n_below):
            q = ids[scratch + 2 * n - 1 - j]
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
    frame[f, UNIT] = unit
    frame[f, FRESH_COUNT] = fresh - first
    control[WORK] += 4 + n
    if frame[f, WINNER] == 2 and copies == 0:
        crossings = _count_crossings(
            control, arena, rows.row, functions.values, stack.cutting, f, first_place, unit, first, d
        )
        if crossings >= 0:
            control[EMITTED] += 1 + crossings
            frame[f, NEXT] = unit + 1
            return FINISHED
    asked = ZERO
    for w in range(word + 1):
        rest = stack.cutting[f, w]
        if w == word:
            rest &= bit - ONE
        while rest != NONE:
            other = 64 * w + lowest_bit(rest)
            rest &= rest - ONE
            asked = evaluate(
                control, arena, rows.row, rows.whole, stack.slot, requests, first_place + other, other, first + copies,
                fresh - first - copies, asked, d,
            )  # fmt: skip
            if asked < 0:
                return GROW_REQUESTS
    control[REQUESTS] = asked
    control[ARENA_USED] = fresh
    frame[f, PHASE] = CONCLUDING
    return UNDECIDED if asked > 0 else FINISHED


@merged
def _next_bit(cutting: Any, f: int, start: int) -> int:
    """The first set bit of a frame from a place on, or -1."""
    w = start >> 6
    if w < cutting.shape[1]:
        rest = cutting[f, w] >> np.uint64(start & 63) << np.uint64(start & 63)
        if rest != NONE:
            return 64 * w + lowest_bit(rest)
    for later in range(w + 1, cutting.shape[1]):
        if cutting[f, later] != NONE:
            return 64 * later + lowest_bit(cutting[f, later])
    return -1


@merged
def _count_crossings(
    control: Any, arena: Arena, row: Any, shares: Any, cutting: Any, f: int, first_place: int, unit: int, p: int, d: int
) -> int:
    """How many hyperplanes before ``unit`` cross the segment from vertex p to vertex p + 1, all at different points.

    Returns -1 if a sign or a difference is not proved by the error bounds; then the segment is looked at exactly.
    """
    x = arena.x
    q = p + 1
    off_p, off_q = x[p, d], x[q, d]
    crossings = 0
    reach = 0.0
    for w in range((unit >> 6) + 1):
        rest = cutting[f, w]
        if w == unit >> 6:
            rest &= (ONE << np.uint64(unit & 63)) - ONE
        while rest != NONE:
            place = first_place + 64 * w + lowest_bit(rest)
            rest &= rest - ONE
            at_p, at_q = row[place, d], row[place, d]
            for k in range(d):
                at_p += row[place, k] * x[p, k]
                at_q += row[place, k] * x[q, k]
            base, size = row[place, d + BASE], row[place, d + SIZE]
            bound_p, bound_q = value_bound(base, size, off_p), value_bound(base, size, off_q)
            if not (abs(at_p) > bound_p and abs(at_q) > bound_q):
                return -1
            control[DECIDED] += 2
            if (at_p > 0.0) != (at_q > 0.0):
                drop = at_p - at_q
                shares[crossings] = at_p / drop
                reach = max(reach, max(bound_p, bound_q) / abs(drop))
                crossings += 1
    gap = 2.0 * reach * (1.0 + 2.0**-20) + 2.0**-48
    close = 0
    for i in range(1, crossings):
        share = shares[i]
        for j in range(i):
            close += abs(share - shares[j]) <= gap
    return -1 if close else crossings


@merged
def conclude_section(program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, f: int) -> int:
    """All signs on a section are known: count it, and go into it if something cuts it."""
    frame, ids, signs = stack.frame, arena.ids, arena.signs
    unit, first, n = frame[f, UNIT], frame[f, FRESH], frame[f, FRESH_COUNT]
    g = f + 1
    if g >= len(frame):
        return GROW_FRAMES
    top = control[IDS_USED]
    if top + n > len(ids):
        return GROW_IDS
    frame[f, PHASE] = OPEN
    frame[f, NEXT] = unit + 1
    half = signs.shape[1] >> 1
    left = NONE
    twin = False
    for w in range(half):
        earlier = stack.cutting[f, w]
        if w == unit >> 6:
            earlier &= (ONE << np.uint64(unit & 63)) - ONE
        elif w > unit >> 6:
            earlier = NONE
        positive, negative = NONE, NONE
        for v in range(first, first + n):
            positive |= signs[v, w]
            negative |= signs[v, half + w]
        stack.cutting[g, w] = earlier & positive & negative
        left |= stack.cutting[g, w]
        if earlier & ~(positive | negative) != NONE:
            twin = True
    if twin:
        return FINISHED
    control[EMITTED] += 1
    if left == NONE or frame[f, WINNER] == 1:
        return FINISHED
    for w in range(stack.used.shape[1]):
        total = NONE
        for v in range(first, first + n):
            total |= arena.tight[v, w]
        stack.used[g, w] = total
    for i in range(n):
        ids[top + i] = first + i
    control[IDS_USED] = top + n
    open_section(control, frame, f, top, n)
    return FINISHED


@merged
def open_section(control: Any, frame: Any, f: int, ids: int, count: int) -> None:
    """Push a section of one dimension less above frame f; its cutting and used bits are set already."""
    g = f + 1
    push(control, frame, f, frame[f, STAGE], OPEN, SECTION)
    frame[g, IDS] = ids
    frame[g, COUNT] = count
    _begin(control, frame, g, frame[f, WINNER] - 1)


@inlined
def _begin(control: Any, frame: Any, f: int, dimension: int) -> None:
    """A section starts with all its hyperplanes to come."""
    frame[f, NEXT] = 0
    frame[f, END] = _ALL
    frame[f, WINNER] = dimension
    frame[f, FRESH] = control[ARENA_USED]
    frame[f, SPLIT] = control[IDS_USED]


@merged
def count_frame(control: Any, frame: Any, f: int, dimension: int) -> None:
    """Turn a cell of the last stage, of which only the parts are to be counted, into a section of full dimension."""
    control[EMITTED] += 1
    frame[f, KIND] = SECTION
    _begin(control, frame, f, dimension)
