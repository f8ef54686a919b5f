"""The outputs at the vertices of regions, where each affine piece has its extremes.

Of every region only two numbers an output are kept: how low and how high it goes. Float64 vertices span a region up to
a stretch about its center (:func:`affinelens.measure.geometry.inscribed_balls.vertex_stretch`), and so the affine
function's values there span those on the region up to the same stretch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from affinelens.arithmetic import upward
from affinelens.array_types import Floats
from affinelens.blocks import joined
from affinelens.measure.geometry.inscribed_balls import vertex_stretch
from affinelens.measure.maps.affine_maps import AffineMaps, affine_map_blocks
from affinelens.regions import Regions, all_vertices
from affinelens.walk import Vertices


class Extremes(NamedTuple):
    """How low and high each output goes on each region, and how far that may be off: a row a region."""

    low: Floats
    high: Floats
    error: Floats


def output_extremes(regions: Regions) -> Extremes:
    """The extremes on all regions, of which there must be one."""
    corners, stretch = all_vertices(regions), vertex_stretch(regions)
    blocks = affine_map_blocks(regions)
    return joined(Extremes, (_extremes(maps, corners[rows], stretch[rows]) for rows, maps in blocks))


@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def _extremes(maps: AffineMaps, corners: Vertices, stretch: Floats) -> Extremes:
    """Those of some regions; between the two, stretched about any value taken inside, lie all values on a region."""
    owner, starts = np.repeat(np.arange(len(stretch)), np.diff(corners.offsets)), corners.offsets[:-1]
    values = maps.constants[owner]
    for k in range(corners.points.shape[1]):
        values += maps.slopes[owner, :, k] * corners.points[:, k, None]
    rounding = maps.error_at(np.maximum.reduceat(np.abs(corners.points), starts))
    low, high = (reduce.reduceat(values, starts) for reduce in (np.minimum, np.maximum))
    grown = np.where(stretch < 1, stretch / (1 - stretch), np.inf)
    moved = np.where(grown[:, None] > 0, grown[:, None] * (high - low + 2 * rounding), 0.0)
    moved = np.where(np.isnan(moved), np.inf, moved)
    return Extremes(low, high, upward(rounding + moved))
