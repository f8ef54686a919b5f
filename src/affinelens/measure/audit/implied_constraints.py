"""Which constraints of regions their stated facets imply, proved in float64 by multipliers; what is left stays open.

Constraints are taken as functions of s in ``t = middle + radius * s``, so that the domain lies between -1 and 1, and
scaled by a power of two. Sets of facets that meet in a vertex and the multipliers they give a constraint are hints,
found up to rounding. What is proved is that a constraint less its multiple of the facets is positive from -2 to 2,
whatever rounding did; that holds for sums in any order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF
from affinelens.array_types import Bools, Floats, Indices, Signs
from affinelens.kernels.compilation import entry, inlined, kernel
from affinelens.kernels.exchange import exchange

# Sets of facets that meet in a vertex, remembered for one region.
_MOST_VERTICES = 1 << 12
# A set of facets is tried if it is not obviously singular, meets inside what all bound and has multipliers of the right
# sign, up to this; nothing rests on it, because the multipliers are proved afterwards.
_HINT = 1e-9
# An affine function that is at most e on a box is at most 3 e on one twice as wide; the rest covers the box's rounding.
_WIDER = 4.0
# More than what a sum can lose to underflow.
_UNDERFLOW = 1e-290


class BreakTable(NamedTuple):
    """Break b is ``z[plus[b]] - z[minus[b]] - threshold[b]``, off by at most ``error[b]``; stages follow each other."""

    plus: Indices
    minus: Indices
    threshold: Floats
    error: Floats


class Constraints(NamedTuple):
    """The constraints of some regions: first those of the domain, then the breaks.

    ``functions[u, i]`` is unit u on region i. ``signs[i, j]`` is by what constraint j is multiplied so that it is not
    negative on region i; where it is 0, it is none.
    """

    functions: Floats
    domain: Floats
    breaks: BreakTable
    signs: Signs


class StatedLists(NamedTuple):
    """Region i states the facets ``listed[offsets[i]:offsets[i + 1]]``, by constraint; is it looked at?"""

    listed: Indices
    offsets: Indices
    wanted: Bools


class Surroundings(NamedTuple):
    """The domain's bounding box, and how large its coordinates are at most, with a 1 for the constant."""

    middle: Floats
    radius: Floats
    reach: Floats


class Implied(NamedTuple):
    """Constraints that no set of facets proves, and the last set tried for each: places in the list, or -1."""

    undecided: Bools
    hints: NDArray[np.int32]


class _Scratch(NamedTuple):
    """One region: its constraints' rows, how far each may be off, whether it is stated as a facet; its facets' rows.

    Set b of facets that meet in a vertex is ``bases[b]``; ``inverses[b]`` is the inverse of their normals. Of the set
    that is tried, ``table`` has the facets, later the coordinates: ``solved[r]`` is the coordinate in row r, and
    ``facet_of[c]`` the place in the set of the facet in column c.
    """

    rows: Floats
    errors: Floats
    stated: Bools
    facets: Floats
    bases: Indices
    inverses: Floats
    chosen: Indices
    table: Floats
    solved: Indices
    facet_of: Indices
    multipliers: Floats


def prove_implied(constraints: Constraints, lists: StatedLists, surroundings: Surroundings) -> Implied:
    """What the facets that regions state imply of their constraints."""
    regions, count = constraints.signs.shape
    dim, most = len(surroundings.middle), int(np.diff(lists.offsets).max(initial=0))
    scratch = _Scratch(
        rows=np.empty((count, dim + 1)),
        errors=np.empty(count),
        stated=np.empty(count, bool),
        facets=np.empty((most, dim + 1)),
        bases=np.empty((_MOST_VERTICES, dim), np.int64),
        inverses=np.empty((_MOST_VERTICES, dim, dim)),
        chosen=np.empty(dim, np.int64),
        table=np.empty((dim, dim + 1)),
        solved=np.empty(dim, np.int64),
        facet_of=np.empty(dim, np.int64),
        multipliers=np.empty(dim),
    )
    found = Implied(np.zeros((regions, count), bool), np.full((regions, count, dim), -1, np.int32))
    _prove(constraints, lists, surroundings, scratch, found)
    return found


