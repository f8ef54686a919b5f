"""Volumes and centroids of regions, in the domain's own coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.array_types import Floats
from affinelens.convex.volume import cell_centroids, cell_volumes, scaled_volumes
from affinelens.domain import Domain
from affinelens.engine import polytope_vertices
from affinelens.measure.geometry.inscribed_balls import vertex_stretch
from affinelens.regions import Regions, all_vertices, kept
from affinelens.walk import Vertices

_REGIONS_AT_ONCE = 1 << 16


@kept
def volumes(regions: Regions) -> Floats:
    """The volume of every region in float64; :func:`volume_errors` says how far each may be off."""
    found = np.empty(len(regions))
    for rows, corners in corner_blocks(regions):
        found[rows] = cell_volumes(corners.points, corners.offsets[1:], corners.tight, regions.domain.dim)
    return found


@kept
def centroids(regions: Regions) -> Floats:
    """The center of mass of every region."""
    found = np.empty((len(regions), regions.domain.dim))
    for rows, corners in corner_blocks(regions):
        found[rows] = cell_centroids(corners.points, corners.offsets[1:], corners.tight, regions.domain.dim).centers
    return found


@kept
def volume_errors(regions: Regions) -> Floats:
    """How far the volumes may be off; infinite for a region too thin for its float64 vertices to tell.

    A region's vertices span it up to a stretch, which changes the volume by that to the power of the dimension. Of each
    simplex that it is cut into the determinant is found by elimination with pivots, which is exact for rows that are
    off by ``2 d 2^d`` roundings of their length; Hadamard's inequality bounds what that does to the determinant.
    """
    dim, found = regions.domain.dim, np.empty(len(regions))
    stretch, volume = vertex_stretch(regions), volumes(regions)
    a_simplex = 2 * dim**2 * 2**dim * dim ** (dim / 2) / factorial(dim) * UNIT_ROUNDOFF
    for rows, corners in corner_blocks(regions):
        cells = cell_centroids(corners.points, corners.offsets[1:], corners.tight, dim)
        starts = corners.offsets[:-1]
        low, high = (reduce.reduceat(corners.points, starts) for reduce in (np.minimum, np.maximum))
        found[rows] = a_simplex * cells.simplices * (high - low).max(axis=1, initial=0.0) ** dim
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where(stretch < 1, (1 - np.minimum(stretch, 1.0)) ** -float(dim) - 1, np.inf)
    return upward(found + np.where(np.isinf(grown), np.inf, volume * grown))


def corner_blocks(regions: Regions) -> Iterator[tuple[slice, Vertices]]:
    """The vertices of some regions after others."""
    found = all_vertices(regions)
    for start in range(0, len(regions), _REGIONS_AT_ONCE):
        rows = slice(start, min(start + _REGIONS_AT_ONCE, len(regions)))
        yield rows, found[rows]


def domain_volume(domain: Domain) -> float:
    """Volume of a domain in its own coordinates."""
    vertices = polytope_vertices(domain.frame)
    return float(cell_volumes(vertices.points, vertices.offsets[1:], vertices.tight, domain.dim)[0])


def volume_shares(domain: Domain, cells: Vertices) -> Floats:
    """What share of the domain's volume each cell has, even where float64 has no number for the volumes.

    They are NaN if the domain is so thin that its volume, in units of its bounding box, is lost to underflow.
    """
    whole = polytope_vertices(domain.frame)
    (most,), (unit,) = scaled_volumes(whole.points, whole.offsets[1:], whole.tight, domain.dim)
    sizes, units = scaled_volumes(cells.points, cells.offsets[1:], cells.tight, domain.dim)
    with np.errstate(all="ignore"):
        shares: Floats = np.where(most > 0, np.ldexp(sizes, units - unit) / most, np.nan)
    return shares
