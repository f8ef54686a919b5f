"""Counting the cells of the last stage without building them, by deletion and restriction.

The number of cells that hyperplanes H_1 .. H_m cut a polytope into is ``1 + sum_k cells(H_1 .. H_(k-1) on H_k)``: each
hyperplane adds as many cells as the earlier ones cut it into. So a cell of the last stage is never made; what is made
are its *sections* by hyperplanes, by two hyperplanes, and so on down to segments, on which crossings are counted. A
frame of the kind SECTION is such a section: it knows its dimension, and its hyperplanes from ``next`` to ``end`` are
still to come. Hyperplanes that coincide on a section count once; so do crossings at the same point of a segment, and
that two crossings differ must be proved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.kernels.intrinsics import index
from affinelens.engine.vertex.kernels.edges import copy_level, cross_edges, list_edges, separate
from affinelens.engine.vertex.kernels.error_bounds import value_bound
from affinelens.engine.vertex.kernels.frames import pop, push, take_slot
from affinelens.engine.vertex.kernels.row_values import values_at
from affinelens.engine.vertex.kernels.signs import block_of, evaluate
from affinelens.engine.vertex.layout import endings, kinds, phases
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import State
from affinelens.kernels.bits import NONE, ONE, count_bits, lowest_bit
from affinelens.kernels.compilation import inlined, merged
from affinelens.kernels.lanes import LANES, above, chosen, largest, load, splat, store

# A number of hyperplanes that no stage has.
_ALL = 1 << 40


@merged
def next_section(program: Program, state: State, f: int) -> int:
    """Restrict frame f's hyperplanes to the next of them; a frame that has done all is left."""
    control, arena, stack = state.control, state.arena, state.stack
    frame, ids = stack.frame, arena.ids
    live = frame[f].live
    control.arena_used = frame[f].fresh
    control.ids_used = frame[f].split
    unit = _next_bit(stack.cutting, f, frame[f].next, live)
    if unit < 0 or unit >= frame[f].end:
        pop(state, f)
        return endings.FINISHED
    if _is_first(stack.cutting, f, unit):  # nothing cuts the section
        control.emitted += 1
        frame[f].next = unit + 1
        return endings.FINISHED
    stage, n, start, g = index(frame[f].stage), frame[f].count, index(frame[f].ids), index(f + 1)
    place = unit + program.domain_rows + program.stage[stage].break_offset
    top, first = index(control.ids_used), index(control.arena_used)
    if g >= len(frame):
        return endings.GROW_FRAMES
    if top + n > len(ids) or n + LANES > len(arena.upper):
        return endings.GROW_IDS
    slot = take_slot(stack, f, place)
    if slot < 0:
        return endings.GROW_SLOTS
    n_below, n_above, n_level = separate(state, start, n, top, unit)
    crossings = list_edges(program, state, start, n, top, n_below, n_above)
    if crossings < 0:
        return endings.GROW_IDS
    fresh = first + crossings
    if fresh + n_level > len(arena.bits):
        return endings.GROW_ARENA
    cross_edges(program, state, place, slot, top, crossings, first)
    frame[f].unit = unit
    frame[f].fresh_count = fresh - first + n_level
    control.work += 4 + n
    for w in range(live):
        stack.cutting[g, w] = stack.cutting[f, w] & _bits_before(unit, w)
    if frame[f].dimension == 2 and n_level == 0 and control.guided == 0:
        crossings = _count_crossings(program, state, g, live, stage, first)
        if crossings >= 0:
            control.emitted += 1 + crossings
            frame[f].next = unit + 1
            return endings.FINISHED
    copy_level(program, state, n_level, fresh, slot)
    asked = evaluate(program, state, g, live, stage, first, fresh - first)
    if asked < 0:
        return endings.GROW_REQUESTS
    control.requests = asked
    control.arena_used = fresh + n_level
    frame[f].phase = phases.CONCLUDING
    return endings.UNDECIDED if asked > 0 else endings.FINISHED


@inlined
def _bits_before(unit: int, w: int) -> np.uint64:
    """The bits of word w that stand for hyperplanes before one."""
    if w < unit >> 6:
        return ~NONE
    return (ONE << np.uint64(unit & 63)) - ONE if w == unit >> 6 else NONE


@merged
def _is_first(cutting: Any, f: int, unit: int) -> bool:
    """Whether a frame has no hyperplane before one."""
    earlier = NONE
    for w in range((unit >> 6) + 1):
        earlier |= cutting[f, w] & _bits_before(unit, w)
    return earlier == NONE


@merged
def _next_bit(cutting: Any, f: int, start: int, live: int) -> int:
    """The first set bit of a frame from a place on, or -1."""
    w = start >> 6
    if w < live:
        rest = cutting[f, w] >> np.uint64(start & 63) << np.uint64(start & 63)
        if rest != NONE:
            return 64 * w + lowest_bit(rest)
    for later in range(w + 1, live):
        if cutting[f, later] != NONE:
            return 64 * later + lowest_bit(cutting[f, later])
    return -1