@entry
def _prove(
    constraints: Constraints, lists: StatedLists, surroundings: Surroundings, scratch: _Scratch, found: Implied
) -> None:
    for region in range(len(lists.wanted)):
        if not lists.wanted[region]:
            continue
        _write_rows(constraints, surroundings, scratch, region)
        named = lists.listed[lists.offsets[region] : lists.offsets[region + 1]]
        for f in range(len(named)):
            scratch.stated[named[f]] = True
            for r in range(scratch.rows.shape[1]):
                scratch.facets[f, r] = scratch.rows[named[f], r]
        vertices = _find_vertices(scratch, len(named))
        for j in range(len(scratch.rows)):
            if constraints.signs[region, j] != 0 and not scratch.stated[j]:
                hint = found.hints[region, j]
                found.undecided[region, j] = not _is_implied(scratch, named, j, vertices, hint)


@kernel
def _write_rows(constraints: Constraints, surroundings: Surroundings, scratch: _Scratch, region: int) -> None:
    for j in range(len(scratch.rows)):
        scratch.stated[j] = False
        if constraints.signs[region, j] != 0:
            row = scratch.rows[j]
            off = _write_row(constraints, surroundings.reach, region, j, row)
            scratch.errors[j] = _center_row(surroundings, row, off)


@inlined
def _write_row(constraints: Constraints, reach: Floats, region: int, j: int, row: Floats) -> Any:
    """Write constraint j of a region as a row; returns how far it may be off on the domain."""
    domain, breaks, dim = constraints.domain, constraints.breaks, len(row) - 1
    if j < len(domain):
        size = 0.0
        for r in range(dim + 1):
            row[r] = domain[j, r]
            size += abs(domain[j, r]) * reach[r]
        return 4.0 * UNIT_ROUNDOFF * size
    b = j - len(domain)
    side, plus = float(constraints.signs[region, j]), constraints.functions[breaks.plus[b], region]
    size = abs(breaks.threshold[b])
    for r in range(dim + 1):
        row[r] = side * plus[r]
        size += abs(plus[r]) * reach[r]
    if breaks.minus[b] >= 0:
        minus = constraints.functions[breaks.minus[b], region]
        for r in range(dim + 1):
            row[r] -= side * minus[r]
            size += abs(minus[r]) * reach[r]
    row[dim] -= side * breaks.threshold[b]
    return breaks.error[b] + 4.0 * UNIT_ROUNDOFF * size


@inlined
def _center_row(surroundings: Surroundings, row: Floats, off: float) -> Any:
    """Take a row as a function of s, and scale it; returns how far it may be off from -2 to 2."""
    middle, radius, dim = surroundings.middle, surroundings.radius, len(row) - 1
    size = abs(row[dim])
    for r in range(dim):
        size += abs(row[r]) * (abs(middle[r]) + radius[r])
        row[dim] += row[r] * middle[r]
        row[r] *= radius[r]
    most = 0.0
    for r in range(dim + 1):
        most = max(most, abs(row[r]))
    scale = math.ldexp(1.0, -max(math.frexp(most)[1], -900))
    for r in range(dim + 1):
        row[r] *= scale
    return scale * _WIDER * (off + _roundings(dim) * size) + _UNDERFLOW


@inlined
def _roundings(dim: int) -> float:
    """What a sum over the dimensions may be off by, relative to the sum of its terms' sizes."""
    return 1.01 * (2 * dim + 8) * UNIT_ROUNDOFF


