"""Volumes and centroids of regions, in the domain's own coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import factorial

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.engine import Vertices
from affinelens.engine.vertex.centroid import cell_centroids
from affinelens.engine.vertex.volume import cell_volumes
from affinelens.errors import AffineLensError
from affinelens.measure.ready import prepare_centroids, prepare_volumes
from affinelens.regions import RegionSet

Floats = NDArray[np.float64]
_REGIONS_AT_ONCE = 1 << 16


def volumes(regions: RegionSet) -> Floats:
    """The volume of every region in float64; :func:`volume_errors` says how far each may be off."""
    prepare_volumes()
    found = np.empty(len(regions))
    for rows, vertices in corner_blocks(regions):
        found[rows] = cell_volumes(vertices.points, vertices.offsets[1:], vertices.tight, regions.domain.dim)
    return found


def centroids(regions: RegionSet) -> Floats:
    """The centre of mass of every region."""
    prepare_centroids()
    found = np.empty((len(regions), regions.domain.dim))
    for rows, vertices in corner_blocks(regions):
        found[rows] = cell_centroids(vertices.points, vertices.offsets[1:], vertices.tight, regions.domain.dim).centers
    return found


def volume_errors(regions: RegionSet) -> Floats:
    """How far the volumes may be off; infinite for a region too thin for its float64 vertices to tell.

    A region's vertices span it up to a stretch, which changes the volume by that to the power of the dimension. Of each
    simplex that it is cut into the determinant is found by elimination with pivots, which is exact for rows that are
    off by ``2 d 2^d`` roundings of their length; Hadamard's inequality bounds what that does to the determinant.
    """
    prepare_centroids()
    dim, found = regions.domain.dim, np.empty(len(regions))
    stretch, volume = regions.column("vertex_stretch"), regions.column("volume")
    a_simplex = 2 * dim**2 * 2**dim * dim ** (dim / 2) / factorial(dim) * UNIT_ROUNDOFF
    for rows, vertices in corner_blocks(regions):
        cells = cell_centroids(vertices.points, vertices.offsets[1:], vertices.tight, dim)
        starts = vertices.offsets[:-1]
        low, high = (reduce.reduceat(vertices.points, starts) for reduce in (np.minimum, np.maximum))
        found[rows] = a_simplex * cells.simplices * (high - low).max(axis=1, initial=0.0) ** dim
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where(stretch < 1, (1 - np.minimum(stretch, 1.0)) ** -float(dim) - 1, np.inf)
    return upward(found + np.where(np.isinf(grown), np.inf, volume * grown))


def corner_blocks(regions: RegionSet) -> Iterator[tuple[slice, Vertices]]:
    """The vertices of some regions after others."""
    vertices = regions.corners
    for start in range(0, len(regions), _REGIONS_AT_ONCE):
        rows = slice(start, min(start + _REGIONS_AT_ONCE, len(regions)))
        yield rows, vertices[rows]


def exact_volume(regions: RegionSet, index: int) -> Fraction:
    """The length or area of one region, in rational arithmetic from its halfspaces."""
    dim = regions.domain.dim
    if dim > 2:
        raise AffineLensError(
            f"volumes are exact in one and two dimensions, but the domain has {dim}; use volume, with its error in the "
            f"column volume_error"
        )
    rows = [[Fraction(int(n)) for n in row] for row in regions.exact_halfspaces(index).numerators.tolist()]
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
