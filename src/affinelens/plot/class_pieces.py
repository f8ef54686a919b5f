"""Regions of the plane cut by class: on each piece one output is the largest, and where pieces meet is the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from affinelens.measure.affine_maps import AffineMaps
from affinelens.plot.columns import class_functions
from affinelens.plot.polygons import Polygons, region_polygons

if TYPE_CHECKING:
    from affinelens.regions import RegionSet

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
# Functions are evaluated at so many corners at once.
_NUMBERS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class ClassPieces:
    """Polygons with a class each, and the decision boundary as segments: pairs of points, with their region."""

    polygons: Polygons
    classes: Indices
    boundary: Floats
    boundary_region: Indices


def class_pieces(regions: RegionSet) -> ClassPieces:
    """Cut the regions of a two-dimensional domain by class.

    The class is the largest output, the first of those that are equal; of a single output, whether it is positive.
    """
    polygons, functions = region_polygons(regions), class_functions(regions)
    leader, rivals = _leaders(functions, polygons)
    is_one_class = ~np.any(rivals, axis=1)
    crossed = polygons[~is_one_class]
    hopeful = rivals[~is_one_class]
    hopeful[np.arange(len(hopeful)), leader[~is_one_class]] = True
    candidates = np.flatnonzero(hopeful.any(axis=0)).tolist()
    parts, part_classes = [polygons[is_one_class]], [leader[is_one_class]]
    segments, owners = [np.empty((0, 2, 2))], [np.empty(0, dtype=np.int64)]
    for k in candidates:
        pieces = crossed[hopeful[:, k]]
        for j in candidates:
            if j != k:
                pieces = _where_larger(functions, pieces, k, j)
        parts.append(pieces)
        part_classes.append(np.full(len(pieces), k))
        ends, other, polygon = pieces.cut_sides()
        segments.append(ends[other > k])
        owners.append(pieces.region[polygon[other > k]])
    return ClassPieces(
        Polygons.joined(parts), np.concatenate(part_classes), np.concatenate(segments), np.concatenate(owners)
    )


def _leaders(functions: AffineMaps, polygons: Polygons) -> tuple[Indices, Bools]:
    """The largest function at each polygon's first corner, and which others are larger at another corner."""
    count = functions.constants.shape[1]
    leader, rivals = np.empty(len(polygons), dtype=np.int64), np.empty((len(polygons), count), dtype=bool)
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, polygons.corners.shape[1] * count))
    for start in range(0, len(polygons), at_once):
        block = polygons[np.arange(start, min(start + at_once, len(polygons)))]
        slopes, constants = functions.slopes[block.region], functions.constants[block.region]
        values = block.corners @ slopes.transpose(0, 2, 1) + constants[:, None, :]
        first = values[:, 0].argmax(axis=1)
        larger = values > np.take_along_axis(values, first[:, None, None], axis=2)
        leader[start : start + at_once] = first
        rivals[start : start + at_once] = np.any(larger & block.is_corner[:, :, None], axis=1)
    return leader, rivals


def _where_larger(functions: AffineMaps, pieces: Polygons, k: int, j: int) -> Polygons:
    """Where function k is at least function j, with j > k, or larger than it, with j < k."""
    slopes = functions.slopes[pieces.region, k] - functions.slopes[pieces.region, j]
    constants = functions.constants[pieces.region, k] - functions.constants[pieces.region, j]
    values = np.einsum("nmd,nd->nm", pieces.corners, slopes) + constants[:, None]
    if k < j:
        values[~slopes.any(axis=1) & (constants == 0)] = 1.0
    return pieces.clipped(values, label=j)