@kernel
def _find_vertices(scratch: _Scratch, facets: int) -> int:
    """Remember the sets of facets that meet in a vertex of what all of them bound; returns how many there are."""
    chosen, dim = scratch.chosen, len(scratch.chosen)
    for c in range(dim):
        chosen[c] = c
    found, more = 0, facets >= dim
    while more and found < len(scratch.bases):
        if _solve(scratch) and _is_inside(scratch, facets):
            for r in range(dim):
                scratch.bases[found, r] = chosen[r]
                for c in range(dim):
                    scratch.inverses[found, scratch.solved[r], scratch.facet_of[c]] = scratch.table[r, c]
            found += 1
        more = _choose_next(chosen, facets)
    return found


@inlined
def _solve(scratch: _Scratch) -> bool:
    """Solve the chosen facets for the coordinates, unless they are singular; the constants are where they meet."""
    table, solved, dim = scratch.table, scratch.solved, len(scratch.chosen)
    for r in range(dim):
        solved[r] = -1
        for c in range(dim + 1):
            table[r, c] = scratch.facets[scratch.chosen[r], c]
    for c in range(dim):
        pivot, largest = -1, _HINT * _HINT
        for r in range(dim):
            if solved[r] < 0 and abs(table[r, c]) > largest:
                pivot, largest = r, abs(table[r, c])
        if pivot < 0:
            return False
        exchange(table, pivot, c, dim, dim + 1)
        solved[pivot], scratch.facet_of[c] = c, pivot
    return True


@inlined
def _is_inside(scratch: _Scratch, facets: int) -> bool:
    """Whether the point where the chosen facets meet is on the right side of all."""
    dim = len(scratch.chosen)
    for f in range(facets):
        value = scratch.facets[f, dim]
        for r in range(dim):
            value += scratch.facets[f, scratch.solved[r]] * scratch.table[r, dim]
        if not value >= -_HINT:
            return False
    return True


@inlined
def _choose_next(chosen: Indices, count: int) -> bool:
    """The next set of as many numbers below a count, in lexicographic order; False if there is none."""
    size = len(chosen)
    c = size - 1
    while c >= 0 and chosen[c] == count - size + c:
        c -= 1
    if c < 0:
        return False
    chosen[c] += 1
    for later in range(c + 1, size):
        chosen[later] = chosen[later - 1] + 1
    return True


@kernel
def _is_implied(scratch: _Scratch, named: Indices, j: int, vertices: int, hint: NDArray[np.int32]) -> bool:
    """Whether the facets of some vertex prove constraint j; the last set tried is left as a hint."""
    for b in range(vertices):
        if _find_multipliers(scratch, j, b):
            for c in range(len(hint)):
                hint[c] = scratch.bases[b, c]
            if _is_proved(scratch, named, j, b):
                return True
    return False


@inlined
def _find_multipliers(scratch: _Scratch, j: int, b: int) -> bool:
    """Write constraint j as a combination of the facets of a vertex, if none of them counts negatively."""
    row, inverse, dim = scratch.rows[j], scratch.inverses[b], len(scratch.chosen)
    for c in range(dim):
        total = 0.0
        for r in range(dim):
            total += row[r] * inverse[r, c]
        if not total >= -_HINT:
            return False
        scratch.multipliers[c] = max(total, 0.0)
    return True


@inlined
def _is_proved(scratch: _Scratch, named: Indices, j: int, b: int) -> Any:
    """Whether what the facets leave over of constraint j is positive at the worst place from -2 to 2."""
    row, base, dim = scratch.rows[j], scratch.bases[b], len(scratch.chosen)
    left, size, off = row[dim], abs(row[dim]), scratch.errors[j]
    for c in range(dim):
        term = scratch.multipliers[c] * scratch.facets[base[c], dim]
        left -= term
        size += abs(term)
        off += scratch.multipliers[c] * scratch.errors[named[base[c]]]
    for r in range(dim):
        rest = row[r]
        size += 2.0 * abs(rest)
        for c in range(dim):
            term = scratch.multipliers[c] * scratch.facets[base[c], r]
            rest -= term
            size += 2.0 * abs(term)
        left -= 2.0 * abs(rest)
    return left > 1.01 * (off + _roundings(dim) * size) + _UNDERFLOW
