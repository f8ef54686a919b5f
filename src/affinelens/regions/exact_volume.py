"""The length or area of a region in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from affinelens.errors import AffineLensError
from affinelens.regions.region_functions import exact_halfspaces

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


def exact_volume(regions: Regions, index: int) -> Fraction:
    """The length or area of one region, in rational arithmetic from its halfspaces."""
    dim = regions.domain.dim
    if dim > 2:
        raise AffineLensError(
            f"volumes are exact in one and two dimensions, but the domain has {dim}; use volume, with its error in the "
            f"column volume_error"
        )
    rows = [[Fraction(int(n)) for n in row] for row in exact_halfspaces(regions, index).numerators.tolist()]
    if dim == 1:
        ends = [-b / a for a, b in rows]
        return max(ends) - min(ends)
    corners = _polygon(rows)
    doubled = sum((x * v - u * y for (x, y), (u, v) in pairwise([*corners, corners[0]])), Fraction(0))
    return doubled / 2


def _polygon(rows: list[list[Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The corners of a polygon, counter-clockwise, from the lines along its edges."""
    upper = [row for row in rows if row[1] > 0 or (row[1] == 0 and row[0] > 0)]
    lower = [row for row in rows if row not in upper]
    ordered = [*_by_turn(upper), *_by_turn(lower)]
    return [_meeting(*pair) for pair in pairwise([*ordered, ordered[0]])]


def _by_turn(rows: list[list[Fraction]]) -> list[list[Fraction]]:
    """Inward normals of one half of all directions, in the order in which one turns counter-clockwise through it."""
    return sorted(rows, key=lambda row: (row[1] != 0, -row[0] / row[1] if row[1] else Fraction(0)))


def _meeting(first: list[Fraction], second: list[Fraction]) -> tuple[Fraction, Fraction]:
    (a, b, c), (p, q, r) = first, second
    determinant = a * q - b * p
    return (b * r - c * q) / determinant, (c * p - a * r) / determinant
