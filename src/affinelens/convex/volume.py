"""Volumes of cells given by their vertices and, for each vertex, the hyperplanes it lies on."""

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
    volumes = np.empty(len(ends))
    _measure_cells(vertices, ends, tight, dim, new_faces(ends, tight, dim), volumes)
    volumes /= factorial(dim)
    return volumes


@entry
def _measure_cells(vertices: Any, ends: Any, tight: Any, dim: int, faces: Faces, volumes: Any) -> None:
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        volumes[cell] = measure_cell(vertices[begin:end], tight[begin:end], dim, faces, None)
        begin = end
