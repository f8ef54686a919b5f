"""The units' bent hyperplanes in the plane: the sides that regions share, with the stage of the unit behind each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from affinelens.plot.polygons import Polygons, region_polygons

if TYPE_CHECKING:
    from affinelens.regions import RegionSet

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class InnerSides:
    """Segments between two regions each: end points, the two regions, the stage and number of the hyperplane."""

    ends: Floats
    regions: Indices
    stage: Indices
    hyperplane: Indices


def inner_sides(regions: RegionSet) -> InnerSides:
    """Every side that two regions of a two-dimensional domain share, once.

    Two convex regions share one side at most. It is the one side of the first that is nearest to a side of the second:
    the same up to rounding.
    """
    first = np.repeat(np.arange(len(regions)), np.diff(regions.facet_offsets))
    second = regions.neighbor_values
    once = second > first
    first, second = first[once], second[once]
    number = regions.facet_values[once] - regions.domain.frame.rows.shape[0]
    stage = np.searchsorted(regions.network.break_offsets, number, side="right") - 1
    ends = _shared_sides(region_polygons(regions), first, second)
    return InnerSides(ends, np.stack([first, second], axis=1), stage, number)


def _shared_sides(polygons: Polygons, first: Indices, second: Indices) -> Floats:
    """The side of each first polygon that is nearest to one of the second polygon's."""
    starts = polygons.corners
    stops = np.take_along_axis(starts, polygons.following[:, :, None], axis=1)
    result = np.empty((len(first), 2, 2))
    most = starts.shape[1]
    at_once = max(1, (1 << 21) // max(most * most, 1))
    for begin in range(0, len(first), at_once):
        block = slice(begin, begin + at_once)
        a, b = first[block], second[block]
        forth = _far(starts[a], starts[b]) + _far(stops[a], stops[b])
        back = _far(starts[a], stops[b]) + _far(stops[a], starts[b])
        apart = np.minimum(forth, back)
        apart[~(polygons.is_corner[a][:, :, None] & polygons.is_corner[b][:, None, :])] = np.inf
        side = apart.min(axis=2).argmin(axis=1)
        rows = np.arange(len(a))
        result[block, 0], result[block, 1] = starts[a][rows, side], stops[a][rows, side]
    return result


def _far(one: Floats, other: Floats) -> Floats:
    """Distances between all points of one list and all of the other, list by list."""
    return np.asarray(np.abs(one[:, :, None] - other[:, None]).sum(axis=3))
