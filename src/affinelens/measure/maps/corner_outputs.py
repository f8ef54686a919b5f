"""The outputs at the vertices of regions, where each affine piece has its extremes.

Of every region only two numbers an output are kept: how low and how high it goes. Float64 vertices span a region up to
a stretch about its center (:func:`affinelens.measure.geometry.inscribed_balls.vertex_stretch`), and so the affine
function's values there span those on the region up to the same stretch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from affinelens.arithmetic import gamma, upward
from affinelens.array_types import Floats, Indices
from affinelens.measure.maps.affine_maps import AffineMaps, affine_map_blocks
from affinelens.regions import Regions, all_vertices


class Corners(NamedTuple):
    """A run of regions' outputs at their vertices; ``owner`` is each vertex's region, counted from the first."""

    maps: AffineMaps
    values: Floats
    owner: Indices
    starts: Indices
    rounding: Floats


class Extremes(NamedTuple):
    """How low and high functions go on each region, and how far that may be off."""

    low: Floats
    high: Floats
    error: Floats


def corner_outputs(regions: Regions) -> Iterator[tuple[slice, Corners]]:
    """The outputs at the vertices of some regions after others; ``rounding`` bounds a region's error an output."""
    found = all_vertices(regions)
    for rows, maps in affine_map_blocks(regions):
        own = found[rows]
        owner = np.repeat(np.arange(rows.stop - rows.start), np.diff(own.offsets))
        starts = own.offsets[:-1]
        values = maps.constants[owner]
        for k in range(own.points.shape[1]):
            values += maps.slopes[owner, :, k] * own.points[:, k, None]
        reach = np.maximum.reduceat(np.abs(own.points), starts)
        size = np.einsum("nkd,nd->nk", np.abs(maps.slopes), reach) + np.abs(maps.constants)
        yield rows, Corners(maps, values, owner, starts, upward(maps.error + gamma(reach.shape[1] + 2) * size))


def extremes(values: Floats, corners: Corners, rounding: Floats, stretch: Floats) -> Extremes:
    """How low and high functions go on each region, given their values at its vertices.

    Between the two, stretched about any value that the function takes inside, lie all values on the region.
    """
    low, high = (reduce.reduceat(values, corners.starts) for reduce in (np.minimum, np.maximum))
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where(stretch < 1, stretch / (1 - stretch), np.inf)
        moved = np.where(grown[:, None] > 0, grown[:, None] * (high - low + 2 * rounding), 0.0)
    moved = np.where(np.isnan(moved), np.inf, moved)
    return Extremes(low, high, upward(rounding + moved))
