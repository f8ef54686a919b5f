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
# Distances are taken between so many pairs of sides at once.
_NUMBERS_AT_ONCE = 1 << 21


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
    starts, is_corner = polygons.corners, polygons.is_corner
    stops = np.take_along_axis(starts, polygons.following[:, :, None], axis=1)
    result = np.empty((len(first), 2, 2))
    sizes = np.maximum(polygons.counts[first], polygons.counts[second])
    for size in np.unique(sizes).tolist():  # few polygons have many sides
        alike = np.flatnonzero(sizes == size)
        at_once = max(1, _NUMBERS_AT_ONCE // (size * size))
        for begin in range(0, len(alike), at_once):
            pairs = alike[begin : begin + at_once]
            a, b = first[pairs], second[pairs]
            start, stop = starts[a, :size], stops[a, :size]
            beyond, behind = starts[b, :size], stops[b, :size]
            apart = np.minimum(_far(start, beyond) + _far(stop, behind), _far(start, behind) + _far(stop, beyond))
            apart[~(is_corner[a, :size, None] & is_corner[b, None, :size])] = np.inf
            side = apart.min(axis=2).argmin(axis=1)
            rows = np.arange(len(pairs))
            result[pairs, 0], result[pairs, 1] = start[rows, side], stop[rows, side]
    return result


def _far(one: Floats, other: Floats) -> Floats:
    """Distances between all points of one list and all of the other, list by list."""
    return np.asarray(np.abs(one[:, :, None] - other[:, None]).sum(axis=3))
