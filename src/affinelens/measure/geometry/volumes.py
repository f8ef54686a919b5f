"""Volumes and centroids of regions, in the domain's own coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial
from typing import NamedTuple

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.array_types import Floats, Indices
from affinelens.blocks import blocks, joined
from affinelens.convex.volume import cell_centroids, cell_volumes, scaled_volumes
from affinelens.domain import Domain
from affinelens.engine import polytope_vertices
from affinelens.measure.geometry.inscribed_balls import vertex_stretch
from affinelens.regions import Regions, all_vertices, kept
from affinelens.walk import Vertices

_REGIONS_AT_ONCE = 1 << 16


class ScaledVolumes(NamedTuple):
    """Volumes as numbers, each to be multiplied by a power of two: those that float64 has no number for, too."""

    numbers: Floats
    powers: Indices


@kept
def _volumes_in_units(regions: Regions) -> ScaledVolumes:
    dim = regions.domain.dim
    blocks = corner_blocks(regions)
    return joined(ScaledVolumes, (scaled_volumes(own.points, own.offsets[1:], own.tight, dim) for own in blocks))


@kept
def volumes(regions: Regions) -> Floats:
    """The volume of every region in float64; :func:`volume_errors` says how far each may be off."""
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.ldexp(*_volumes_in_units(regions))
    return found


@kept
def relative_volumes(regions: Regions) -> Floats:
    """The volumes in a unit in which the largest is about 1, for whatever only compares them.

    They are all 0 where several regions are too thin for float64 to tell them apart; a single one is its own unit.
    """
    numbers, powers = _volumes_in_units(regions)
    if len(numbers) == 1 and numbers[0] == 0:
        return np.ones(1)
    largest = powers[numbers > 0].max() if (numbers > 0).any() else 0
    with np.errstate(under="ignore"):
        found: Floats = np.ldexp(numbers, powers - largest)
    return found


@kept
def centroids(regions: Regions) -> Floats:
    """The center of mass of every region."""
    dim = regions.domain.dim
    cells = [cell_centroids(own.points, own.offsets[1:], own.tight, dim) for own in corner_blocks(regions)]
    return np.concatenate([some.centers for some in cells])


@kept
def volume_errors(regions: Regions) -> Floats:
    """How far the volumes may be off; infinite for a region too thin for its float64 vertices to tell.

    A region's vertices span it up to a stretch, which changes the volume by that to the power of the dimension. Of each
    simplex that it is cut into the determinant is found by elimination with pivots, which is exact for rows that are
    off by ``2 d 2^d`` roundings of their length; Hadamard's inequality bounds what that does to the determinant.
    """
    dim, cut = regions.domain.dim, []
    stretch, volume = vertex_stretch(regions), volumes(regions)
    a_simplex = 2 * dim**2 * 2**dim * dim ** (dim / 2) / factorial(dim) * UNIT_ROUNDOFF
    for own in corner_blocks(regions):
        cells = cell_centroids(own.points, own.offsets[1:], own.tight, dim)
        low, high = (reduce.reduceat(own.points, own.offsets[:-1]) for reduce in (np.minimum, np.maximum))
        with np.errstate(over="ignore", under="ignore"):
            cut.append(a_simplex * cells.simplices * (high - low).max(axis=1, initial=0.0) ** dim)
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        grown = np.where(stretch < 1, (1 - np.minimum(stretch, 1.0)) ** -float(dim) - 1, np.inf)
        unknown = np.isinf(grown) | np.isinf(volume)
        return upward(np.concatenate(cut) + np.where(unknown, np.inf, volume * grown))


def corner_blocks(regions: Regions) -> Iterator[Vertices]:
    """The vertices of some regions after others."""
    found = all_vertices(regions)
    return (found[rows] for rows in blocks(len(regions), 1, _REGIONS_AT_ONCE))


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
