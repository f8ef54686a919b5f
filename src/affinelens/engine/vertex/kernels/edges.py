"""Where a hyperplane meets a cell: the cell's vertices by side, and the edges between them that the hyperplane cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.kernels.vertices import copy_vertex, cross
from affinelens.engine.vertex.layout.program_records import Program
from affinelens.engine.vertex.layout.state import Arena, State
from affinelens.kernels.bits import NONE, ONE, ZERO, count_bits
from affinelens.kernels.compilation import inlined, kernel
from affinelens.kernels.lanes import LANES, PLACES, load, sharing, store_places


@inlined
def separate(state: State, start: int, n: int, top: int, unit: int) -> tuple[int, int, int]:
    """Sort a cell's vertices by the side of a hyperplane on which they lie, and count those below, above and on it.

    Those below are listed in ``ids`` from ``top`` on, those above in ``upper`` and those on it in ``level``.
    """
    arena, stack = state.arena, state.stack
    words, half = stack.used.shape[1], stack.cutting.shape[1]
    bits, ids, upper, level, lower_bits = arena.bits, arena.ids, arena.upper, arena.level, arena.lower_bits
    over, under, shift = words + (unit >> 6), words + half + (unit >> 6), np.uint64(unit & 63)
    n_below, n_above, n_level = ZERO, ZERO, ZERO
    for i in range(n):
        v = ids[start + i]
        is_above, is_below = np.int64(bits[v, over] >> shift & ONE), np.int64(bits[v, under] >> shift & ONE)
        ids[top + n_below] = v
        lower_bits[n_below] = bits[v, 0]
        upper[n_above] = v
        level[n_level] = v
        n_below += is_below
        n_above += is_above
        n_level += 1 - is_above - is_below
    return n_below, n_above, n_level


@inlined
def list_edges(program: Program, state: State, start: int, n: int, top: int, n_below: int, n_above: int) -> int:
    """List the edges between upper and lower vertices, by their numbers in those lists.

    Returns how many there are, or -1 if there is no room.
    """
    arena, stack = state.arena, state.stack
    words, d = stack.used.shape[1], program.dim
    bits, upper, count, room = arena.bits, arena.upper, ZERO, len(arena.edge_upper) - LANES
    is_simple = words == 1
    for i in range(n_above):
        p_bits = bits[upper[i], 0]
        is_simple &= count_bits(p_bits) == d
        for j in range(0, n_below, LANES):
            if count > room:
                return -1
            if words == 1:
                found = sharing(p_bits, arena.lower_bits, j, d - 1)
            else:
                found = _sharing_in_words(bits, arena.ids, top + j, min(LANES, n_below - j), upper[i], words, d - 1)
            found &= 255 >> max(0, j + LANES - n_below)
            store_places(arena.edge_upper, count, NONE, i)
            store_places(arena.edge_lower, count, PLACES[found], j)
            count += count_bits(np.uint64(found))
    return count if is_simple else _without_diagonals(arena, start, n, top, count, words, d)


@inlined
def cross_edges(program: Program, state: State, place: int, slot: int, top: int, count: int, first: int) -> None:
    """Make a vertex on each of the listed edges."""
    arena, rows = state.arena, state.rows
    lanes = program.lanes
    row = load(rows.row, place * lanes)
    for i in range(count):
        p, q = arena.upper[arena.edge_upper[i]], arena.ids[top + arena.edge_lower[i]]
        cross(program, state, row, place, p, q, first + i, slot)


@kernel
def _sharing_in_words(bits: Any, ids: Any, begin: int, count: int, p: int, words: int, least: int) -> int:
    """Which of some vertices share at least a number of hyperplanes with another, as a mask."""
    found = 0
    for i in range(count):
        q = ids[begin + i]
        shared = 0
        for w in range(words):
            shared += count_bits(bits[p, w] & bits[q, w])
        if shared >= least:
            found |= 1 << i
    return found


@kernel
def _without_diagonals(arena: Arena, start: int, n: int, top: int, count: int, words: int, d: int) -> int:
    """Keep those of the listed pairs of vertices that span an edge."""
    restricted = 0
    for i in range(count):
        upper, lower = arena.edge_upper[i], arena.edge_lower[i]
        if _is_edge(arena, start, n, arena.upper[upper], arena.ids[top + lower], words, d):
            arena.edge_upper[restricted] = upper
            arena.edge_lower[restricted] = lower
            restricted += 1
    return restricted


@kernel
def _is_edge(arena: Arena, start: int, n: int, p: int, q: int, words: int, d: int) -> bool:
    """Whether two vertices that share d - 1 hyperplanes span an edge.

    They do if either lies on just d; otherwise, if no third vertex lies on all that they share.
    """
    bits, ids = arena.bits, arena.ids
    on_p, on_q = 0, 0
    for w in range(words):
        on_p += count_bits(bits[p, w])
        on_q += count_bits(bits[q, w])
    if on_p == d or on_q == d:
        return True
    for i in range(n):
        v = ids[start + i]
        if v == p or v == q:  # noqa: SIM109
            continue
        missing = NONE
        for w in range(words):
            missing |= bits[p, w] & bits[q, w] & ~bits[v, w]
        if missing == NONE:
            return False
    return True


@inlined
def copy_level(program: Program, state: State, n_level: int, to: int, slot: int) -> None:
    """Copy the vertices that lie on the hyperplane, and note that they do."""
    arena = state.arena
    lanes, d = program.lanes, program.dim
    bits = arena.bits
    for i in range(n_level):
        v = arena.level[i]
        copy_vertex(arena, v, to + i, lanes, d)
        for w in range(bits.shape[1]):
            bits[to + i, w] = bits[v, w]
        bits[to + i, slot >> 6] |= ONE << np.uint64(slot & 63)
