"""Volumes of cells given by their vertices and, for each vertex, the hyperplanes it lies on.

Each cell is measured in units of a box around it whose sides are powers of two, so that nothing on the way overflows or
underflows that the volume itself does not, and volumes beyond float64 can still be compared.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from affinelens.array_types import Floats, Indices, Words
from affinelens.convex.face_stack import Faces, new_faces
from affinelens.convex.pyramids import measure_cell
from affinelens.kernels.compilation import entry


def cell_volumes(vertices: Floats, ends: Indices, tight: Words, dim: int) -> Floats:
    """Volumes of full-dimensional convex cells.

    Args:
        vertices: All cells' vertices, one cell after another.
        ends: Where in ``vertices`` each cell ends.
        tight: Bit b of row v says that vertex v lies on hyperplane b of its cell. These must include all facets of the
            cell; others that touch it do no harm.
        dim: The dimension, at least 1.
    """
    with np.errstate(over="ignore", under="ignore"):
        volumes: Floats = np.ldexp(*scaled_volumes(vertices, ends, tight, dim))
    return volumes


def scaled_volumes(vertices: Floats, ends: Indices, tight: Words, dim: int) -> tuple[Floats, Indices]:
    """As :func:`cell_volumes`, for each cell a number and the power of two to multiply it by."""
    scaled, sides = in_own_units(vertices, ends)
    volumes = np.empty(len(ends))
    _measure_cells(scaled, ends, tight, dim, new_faces(ends, tight, dim), volumes)
    volumes /= factorial(dim)
    return volumes, sides.sum(axis=1, dtype=np.int64)


def in_own_units(vertices: Floats, ends: Indices) -> tuple[Floats, Indices]:
    """Cells' vertices in units of boxes around each, and the powers of two that are these: a row a cell."""
    counts = np.diff(ends, prepend=0)
    starts = ends - counts
    extents = np.maximum.reduceat(vertices, starts) - np.minimum.reduceat(vertices, starts)
    sides = np.frexp(extents)[1]
    return np.ldexp(vertices, np.repeat(-sides, counts, axis=0)), sides


@entry
def _measure_cells(vertices: Any, ends: Any, tight: Any, dim: int, faces: Faces, volumes: Any) -> None:
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        volumes[cell] = measure_cell(vertices[begin:end], tight[begin:end], dim, faces, None)
        begin = end
