"""How far the float64 vertices of cells are from the hyperplanes they are meant to lie on.

Which of a cell's halfspaces belongs to which bit of its vertices is not known; it is the one that the vertices with
this bit are nearest to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.array_types import Floats, Indices, Words
from affinelens.kernels.bits import NONE, ONE
from affinelens.kernels.compilation import entry, kernel

_ROUNDING = 2.0**-53


def vertex_distances(
    rows: Floats, errors: Floats, row_ends: Indices, vertices: Floats, ends: Indices, tight: Words, steepest: float
) -> Floats:
    """For each cell the largest distance of a vertex from a facet it belongs to, or beyond any facet.

    Args:
        rows: All cells' halfspaces ``[w | b]``, one cell after another, a row a facet.
        errors: How far a row's value may be off in a box around the cells.
        row_ends: Where in ``rows`` each cell ends.
        vertices: All cells' vertices.
        ends: Where in ``vertices`` each cell ends.
        tight: Bit b of row v says that vertex v lies on hyperplane b of its cell.
        steepest: The largest slope of a function that is between -1 and 1 in that box.
    """
    most_rows = int(np.diff(row_ends, prepend=0).max(initial=0))
    most = int(np.diff(ends, prepend=0).max(initial=0))
    distances, apart = np.empty(len(ends)), np.empty((most_rows, most))
    compare_vertices(rows, errors, row_ends, vertices, ends, tight, steepest, apart, distances)
    return distances


@entry
def compare_vertices(
    rows: Any, errors: Any, row_ends: Any, vertices: Any, ends: Any, tight: Any, steepest: float, apart: Any,
    distances: Any,
) -> None:  # fmt: skip
    begin, row_begin = 0, 0
    for cell in range(len(ends)):
        n, m = ends[cell] - begin, row_ends[cell] - row_begin
        away = 0.0
        for i in range(m):
            off = _distances_from(
                rows[row_begin + i], errors[row_begin + i], vertices[begin : begin + n], steepest, apart[i]
            )
            outside = 0.0
            for v in range(n):
                outside = max(outside, -apart[i, v])
            nearest = _nearest_bit(apart[i], tight[begin : begin + n], vertices.shape[1])
            away = max(away, max(outside, nearest) + off)
        distances[cell] = away
        begin, row_begin = ends[cell], row_ends[cell]


@kernel
def _distances_from(row: Any, error: float, points: Any, steepest: float, apart: Any) -> float:
    """Signed distances of points from a hyperplane; returns how far they may be off."""
    d = points.shape[1]
    largest, total = 0.0, 0.0
    for k in range(d):
        largest = max(largest, abs(row[k]))
    for k in range(d):
        total += (row[k] / largest) ** 2
    length = largest * np.sqrt(total)
    tilt = error * steepest / length + (d + 4) * _ROUNDING
    off = 0.0
    for v in range(len(points)):
        value, size = row[d], abs(row[d])
        for k in range(d):
            value += row[k] * points[v, k]
            size += abs(row[k] * points[v, k])
        apart[v] = value / length
        off = max(off, 2.0 * ((error + (d + 4) * _ROUNDING * size) / length + tilt * abs(apart[v])))
    return off


@kernel
def _nearest_bit(apart: Any, tight: Any, d: int) -> float:
    """How far the vertices with a bit are from a hyperplane, for the bit with which that is least."""
    nearest = np.inf
    for w in range(tight.shape[1]):
        bits = NONE
        for v in range(len(tight)):
            bits |= tight[v, w]
        while bits != NONE:
            bit = bits & (~bits + ONE)
            bits &= bits - ONE
            count, farthest = 0, 0.0
            for v in range(len(tight)):
                if tight[v, w] & bit:
                    count += 1
                    farthest = max(farthest, abs(apart[v]))
                    if farthest >= nearest:
                        break
            if count >= d and farthest < nearest:
                nearest = farthest
    return nearest
