"""Writing down a region: its pattern and a point inside, and on request its facets and vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.bits import NONE, ONE, count_bits, lowest_bit
from affinelens.engine.vertex.jit import inlined, kernel, unreordered
from affinelens.engine.vertex.program import BREAK_OFFSET, BREAKS, CHOICE, CHOICE_OFFSET, GROUPED, PLAIN, Program
from affinelens.engine.vertex.state import (
    BASE, BREAK, COUNT_ONLY, EMITTED, FACETS_EMITTED, FACET_COLUMN, FINISHED, FULL, NO_POINT, PLACE, POINT_COUNT,
    POINT_IDS, ROOM, SIDE, VERTEX_COLUMN, VERTICES_EMITTED, WORK, Arena, Results, Rows, Stack,
)  # fmt: skip


@inlined
def emit(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, results: Results, start: int, n: int, g: int
) -> int:
    """Write down the region whose vertices are ``ids[start : start + n]`` and whose slots are those of frame g."""
    d = program.dim
    index = control[EMITTED]
    if control[COUNT_ONLY]:
        control[EMITTED] += 1
        control[WORK] += 4
        return FINISHED
    if index >= control[ROOM]:
        return FULL
    if control[FACET_COLUMN] and control[FACETS_EMITTED] + 64 * stack.used.shape[1] > len(results.facets):
        return FULL
    if control[VERTEX_COLUMN] and control[VERTICES_EMITTED] + n > len(results.vertices):
        return FULL
    control[EMITTED] += 1
    control[WORK] += 4
    if control[FACET_COLUMN]:
        _write_facets(program, control, arena, stack, rows, results, start, n, g)
    if control[VERTEX_COLUMN]:
        _write_vertices(control, arena, results, start, n, d)
    results.ends[index, 0] = control[FACETS_EMITTED]
    results.ends[index, 1] = control[VERTICES_EMITTED]
    _write_pattern(program, rows, results.patterns, index)
    x, ids, points = arena.x, arena.ids, results.points
    for k in range(d):
        points[index, k] = 0.0
    for i in range(n):
        v = ids[start + i]
        for k in range(d):
            points[index, k] += x[v, k]
    for k in range(d):
        points[index, k] = _placed(points[index, k] / n, program.shift[k], program.scale[k])
    if not _is_inside(program, stack, rows, points, index, g):
        control[POINT_IDS] = start
        control[POINT_COUNT] = n
        return NO_POINT
    return FINISHED


@unreordered
def _placed(y: float, shift: float, scale: float) -> float:
    """The coordinate nearest to y whose place in the domain's own coordinates is a float64."""
    return ((y * scale + shift) - shift) / scale


@inlined
def _write_pattern(program: Program, rows: Rows, patterns: Any, index: int) -> None:
    for stage in range(program.stages):
        offset, count = program.stage[stage, BREAK_OFFSET], program.stage[stage, BREAKS]
        begin, end = program.stage[stage, CHOICE_OFFSET], program.stage[stage + 1, CHOICE_OFFSET]
        if program.stage[stage, PLAIN]:
            sign, pattern = rows.sign[offset : offset + count], patterns[index, begin:end]
            for b in range(count):
                pattern[b] = sign[b] > 0
        elif program.stage[stage, GROUPED]:
            for choice in range(begin, end):
                patterns[index, choice] = rows.winner[choice]
        else:
            for choice in range(begin, end):
                patterns[index, choice] = 0
            for b in range(count):
                if rows.sign[offset + b] > 0:
                    patterns[index, begin + program.hyperplane[offset + b, CHOICE]] += 1


@inlined
def _is_inside(program: Program, stack: Stack, rows: Rows, points: Any, index: int, g: int) -> bool:
    """Whether a point is proved to lie strictly on the cell's side of all its facets."""
    d = program.dim
    inside = True
    for k in range(d):
        inside &= abs(points[index, k]) <= 1.0
    for w in range(stack.used.shape[1]):
        slots = stack.used[g, w]
        while slots != NONE:
            slot = 64 * w + lowest_bit(slots)
            slots &= slots - ONE
            place = stack.slot[slot, PLACE]
            value = rows.row[place, d]
            for k in range(d):
                value += rows.row[place, k] * points[index, k]
            inside &= stack.slot[slot, SIDE] * value > rows.row[place, d + BASE]
    return inside


@kernel
def _write_facets(
    program: Program, control: Any, arena: Arena, stack: Stack, rows: Rows, results: Results, start: int, n: int, g: int
) -> None:
    """List the hyperplanes that bound a region in full dimension, by number, with the region's side of each.

    A hyperplane touches the region in a facet unless its vertices all lie on another one that has more of them. Of
    hyperplanes that touch it in the same facet the first is named.
    """
    facets = results.facets
    begin = control[FACETS_EMITTED]
    end = begin
    for w in range(stack.used.shape[1]):
        slots = stack.used[g, w]
        while slots != NONE:
            slot = 64 * w + lowest_bit(slots)
            slots &= slots - ONE
            number = _hyperplane_number(program, stack, rows, slot)
            if not _is_facet(program, arena, stack, rows, start, n, slot, number):
                continue
            i = end
            while i > begin and facets[i - 1, 0] > number:
                facets[i, 0] = facets[i - 1, 0]
                facets[i, 1] = facets[i - 1, 1]
                i -= 1
            facets[i, 0] = number
            facets[i, 1] = stack.slot[slot, SIDE]
            end += 1
    control[FACETS_EMITTED] = end


@kernel
def _hyperplane_number(program: Program, stack: Stack, rows: Rows, slot: int) -> int:
    place = stack.slot[slot, PLACE]
    if place < program.domain_rows:
        return place
    return program.domain_rows + rows.whole[place, program.dim + BREAK]


@kernel
def _is_facet(
    program: Program, arena: Arena, stack: Stack, rows: Rows, start: int, n: int, slot: int, number: int
) -> bool:
    tight, ids = arena.tight, arena.ids
    word, bit = slot >> 6, ONE << np.uint64(slot & 63)
    simple = True
    for i in range(n):
        v = ids[start + i]
        if tight[v, word] & bit:
            count = 0
            for w in range(tight.shape[1]):
                count += count_bits(tight[v, w])
            if count > program.dim:
                simple = False
    if simple:  # its vertices lie on no hyperplane but their own facets
        return True
    for w in range(tight.shape[1]):
        common = ~NONE
        for i in range(n):
            v = ids[start + i]
            if tight[v, word] & bit:
                common &= tight[v, w]
        while common != NONE:
            other = 64 * w + lowest_bit(common)
            common &= common - ONE
            if other == slot:
                continue
            other_word, other_bit = other >> 6, ONE << np.uint64(other & 63)
            same = True
            for i in range(n):
                v = ids[start + i]
                if tight[v, other_word] & other_bit and not tight[v, word] & bit:
                    same = False
            if not same or _hyperplane_number(program, stack, rows, other) < number:
                return False
    return True


@kernel
def _write_vertices(control: Any, arena: Arena, results: Results, start: int, n: int, d: int) -> None:
    end = control[VERTICES_EMITTED]
    for i in range(n):
        v = arena.ids[start + i]
        for k in range(d):
            results.vertices[end + i, k] = arena.x[v, k]
        for w in range(arena.tight.shape[1]):
            results.vertex_tight[end + i, w] = arena.tight[v, w]
    control[VERTICES_EMITTED] = end + n
