"""Where a hyperplane meets a cell: the cell's vertices by side, and the edges between them that the hyperplane cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.bits import NONE, ONE, count_bits, lowest_bit
from affinelens.engine.vertex.jit import inlined, kernel
from affinelens.engine.vertex.lanes import LANES, sharing
from affinelens.engine.vertex.state import Arena, Rows
from affinelens.engine.vertex.vertices import copy_vertex, cross, value_at


@inlined
def separate(arena: Arena, start: int, n: int, top: int, words: int, half: int, unit: int) -> tuple[int, int, int]:
    """Sort a cell's vertices by the side of a hyperplane on which they lie, and count those below, above and on it.

    Those below are listed in ``ids`` from ``top`` on, those above in ``upper`` and those on it in ``level``.
    """
    bits, ids, upper, level, lower_bits = arena.bits, arena.ids, arena.upper, arena.level, arena.lower_bits
    over, under, shift = words + (unit >> 6), words + half + (unit >> 6), np.uint64(unit & 63)
    n_below, n_above, n_level = 0, 0, 0
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
def cross_edges(
    control: Any, arena: Arena, rows: Rows, slots: Any, place: int, slot: int, start: int, n: int, top: int,
    n_below: int, n_above: int, fresh: int, words: int, lanes: int, d: int,
) -> int:  # fmt: skip
    """Make a vertex on each edge from an upper to a lower vertex; returns where the next would be, or -1 for no room."""
    bits, upper, ids = arena.bits, arena.upper, arena.ids
    capacity = len(bits)
    for i in range(n_above):
        p = upper[i]
        p_bits = bits[p, 0]
        p_value = -1.0
        is_simple = words == 1 and count_bits(p_bits) == d
        for j in range(0, n_below, LANES):
            if words == 1:
                found = sharing(p_bits, arena.lower_bits, j, d - 1)
            else:
                found = _sharing_in_words(bits, ids, top + j, min(LANES, n_below - j), p, words, d - 1)
            if j + LANES > n_below:
                found &= (1 << (n_below - j)) - 1
            while found:
                q = ids[top + j + lowest_bit(np.uint64(found))]
                found &= found - 1
                if not is_simple and not _is_edge(bits, ids, start, n, p, q, words, d):
                    continue
                if fresh >= capacity:
                    return -1
                if p_value < 0.0:
                    p_value = max(value_at(rows.row, place, arena.x, p, lanes), 0.0)
                cross(control, arena, rows, slots, place, p, q, p_value, fresh, slot, words, lanes, d)
                fresh += 1
    return fresh


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
def _is_edge(bits: Any, ids: Any, start: int, n: int, p: int, q: int, words: int, d: int) -> bool:
    """Whether two vertices that share d - 1 hyperplanes span an edge.

    They do if either lies on just d; otherwise, if no third vertex lies on all that they share.
    """
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
def copy_level(arena: Arena, n_level: int, to: int, slot: int, lanes: int, d: int) -> None:
    """Copy the vertices that lie on the hyperplane, and note that they do."""
    bits = arena.bits
    for i in range(n_level):
        v = arena.level[i]
        copy_vertex(arena, v, to + i, lanes, d)
        for w in range(bits.shape[1]):
            bits[to + i, w] = bits[v, w]
        bits[to + i, slot >> 6] |= ONE << np.uint64(slot & 63)