@merged
def _count_crossings(program: Program, state: State, g: int, live: int, stage: int, p: int) -> int:
    """How many of the hyperplanes in ``cutting[g]`` cross the segment from vertex p to p + 1, all at different points.

    Returns -1 if a sign or a difference is not proved by the error bounds; then the segment is looked at exactly.
    """
    control, arena, stack, rows, functions = state.control, state.arena, state.stack, state.rows, state.functions
    block, shares, cutting = rows.block, functions.shares, stack.cutting
    x, d = arena.x, program.dim
    q = p + 1
    start, width = block_of(program, stage)
    crossings = 0
    reach = splat(0.0)
    for w in range(live):
        rest = cutting[g, w]
        control.decided += 2 * count_bits(rest)
        while rest != NONE:
            shift = lowest_bit(rest) & 56
            wanted = np.int64(rest >> np.uint64(shift)) & 255
            rest &= ~(np.uint64(255) << np.uint64(shift))
            at = start + 64 * w + shift
            constant = load(block, at + d * width)
            p_value = values_at(block, at, width, constant, x, p, d)
            q_value = values_at(block, at, width, constant, x, q, d)
            base, size = load(block, at + (d + 1) * width), load(block, at + (d + 2) * width)
            p_bound, q_bound = value_bound(base, size, arena.off[p]), value_bound(base, size, arena.off[q])
            p_above, q_above = above(p_value, p_bound), above(q_value, q_bound)
            known = (p_above | above(p_bound * -1.0, p_value)) & (q_above | above(q_bound * -1.0, q_value))
            if wanted & ~known:
                return -1
            crossed = (p_above ^ q_above) & wanted
            drop = chosen(crossed, p_value - q_value, splat(1.0))
            bound = chosen(above(p_bound, q_bound), p_bound, q_bound) / abs(drop)
            reach = chosen(crossed & above(bound, reach), bound, reach)
            store(arena.point, 0, p_value / drop)
            while crossed:
                shares[crossings] = arena.point[lowest_bit(np.uint64(crossed))]
                crossed &= crossed - 1
                crossings += 1
    gap = splat(2.0 * largest(reach) * (1.0 + 2.0**-20) + 2.0**-48)
    close = 0
    for i in range(1, crossings):
        share = shares[i]
        for j in range(0, i, LANES):
            earlier = (1 << min(LANES, i - j)) - 1
            close |= earlier & ~above(abs(load(shares, j) - share), gap)
    return -1 if close else crossings


@merged
def conclude_section(program: Program, state: State, f: int) -> int:
    """All signs on a section are known: count it, and go into it if it is cut more than once."""
    control, arena, stack = state.control, state.arena, state.stack
    frame, ids, bits = stack.frame, arena.ids, arena.bits
    unit, first, n = index(frame[f].unit), index(frame[f].fresh), frame[f].fresh_count
    g = index(f + 1)
    if g >= len(frame):
        return endings.GROW_FRAMES
    top = index(control.ids_used)
    if top + n > len(ids):
        return endings.GROW_IDS
    frame[f].phase = phases.OPEN
    frame[f].taken = unit
    frame[f].next = unit + 1
    words, half = stack.used.shape[1], stack.cutting.shape[1]
    cuts = 0
    twin = False
    for w in range(frame[f].live):
        earlier = stack.cutting[f, w] & _bits_before(unit, w)
        positive, negative = NONE, NONE
        for v in range(first, first + n):
            positive |= bits[v, words + w]
            negative |= bits[v, words + half + w]
        stack.cutting[g, w] = earlier & positive & negative
        cuts += count_bits(stack.cutting[g, w])
        if earlier & ~(positive | negative) != NONE:
            twin = True
    if twin:
        return endings.FINISHED
    control.emitted += 2 if cuts == 1 else 1
    if cuts <= 1:
        return endings.FINISHED
    for w in range(stack.used.shape[1]):
        total = NONE
        for v in range(first, first + n):
            total |= bits[v, w]
        stack.used[g, w] = total
    for i in range(n):
        ids[top + i] = first + i
    control.ids_used = top + n
    open_section(state, f, top, n)
    return endings.FINISHED


@merged
def open_section(state: State, f: int, ids: int, count: int) -> None:
    """Push a section of one dimension less above frame f; its cutting and used bits are set already."""
    stack = state.stack
    frame = stack.frame
    g = index(f + 1)
    push(state, f, frame[f].stage, phases.OPEN, kinds.SECTION)
    frame[g].ids = ids
    frame[g].count = count
    _begin(state, g, frame[f].dimension - 1)


@inlined
def _begin(state: State, f: int, dimension: int) -> None:
    """A section starts with all its hyperplanes to come."""
    control, stack = state.control, state.stack
    frame = stack.frame
    frame[f].next = 0
    frame[f].end = _ALL
    frame[f].dimension = dimension
    frame[f].fresh = control.arena_used
    frame[f].split = control.ids_used


@merged
def count_frame(state: State, f: int, dimension: int) -> None:
    """Count the parts of a cell of the last stage: at once if it is cut once at most, otherwise as a section."""
    control, stack = state.control, state.stack
    control.emitted += 1
    cuts = 0
    for w in range(stack.frame[f].live):
        cuts += count_bits(stack.cutting[f, w])
    if cuts <= 1:
        control.emitted += cuts
        pop(state, f)
        return
    stack.frame[f].kind = kinds.SECTION
    _begin(state, f, dimension)
