"""Vertices in kernels: where an edge is cut, on which side of a hyperplane a vertex lies, and how well it is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.engine.vertex.bits import ONE, count_bits, lowest_bit
from affinelens.engine.vertex.error_bounds import crossing_error, value_bound
from affinelens.engine.vertex.jit import inlined, kernel
from affinelens.engine.vertex.state import (
    BASE, BIT, BY_INTEGERS, CONSTANT_ERROR, DECIDED, IS_WHOLE, KNOWN, PLACE, REFRESHED, ROW_PLACE, SIZE, VERTEX,
    Arena,
)  # fmt: skip

_UNKNOWN = 2
# Sums of products of integers below this are exact in int64.
_INTEGER_LIMIT = 2.0**62
# A vertex that may be off by more than this is computed again from its hyperplanes: at once, or only when a sign
# depends on it. Only speed depends on these numbers.
_TOO_FAR_OFF = 1e-1
_NEARLY_EXACT = 1e-13
_ROUNDING = 2.0**-53
# Below this an inverse would overflow; nothing is then assumed about where an edge is cut.
_SMALLEST_DROP = 1e-290


@inlined
def is_edge(tight: Any, ids: Any, start: int, n: int, p: int, q: int, d: int) -> bool:
    """Whether two vertices that share d - 1 hyperplanes span an edge.

    They do if either lies on just d; otherwise, if no third vertex lies on all that they share.
    """
    words = tight.shape[1]
    on_p, on_q = 0, 0
    for w in range(words):
        on_p += count_bits(tight[p, w])
        on_q += count_bits(tight[q, w])
    if on_p == d or on_q == d:
        return True
    for i in range(n):
        v = ids[start + i]
        if v == p or v == q:  # noqa: SIM109
            continue
        contained = True
        for w in range(words):
            if tight[p, w] & tight[q, w] & ~tight[v, w]:
                contained = False
        if contained:
            return False
    return True


@inlined
def value_at(row: Any, x: Any, place: int, v: int, d: int) -> float:
    """Value of a hyperplane's function at a vertex."""
    total = row[place, d]
    for k in range(d):
        total += row[place, k] * x[v, k]
    return total


@inlined
def copy_vertex(arena: Arena, v: int, to: int, d: int) -> None:
    """Copy everything about a vertex but its signs."""
    for k in range(d + 1):
        arena.x[to, k] = arena.x[v, k]
    for k in range(d + 2):
        arena.whole[to, k] = arena.whole[v, k]
    for w in range(arena.tight.shape[1]):
        arena.tight[to, w] = arena.tight[v, w]


@inlined
def cross(
    control: Any, arena: Arena, row: Any, row_whole: Any, slots: Any, place: int, p: int, q: int, p_value: float,
    to: int, slot: int, d: int,
) -> None:  # fmt: skip
    """Make the vertex where a hyperplane meets the edge from p (above it, with the given value) to q (below it)."""
    x, tight, signs = arena.x, arena.tight, arena.signs
    q_value = min(value_at(row, x, place, q, d), 0.0)
    drop = p_value - q_value
    steepness, share = np.inf, 0.5
    if drop > _SMALLEST_DROP:
        steepness = 1.0 / drop
        share = p_value * steepness
    length = 0.0
    for k in range(d):
        step = x[q, k] - x[p, k]
        x[to, k] = x[p, k] + share * step
        length = max(length, abs(step))
    off = crossing_error(row[place, d + BASE], row[place, d + SIZE], max(x[p, d], x[q, d]), steepness, length)
    x[to, d] = off
    for w in range(tight.shape[1]):
        tight[to, w] = tight[p, w] & tight[q, w]
    tight[to, slot >> 6] |= ONE << np.uint64(slot & 63)
    for w in range(signs.shape[1]):
        signs[to, w] = 0
    arena.whole[to, d] = 0
    arena.whole[to, d + KNOWN] = 0
    if arena.whole[p, d] != 0 and arena.whole[q, d] != 0 and row_whole[place, d + IS_WHOLE] != 0:
        _cross_integers(arena, row_whole, place, p, q, to, d)
    elif row[place, d] == 0.0 and _is_origin(arena.tight, row, slots, to, d):
        for k in range(d + 1):
            x[to, k] = 0.0
    elif off > _TOO_FAR_OFF:
        control[REFRESHED] += 1
        refresh(arena, row, slots, to, d)


