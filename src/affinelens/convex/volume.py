"""Volumes and centroids of cells given by their vertices and, for each vertex, the hyperplanes it lies on.

Each cell is measured in units of a box around it whose sides are powers of two, so that nothing on the way overflows or
underflows that the result itself does not, and volumes beyond float64 can still be compared. The mean of a simplex is
that of its corners; a cell's is that of the simplices it is cut into, by their volumes.
"""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple

import numpy as np

from affinelens.array_types import Floats, Indices, Words
from affinelens.convex.face_stack import Faces, new_faces
from affinelens.convex.pyramids import measure_cell
from affinelens.convex.simplices import Moments, new_moments
from affinelens.kernels.compilation import entry, kernel

# The exponent of an extent that is larger than any float64.
_BEYOND = 1025


class Centroids(NamedTuple):
    """Cells' volumes and centers of mass, and into how many simplices each was cut."""

    volumes: Floats
    centers: Floats
    simplices: Indices


def cell_volumes(vertices: Floats, ends: Indices, tight: Words, dim: int) -> Floats:
    """Volumes of full-dimensional convex cells.

    Args:
        vertices: All cells' vertices, one cell after another.
        ends: Where in ``vertices`` each cell ends.
        tight: Bit b of row v says that vertex v lies on hyperplane b of its cell. These must include all facets of the
            cell; others that touch it do no harm.
        dim: The dimension, at least 1.
    """
    return _unscaled(*scaled_volumes(vertices, ends, tight, dim))


def scaled_volumes(vertices: Floats, ends: Indices, tight: Words, dim: int) -> tuple[Floats, Indices]:
    """As :func:`cell_volumes`, for each cell a number and the power of two to multiply it by."""
    found, sides = _measured(vertices, ends, tight, dim, None)
    return found.volumes, sides.sum(axis=1, dtype=np.int64)


def cell_centroids(vertices: Floats, ends: Indices, tight: Words, dim: int) -> Centroids:
    """Volumes and centroids of cells, which are given as for :func:`cell_volumes`.

    A cell whose volume is lost to rounding has the mean of its vertices for a centroid.
    """
    found, sides = _measured(vertices, ends, tight, dim, new_moments(dim))
    volumes = _unscaled(found.volumes, sides.sum(axis=1, dtype=np.int64))
    return found._replace(volumes=volumes, centers=np.ldexp(found.centers, sides))


def _unscaled(numbers: Floats, exponents: Indices) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        volumes: Floats = np.ldexp(numbers, exponents)
    return volumes


def _measured(
    vertices: Floats, ends: Indices, tight: Words, dim: int, moments: Moments | None
) -> tuple[Centroids, Indices]:
    """What is found of cells in units of boxes around them, and the exponents of these boxes' sides."""
    counts = np.diff(ends, prepend=0)
    starts = ends - counts
    with np.errstate(over="ignore"):
        extents = np.maximum.reduceat(vertices, starts) - np.minimum.reduceat(vertices, starts)
    sides = np.where(np.isinf(extents), _BEYOND, np.frexp(extents)[1])
    found = Centroids(np.empty(len(ends)), np.empty((len(ends), dim)), np.ones(len(ends), np.int64))
    scaled = np.ldexp(vertices, np.repeat(-sides, counts, axis=0))
    _measure_cells(scaled, ends, tight, dim, new_faces(ends, tight, dim), moments, found)
    np.divide(found.volumes, factorial(dim), out=found.volumes)
    return found, sides


@entry
def _measure_cells(
    vertices: Any, ends: Any, tight: Any, dim: int, faces: Faces, moments: Any, found: Centroids
) -> None:
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        points = vertices[begin:end]
        found.volumes[cell] = measure_cell(points, tight[begin:end], dim, faces, moments)
        if moments is not None:
            _place_center(points, moments, found, cell)
        begin = end


@kernel
def _place_center(points: Any, moments: Moments, found: Centroids, cell: int) -> None:
    center, volume = found.centers[cell], found.volumes[cell]
    count = moments.simplices[0]
    if count > 0:
        found.simplices[cell] = count
    for k in range(len(center)):
        if count > 0 and volume > 0.0:
            center[k] = points[0, k] + moments.sums[0, k] / (volume * (len(center) + 1))
        else:
            total = 0.0
            for i in range(len(points)):
                total += points[i, k] - points[0, k]
            center[k] = points[0, k] + total / len(points)
