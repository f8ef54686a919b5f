"""Volumes and centroids of cells given by their vertices and, for each vertex, the hyperplanes it lies on.

A cell is cut into pyramids as in :mod:`affinelens.convex.volume`, and their bases are cut likewise until only
simplices are left. The mean of a simplex is that of its corners, so beside the sum of the simplices' volumes the sum of
volume times corners is kept; a pyramid adds its apex to the corners of all simplices of its base.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from affinelens.array_types import Floats, Indices, Words
from affinelens.convex.volume import (
    Scratch,
    load_cell,
    new_scratch,
    next_pyramid,
    open_cell,
    open_face,
    simplex,
)  # fmt: skip
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
    scratch = new_scratch(int(np.diff(ends, prepend=0).max(initial=0)), tight.shape[1], dim, levels=dim)
    moments = np.empty((dim, dim))
    weigh_cells(vertices, ends, tight, dim, scratch, moments, found)
    return found


@entry
def weigh_cells(
    vertices: Any, ends: Any, tight: Any, dim: int, scratch: Scratch, moments: Any, found: Centroids
) -> None:
    factorial = 1.0
    for k in range(2, dim + 1):
        factorial *= k
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        n = end - begin
        points = vertices[begin:end]
        words = load_cell(points, tight[begin:end], scratch, n, dim)
        if n <= dim + 1 or dim == 1:
            volume = simplex(scratch.x[0], dim) if n > dim else 0.0
            _place_mean(points, n, dim, found.centers[cell])
        else:
            volume, found.simplices[cell] = _pyramids(points, scratch, moments, words, n, dim)
            if volume > 0.0:
                for k in range(dim):
                    found.centers[cell, k] = points[0, k] + moments[0, k] / (volume * (dim + 1))
            else:
                _place_mean(points, n, dim, found.centers[cell])
        found.volumes[cell] = volume / factorial
        begin = end


@kernel
def _place_mean(points: Any, n: int, dim: int, centroid: Any) -> None:
    for k in range(dim):
        total = 0.0
        for i in range(n):
            total += points[i, k] - points[0, k]
        centroid[k] = points[0, k] + total / n


@kernel
def _pyramids(points: Any, scratch: Scratch, moments: Any, words: int, n: int, dim: int) -> Any:
    """A cell's volume times the factorial of its dimension, and how many simplices that is the sum of.

    ``moments[0]`` is left with the sum of their volumes times corners.
    """
    total, ids = scratch.total, scratch.ids
    open_cell(scratch, words, n)
    for k in range(dim):
        moments[0, k] = 0.0
    level, simplices = 0, 0
    while True:
        size, scale = next_pyramid(scratch, words, level, dim - level)
        if size == 0:
            if level == 0:
                return total[0], simplices
            level -= 1
            scale, apex = scratch.scale[level], points[ids[level, 0]]
            total[level] += scale * total[level + 1]
            for k in range(dim):
                corner = apex[k] - points[0, k]
                moments[level, k] += scale * (moments[level + 1, k] + corner * total[level + 1])
        elif size == dim - level:
            volume = scale * simplex(scratch.x[level + 1], dim - level - 1)
            total[level] += volume
            simplices += 1
            for k in range(dim):
                corners = points[ids[level, 0], k] - points[0, k]
                for i in range(size):
                    corners += points[ids[level + 1, i], k] - points[0, k]
                moments[level, k] += volume * corners
        else:
            scratch.scale[level] = scale
            level += 1
            open_face(scratch, words, level, size)
            for k in range(dim):
                moments[level, k] = 0.0
