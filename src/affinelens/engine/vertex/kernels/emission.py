"""Writing down a region: its pattern and a point inside, and on request its facets and vertices."""

from __future__ import annotations

from typing import Any

import numpy as np


from affinelens.engine.vertex.kernels.row_values import value_at
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.stack_records import Counters
from affinelens.engine.vertex.layout.state import Arena, Results, Rows, Stack, State
from affinelens.kernels.bits import NONE, ONE, ZERO, count_bits, lowest_bit
from affinelens.kernels.compilation import inlined, kernel, unreordered
from affinelens.kernels.lanes import LANES, above, load, load_bytes, splat, store, store_bytes

_LOWEST_BITS = np.uint64(0x0101010101010101)


@inlined
def emit(program: Program, state: State, start: int, n: int, g: int) -> int:
    """Write down the region whose vertices are ``ids[start : start + n]`` and whose slots are those of frame g."""
    control, arena, stack, rows, results = state.control, state.arena, state.stack, state.rows, state.results
    d = program.dim
    index = control.emitted
    if control.count_only:
        control.emitted += 1
        control.work += 4
        return endings.FINISHED
    if index >= control.room:
        return endings.FULL
    if control.facet_column and control.facets_emitted + 64 * stack.used.shape[1] > len(results.facets):
        return endings.FULL
    if control.vertex_column and control.vertices_emitted + n > len(results.vertices):
        return endings.FULL
    control.work += 4
    if control.facet_column:
        _write_facets(program, state, start, n, g)
    if control.vertex_column:
        _write_vertices(control, arena, results, start, n, d)
    for c in range(0, program.lanes, LANES):
        mean = splat(0.0)
        for i in range(n):
            mean = mean + load(arena.x, arena.ids[start + i] * program.lanes + c)
        store(arena.point, c, placed(mean / float(n), load(program.shift, c), load(program.scale, c)))
    write_region(program, control, rows, results, arena.point)
    inside = True
    for w in range(stack.used.shape[1]):
        inside &= is_inside(stack, rows, arena.point, w, stack.used[g, w], program.lanes)
    if not inside:
        control.point_ids = start
        control.point_count = n
        return endings.NO_POINT
    return endings.FINISHED


@unreordered
def placed(y: Any, shift: Any, scale: Any) -> Any:
    """The coordinates nearest to y whose places in the domain's own coordinates are float64."""
    return ((y * scale + shift) - shift) / scale


@inlined
def write_region(program: Program, control: Counters, rows: Rows, results: Results, point: Any) -> None:
    """Write down the current pattern and a point; facets and vertices, if asked for, are there already."""
    index = control.emitted
    control.emitted += 1
    results.ends[index, 0] = control.facets_emitted
    results.ends[index, 1] = control.vertices_emitted
    for k in range(program.dim):
        results.points[index, k] = point[k]
    patterns = results.patterns
    for stage in range(program.stages):
        offset, count = program.stage[stage].break_offset, program.stage[stage].breaks
        begin, end = program.stage[stage].choice_offset, program.stage[stage + 1].choice_offset
        if program.stage[stage].is_plain:
            _write_positive(rows, patterns, index, begin, offset, count)
        elif program.stage[stage].is_grouped:
            for choice in range(begin, end):
                patterns[index, choice] = rows.winner[choice]
        else:
            for choice in range(begin, end):
                patterns[index, choice] = 0
            for b in range(count):
                if rows.sign[offset + b] > 0:
                    patterns[index, begin + program.hyperplane[offset + b].choice] += 1


@inlined
def _write_positive(rows: Rows, patterns: Any, region: int, begin: int, offset: int, count: int) -> None:
    """Write which of some breaks have a positive sign, from a column of the patterns on: eight at a time, if bytes.

    Signs are bytes 1, 0 and 255: those that have the lowest bit but not the highest are positive.
    """
    pattern, b = patterns[region], ZERO
    if patterns.itemsize == 1:
        while b + LANES <= count:
            signs = load_bytes(rows.sign, offset + b)
            store_bytes(pattern, begin + b, signs & ~(signs >> np.uint64(7)) & _LOWEST_BITS)
            b += LANES
    while b < count:
        pattern[begin + b] = rows.sign[offset + b] > 0
        b += 1


