"""Vertices in exact integers: homogeneous coordinates, as long as all products fit into 64 bits."""

from __future__ import annotations

from typing import Any

from affinelens.engine.vertex.layout.state import Arena, Rows
from affinelens.kernels.bits import NONE, ONE, ZERO, lowest_bit
from affinelens.kernels.compilation import kernel

_ROUNDING = 2.0**-53
# Sums of products of integers below this are exact in int64.
INTEGER_LIMIT = 2.0**62


@kernel
def cross_integers(arena: Arena, rows: Rows, place: int, p: int, q: int, to: int, d: int) -> None:
    """Exact homogeneous coordinates of a new vertex, if they fit; then its float64 ones are as good as can be."""
    h = arena.whole
    size_p, size_q, largest_p, largest_q = 0.0, 0.0, 0.0, 0.0
    at_p, at_q = 0, 0
    for k in range(d + 1):
        a = rows.whole[place, k]
        size_p += abs(float(a) * float(h[p, k]))
        size_q += abs(float(a) * float(h[q, k]))
        largest_p = max(largest_p, abs(float(h[p, k])))
        largest_q = max(largest_q, abs(float(h[q, k])))
        at_p += a * h[p, k]
        at_q += a * h[q, k]
    if not size_p * largest_q + size_q * largest_p < INTEGER_LIMIT:
        return
    for k in range(d + 1):
        h[to, k] = at_p * h[q, k] - at_q * h[p, k]
    _place_at_integers(arena, to, d)


@kernel
def _place_at_integers(arena: Arena, v: int, d: int) -> None:
    """Shorten a vertex's homogeneous coordinates, and make the others as good as can be."""
    h = arena.whole
    divisor = ZERO
    for k in range(d + 1):
        divisor = _gcd(divisor, h[v, k])
    below = float(h[v, d] // divisor)
    at_origin = True
    for k in range(d + 1):
        h[v, k] //= divisor
        if k < d:
            arena.x[v, k] = float(h[v, k]) / below
            at_origin &= h[v, k] == 0
    arena.off[v] = 0.0 if at_origin else 4.0 * _ROUNDING


@kernel
def meet_in_integers(arena: Arena, rows: Rows, slots: Any, v: int, words: int, d: int) -> None:
    """Find a vertex's homogeneous coordinates from hyperplanes that are integers, if d of them meet there and all fits.

    Each row is freed of the pivots of those before it, and then those before it of its own; what is left of each says
    one coordinate.
    """
    table, pivots, h, found = arena.solving, arena.places, arena.whole, ZERO
    for w in range(words):
        rest = arena.bits[v, w]
        while rest != NONE and found < d:
            place = slots[64 * w + lowest_bit(rest)].place
            rest &= rest - ONE
            if rows.hyperplane[place].is_whole == 0:
                continue
            for k in range(d + 1):
                table[found, k] = rows.whole[place, k]
            for i in range(found):
                if not _eliminate(table, found, i, pivots[i], d):
                    return
            pivots[found] = ZERO
            while pivots[found] < d and table[found, pivots[found]] == 0:
                pivots[found] += 1
            if pivots[found] < d:
                found += 1
    if found < d:
        return
    below = ZERO + 1
    for i in range(d):
        for j in range(i + 1, d):
            if not _eliminate(table, i, j, pivots[j], d):
                return
        factor = abs(table[i, pivots[i]]) // _gcd(below, table[i, pivots[i]])
        if not float(below) * float(factor) < INTEGER_LIMIT:
            return
        below *= factor
    for i in range(d):
        factor = -(below // table[i, pivots[i]])
        if not abs(float(factor) * float(table[i, d])) < INTEGER_LIMIT:
            return
        h[v, pivots[i]] = factor * table[i, d]
    h[v, d] = below
    _place_at_integers(arena, v, d)


@kernel
def _eliminate(table: Any, i: int, j: int, pivot: int, d: int) -> bool:
    """Free row i of a coordinate by adding a multiple of row j, and shorten it; false if that does not fit."""
    own, other = table[i, pivot], table[j, pivot]
    if own == 0:
        return True
    divisor = _gcd(own, other)
    own, other = own // divisor, other // divisor
    divisor = ZERO
    for k in range(d + 1):
        if not abs(float(other) * float(table[i, k])) + abs(float(own) * float(table[j, k])) < INTEGER_LIMIT:
            return False
        table[i, k] = other * table[i, k] - own * table[j, k]
        divisor = _gcd(divisor, table[i, k])
    if divisor > 1:
        for k in range(d + 1):
            table[i, k] //= divisor
    return True


@kernel
def _gcd(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a