@kernel
def _is_origin(tight: Any, row: Any, slots: Any, v: int, d: int) -> bool:
    """Whether all hyperplanes that meet in a vertex are known to pass through the origin, which then is the vertex."""
    for w in range(tight.shape[1]):
        rest = tight[v, w]
        while rest:
            place = slots[64 * w + lowest_bit(rest), PLACE]
            rest &= rest - ONE
            if row[place, d] != 0.0 or row[place, d + CONSTANT_ERROR] != 0.0:
                return False
    return True


@kernel
def _cross_integers(arena: Arena, row_whole: Any, place: int, p: int, q: int, to: int, d: int) -> None:
    """Exact homogeneous coordinates of a new vertex, if they fit; then its float64 ones are as good as can be."""
    h = arena.whole
    size_p, size_q, largest_p, largest_q = 0.0, 0.0, 0.0, 0.0
    at_p, at_q = 0, 0
    for k in range(d + 1):
        a = row_whole[place, k]
        size_p += abs(float(a) * float(h[p, k]))
        size_q += abs(float(a) * float(h[q, k]))
        largest_p = max(largest_p, abs(float(h[p, k])))
        largest_q = max(largest_q, abs(float(h[q, k])))
        at_p += a * h[p, k]
        at_q += a * h[q, k]
    if not size_p * largest_q + size_q * largest_p < _INTEGER_LIMIT:
        return
    divisor = 0
    for k in range(d + 1):
        h[to, k] = at_p * h[q, k] - at_q * h[p, k]
        divisor = _gcd(divisor, h[to, k])
    below = float(h[to, d] // divisor)
    at_origin = True
    for k in range(d + 1):
        h[to, k] //= divisor
        if k < d:
            arena.x[to, k] = float(h[to, k]) / below
            at_origin &= h[to, k] == 0
    arena.x[to, d] = 0.0 if at_origin else 4.0 * _ROUNDING


@kernel
def _gcd(a: int, b: int) -> int:
    a, b = abs(a), abs(b)
    while b:
        a, b = b, a % b
    return a


@kernel
def refresh(arena: Arena, row: Any, slots: Any, v: int, d: int) -> None:
    """Compute a vertex again, from d of the hyperplanes that meet there, if that makes its error bound smaller.

    With M an approximate inverse of their normals N, the vertex differs from x by at most
    ``|M| (|N x + c| + row errors) / (1 - ||I - M N||)``.
    """
    x, tight = arena.x, arena.tight
    normal, inverse, point, residual, places = arena.normal, arena.inverse, arena.point, arena.residual, arena.places
    found = 0
    for w in range(tight.shape[1]):
        rest = tight[v, w]
        while rest and found < d:
            places[found] = slots[64 * w + lowest_bit(rest), PLACE]
            rest &= rest - ONE
            found += 1
    for i in range(d):
        for k in range(d):
            normal[i, k] = row[places[i], k]
            inverse[i, k] = 1.0 if i == k else 0.0
    if not _invert(normal, inverse, d):
        return
    # one step of Newton's method, then the bound
    for k in range(d):
        point[k] = x[v, k]
    for _ in range(2):
        for i in range(d):
            total = row[places[i], d]
            for k in range(d):
                total += row[places[i], k] * point[k]
            residual[i] = total
        for k in range(d):
            step = 0.0
            for i in range(d):
                step += inverse[k, i] * residual[i]
            point[k] -= step
    defect = 0.0
    for k in range(d):
        total = 0.0
        for j in range(d):
            entry, size = 0.0, 0.0
            for i in range(d):
                entry += inverse[k, i] * row[places[i], j]
                size += abs(inverse[k, i] * row[places[i], j])
            if k == j:
                entry -= 1.0
            total += abs(entry) + (d + 2) * _ROUNDING * (size + 1.0)
        for i in range(d):
            total += abs(inverse[k, i]) * row[places[i], d + BASE]
        if not total < 0.5:
            return
        defect = max(defect, total)
    off = 0.0
    for i in range(d):
        total = row[places[i], d]
        for k in range(d):
            total += row[places[i], k] * point[k]
        residual[i] = abs(total) + row[places[i], d + BASE]
    for k in range(d):
        total = 0.0
        for i in range(d):
            total += abs(inverse[k, i]) * residual[i]
        if not total < x[v, d]:
            return
        off = max(off, total)
    off = off / (1.0 - defect) * (1.0 + 1e-9)
    if off < x[v, d]:
        for k in range(d):
            x[v, k] = point[k]
        x[v, d] = off


@kernel
def _invert(a: Any, inverse: Any, d: int) -> bool:
    """Gauss and Jordan with row exchanges; ``a`` is used up."""
    for c in range(d):
        pivot = c
        for i in range(c + 1, d):
            if abs(a[i, c]) > abs(a[pivot, c]):
                pivot = i
        if not abs(a[pivot, c]) > 0.0:
            return False
        if pivot != c:
            for k in range(d):
                a[c, k], a[pivot, k] = a[pivot, k], a[c, k]
                inverse[c, k], inverse[pivot, k] = inverse[pivot, k], inverse[c, k]
        scale = 1.0 / a[c, c]
        for k in range(d):
            a[c, k] *= scale
            inverse[c, k] *= scale
        for i in range(d):
            factor = a[i, c]
            if i != c and factor != 0.0:
                for k in range(d):
                    a[i, k] -= factor * a[c, k]
                    inverse[i, k] -= factor * inverse[c, k]
    return True


@inlined
def evaluate(
    control: Any, arena: Arena, row: Any, row_whole: Any, slots: Any, requests: Any, place: int, unit: int, first: int,
    count: int, asked: int, d: int,
) -> int:  # fmt: skip
    """Find the signs of one hyperplane at new vertices. What float64 leaves open is added to the requests.

    Returns how many requests there are now, or -1 if there is no room for them.
    """
    x, signs = arena.x, arena.signs
    above = unit >> 6
    below = above + (signs.shape[1] >> 1)
    bit = ONE << np.uint64(unit & 63)
    base, size = row[place, d + BASE], row[place, d + SIZE]
    for v in range(first, first + count):
        value = row[place, d]
        for k in range(d):
            value += row[place, k] * x[v, k]
        bound = value_bound(base, size, x[v, d])
        if value > bound:
            signs[v, above] |= bit
        elif value < -bound:
            signs[v, below] |= bit
        else:
            sign = _weigh(control, arena, row, row_whole, slots, place, v, d)
            if sign == 1:
                signs[v, above] |= bit
            elif sign == -1:
                signs[v, below] |= bit
            elif sign == _UNKNOWN:
                if asked >= len(requests):
                    return -1
                requests[asked, VERTEX] = v
                requests[asked, ROW_PLACE] = place
                requests[asked, BIT] = unit
                asked += 1
    control[DECIDED] += count
    return asked


@kernel
def _weigh(control: Any, arena: Arena, row: Any, row_whole: Any, slots: Any, place: int, v: int, d: int) -> int:
    """A second look at a sign: in integers, at the origin (where only the constant counts), at a better vertex."""
    h = arena.whole
    if h[v, d] != 0 and row_whole[place, d + IS_WHOLE] != 0:
        size = 0.0
        total = 0
        for k in range(d + 1):
            size += abs(float(row_whole[place, k]) * float(h[v, k]))
            total += row_whole[place, k] * h[v, k]
        if size < _INTEGER_LIMIT:
            control[BY_INTEGERS] += 1
            return 1 if total > 0 else (-1 if total < 0 else 0)
    if arena.x[v, d] > _NEARLY_EXACT:
        control[REFRESHED] += 1
        refresh(arena, row, slots, v, d)
        value = value_at(row, arena.x, place, v, d)
        bound = value_bound(row[place, d + BASE], row[place, d + SIZE], arena.x[v, d])
        if abs(value) > bound:
            return 1 if value > 0.0 else -1
    if arena.x[v, d] == 0.0:
        for k in range(d):
            if arena.x[v, k] != 0.0:
                return _UNKNOWN
        constant, error = row[place, d], row[place, d + CONSTANT_ERROR]
        if abs(constant) > error:
            return 1 if constant > 0.0 else -1
        if error == 0.0:
            return 0
    return _UNKNOWN