@inlined
def is_inside(stack: Stack, rows: Rows, point: Any, w: int, slots: np.uint64, lanes: int) -> bool:
    """Whether a point is proved to be in the unit cube and strictly on the cell's side of the hyperplanes of a word."""
    outside = 0
    for c in range(0, lanes, LANES):
        outside |= above(abs(load(point, c)), splat(1.0))
    inside = outside == 0
    while slots != NONE:
        slot = 64 * w + lowest_bit(slots)
        slots &= slots - ONE
        place = stack.slot[slot].place
        value = value_at(rows.row, place, point, 0, lanes)
        inside &= stack.slot[slot].side * value > rows.hyperplane[place].row_base
    return inside


@kernel
def _write_facets(program: Program, state: State, start: int, n: int, g: int) -> None:
    """List the hyperplanes that bound a region in full dimension, by number, with the region's side of each.

    A hyperplane touches the region in a facet unless its vertices all lie on another one that has more of them. Of
    hyperplanes that touch it in the same facet the first is named.
    """
    control, arena, stack, rows, results = state.control, state.arena, state.stack, state.rows, state.results
    words = stack.used.shape[1]
    is_simple = True
    for i in range(n):
        count = 0
        for w in range(words):
            count += count_bits(arena.bits[arena.ids[start + i], w])
        is_simple &= count == program.dim
    for w in range(words):
        facets = stack.used[g, w]
        slots = NONE if is_simple else facets
        while slots != NONE:
            bit = slots & (~slots + ONE)
            slots &= slots - ONE
            if not _is_facet(program, arena, stack, rows, start, n, 64 * w + lowest_bit(bit)):
                facets &= ~bit
        write_facets(program, control, stack, rows, results, w, facets)


@kernel
def write_facets(
    program: Program, control: Counters, stack: Stack, rows: Rows, results: Results, w: int, slots: np.uint64
) -> None:
    """Add hyperplanes to the facets of the region that is being written, in the order of their numbers."""
    facets = results.facets
    index = control.emitted
    begin = results.ends[index - 1, 0] if index > 0 else 0
    end = control.facets_emitted
    while slots != NONE:
        slot = 64 * w + lowest_bit(slots)
        slots &= slots - ONE
        number = _hyperplane_number(program, stack, rows, slot)
        i = end
        while i > begin and facets[i - 1, 0] > number:
            facets[i, 0] = facets[i - 1, 0]
            facets[i, 1] = facets[i - 1, 1]
            facets[i, 2] = facets[i - 1, 2]
            i -= 1
        facets[i, 0] = number
        facets[i, 1] = stack.slot[slot].side
        facets[i, 2] = slot
        end += 1
    control.facets_emitted = end


@kernel
def _hyperplane_number(program: Program, stack: Stack, rows: Rows, slot: int) -> int:
    place = stack.slot[slot].place
    if place < program.domain_rows:
        return place
    return program.domain_rows + rows.hyperplane[place].break_number


@kernel
def _is_facet(program: Program, arena: Arena, stack: Stack, rows: Rows, start: int, n: int, slot: int) -> bool:
    bits, ids, words = arena.bits, arena.ids, stack.used.shape[1]
    word, bit = slot >> 6, ONE << np.uint64(slot & 63)
    simple = True
    for i in range(n):
        v = ids[start + i]
        if bits[v, word] & bit:
            count = 0
            for w in range(words):
                count += count_bits(bits[v, w])
            if count > program.dim:
                simple = False
    if simple:  # its vertices lie on no hyperplane but their own facets
        return True
    number = _hyperplane_number(program, stack, rows, slot)
    for w in range(words):
        common = ~NONE
        for i in range(n):
            v = ids[start + i]
            if bits[v, word] & bit:
                common &= bits[v, w]
        while common != NONE:
            other = 64 * w + lowest_bit(common)
            common &= common - ONE
            if other == slot:
                continue
            other_word, other_bit = other >> 6, ONE << np.uint64(other & 63)
            same = True
            for i in range(n):
                v = ids[start + i]
                if bits[v, other_word] & other_bit and not bits[v, word] & bit:
                    same = False
            if not same or _hyperplane_number(program, stack, rows, other) < number:
                return False
    return True


@kernel
def _write_vertices(control: Counters, arena: Arena, results: Results, start: int, n: int, d: int) -> None:
    end = control.vertices_emitted
    for i in range(n):
        v = arena.ids[start + i]
        for k in range(d):
            results.vertices[end + i, k] = arena.x[v, k]
        for w in range(results.vertex_tight.shape[1]):
            results.vertex_tight[end + i, w] = arena.bits[v, w]
    control.vertices_emitted = end + n
