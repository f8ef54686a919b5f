"""Vertices in kernels: how one is copied, and how one is made where a hyperplane cuts an edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.kernels.error_bounds import crossing_error
from affinelens.engine.vertex.kernels.integer_vertices import cross_integers
from affinelens.engine.vertex.kernels.row_values import value_along, value_at
from affinelens.engine.vertex.kernels.vertex_refinement import refresh
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Arena, Rows, State
from affinelens.kernels.bits import ONE, lowest_bit
from affinelens.kernels.compilation import inlined, kernel, unreordered
from affinelens.kernels.lanes import LANES, largest, load, store

# A vertex that may be off by more than this is computed again from its hyperplanes at once. Only speed depends on it.
_TOO_FAR_OFF = 1e-1
# Below this an inverse would overflow; nothing is then assumed about where an edge is cut.
_SMALLEST_DROP = 1e-290
# What makes values below that large enough to be divided.
_ENLARGING = 2.0**200


@inlined
def share_of_edge(p_value: float, q_value: float) -> tuple[float, float]:
    """How far from p to q a row vanishes that is positive at p and negative at q, and the inverse of its drop.

    If that cannot be computed, the middle is as good as any point, with an infinite inverse.
    """
    p_value = max(p_value, 0.0)
    drop = p_value - min(q_value, 0.0)
    if drop > _SMALLEST_DROP:
        steepness = 1.0 / drop
        share = p_value * steepness
        if share <= 1.0 + 2.0**-50:  # false for values that overflow
            return share, steepness
    return 0.5, np.inf


@unreordered
def along(begin: Any, step: Any, share: float) -> Any:
    """A point on an edge; where both ends have a 1 for the constant, so has it."""
    return begin + step * share


@inlined
def copy_vertex(arena: Arena, v: int, to: int, lanes: int, d: int) -> None:
    """Copy everything about a vertex but its bits."""
    for c in range(0, lanes, LANES):
        store(arena.x, to * lanes + c, load(arena.x, v * lanes + c))
    arena.off[to] = arena.off[v]
    arena.whole[to, d] = arena.whole[v, d]
    arena.is_known[to] = arena.is_known[v]
    if arena.whole[v, d] != 0:
        for k in range(d):
            arena.whole[to, k] = arena.whole[v, k]


@inlined
def cross(program: Program, state: State, first: Any, place: int, p: int, q: int, to: int, slot: int) -> None:
    """Make the vertex where a hyperplane meets the edge from p above it to q below it; its first lanes are given."""
    arena, stack, rows = state.arena, state.stack, state.rows
    slots, words, lanes, d = stack.slot, stack.used.shape[1], program.lanes, program.dim
    x, bits, row = arena.x, arena.bits, rows.row
    for w in range(words):
        bits[to, w] = bits[p, w] & bits[q, w]
    bits[to, slot >> 6] |= ONE << np.uint64(slot & 63)
    share, steepness = share_of_edge(
        value_along(first, row, place, x, p, lanes), value_along(first, row, place, x, q, lanes)
    )
    length = 0.0
    for c in range(0, lanes, LANES):
        begin = load(x, p * lanes + c)
        step = load(x, q * lanes + c) - begin
        store(x, to * lanes + c, along(begin, step, share))
        length = max(length, largest(abs(step)))
    base, size = rows.hyperplane[place].row_base, rows.hyperplane[place].row_size
    off = crossing_error(base, size, arena.off[p], arena.off[q], share, steepness, length)
    arena.off[to] = off
    arena.whole[to, d] = 0
    arena.is_known[to] = False
    if arena.whole[p, d] != 0 and arena.whole[q, d] != 0 and rows.hyperplane[place].is_whole != 0:
        cross_integers(arena, rows, place, p, q, to, d)
    elif row[place, d] == 0.0 and _is_origin(bits, rows, slots, to, words, lanes, d):
        for k in range(d):
            x[to, k] = 0.0
        arena.off[to] = 0.0
    elif off > _TOO_FAR_OFF:
        if steepness == np.inf:
            _cross_again(arena, row, place, p, q, to, lanes, d)
        refresh(arena, rows, slots, to, words, lanes, d)


@kernel
def _cross_again(arena: Arena, row: Any, place: int, p: int, q: int, to: int, lanes: int, d: int) -> None:
    """Put a vertex where float64 says it is, on an edge at whose ends values are too small to be inverted.

    The bound on its error is as large as it was.
    """
    x = arena.x
    p_value = max(value_at(row, place, x, p, lanes), 0.0) * _ENLARGING
    drop = p_value - min(value_at(row, place, x, q, lanes), 0.0) * _ENLARGING
    if drop > 0.0 and drop < np.inf:
        for k in range(d):
            x[to, k] = x[p, k] + (x[q, k] - x[p, k]) * (p_value / drop)


@kernel
def _is_origin(bits: Any, rows: Rows, slots: Any, v: int, words: int, lanes: int, d: int) -> bool:
    """Whether all hyperplanes that meet in a vertex are known to pass through the origin, which then is the vertex."""
    for w in range(words):
        rest = bits[v, w]
        while rest:
            place = slots[64 * w + lowest_bit(rest)].place
            rest &= rest - ONE
            if rows.row[place, d] != 0.0 or rows.hyperplane[place].constant_error != 0.0:
                return False
    return True
