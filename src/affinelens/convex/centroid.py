"""Volumes and centroids of cells given by their vertices and, for each vertex, the hyperplanes it lies on.

The mean of a simplex is that of its corners; a cell's is that of the simplices it is cut into, by their volumes.
"""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple

import numpy as np

from affinelens.array_types import Floats, Indices, Words
from affinelens.convex.face_stack import Faces, new_faces
from affinelens.convex.pyramids import measure_cell
from affinelens.convex.simplices import Moments, new_moments
from affinelens.convex.volume import in_own_units
from affinelens.kernels.compilation import entry, kernel


class Centroids(NamedTuple):
    """Cells' volumes and centers of mass, and into how many simplices each was cut."""

    volumes: Floats
    centers: Floats
    simplices: Indices


def cell_centroids(vertices: Floats, ends: Indices, tight: Words, dim: int) -> Centroids:
    """Volumes and centroids of cells, which are given as for :func:`affinelens.convex.volume.cell_volumes`.

    A cell whose volume is lost to rounding has the mean of its vertices for a centroid.
    """
    found = Centroids(np.empty(len(ends)), np.empty((len(ends), dim)), np.ones(len(ends), np.int64))
    scaled, sides = in_own_units(vertices, ends)
    _weigh_cells(scaled, ends, tight, dim, new_faces(ends, tight, dim), new_moments(dim), found)
    with np.errstate(over="ignore", under="ignore"):
        volumes = np.ldexp(found.volumes / factorial(dim), sides.sum(axis=1, dtype=np.int64))
    return Centroids(volumes, np.ldexp(found.centers, sides), found.simplices)


@entry
def _weigh_cells(
    vertices: Any, ends: Any, tight: Any, dim: int, faces: Faces, moments: Moments, found: Centroids
) -> None:
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        points, center = vertices[begin:end], found.centers[cell]
        volume = measure_cell(points, tight[begin:end], dim, faces, moments)
        if moments.simplices[0] > 0:
            found.simplices[cell] = moments.simplices[0]
        if moments.simplices[0] > 0 and volume > 0.0:
            for k in range(dim):
                center[k] = points[0, k] + moments.sums[0, k] / (volume * (dim + 1))
        else:
            _place_mean(points, center)
        found.volumes[cell] = volume
        begin = end


@kernel
def _place_mean(points: Any, center: Any) -> None:
    for k in range(len(center)):
        total = 0.0
        for i in range(len(points)):
            total += points[i, k] - points[0, k]
        center[k] = points[0, k] + total / len(points)
