"""What simplices add up to: volumes and, where wanted, moments; and faces of few dimensions, cut into simplices.

The moment of a simplex is its volume times the sum of its corners, seen from the cell's first vertex. Volumes are those
times the factorial of the dimension. Kernels take None for moments that are not wanted, and are compiled without.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from affinelens.array_types import Floats, Indices
from affinelens.convex.face_stack import Faces, choose_on
from affinelens.kernels.bits import NONE, ONE
from affinelens.kernels.compilation import inlined, kernel


class Moments(NamedTuple):
    """For each face on the stack the sum of its simplices' moments; and how many simplices the cell was cut into."""

    sums: Floats
    simplices: Indices


def new_moments(dim: int) -> Moments:
    return Moments(np.empty((max(dim - 2, 1), dim)), np.empty(1, np.int64))


@inlined
def clear(moments: Moments, level: int) -> None:
    for k in range(moments.sums.shape[1]):
        moments.sums[level, k] = 0.0


@inlined
def add_corner(moments: Moments, level: int, volume: float, points: Any, vertex: Any) -> None:
    """Add a volume times a corner of it to a face's moment."""
    for k in range(moments.sums.shape[1]):
        moments.sums[level, k] += volume * (points[vertex, k] - points[0, k])


@inlined
def add_corners(moments: Moments, level: int, volume: float, points: Any, u: Any, v: Any) -> None:
    """As :func:`add_corner`, for the two last corners of a simplex, which is counted."""
    moments.simplices[0] += 1
    for k in range(moments.sums.shape[1]):
        moments.sums[level, k] += volume * (points[u, k] - points[0, k] + (points[v, k] - points[0, k]))


@kernel
def simplex(x: Any, m: int) -> float:
    """The volume, times the factorial of m, of the simplex of the origin in row 0 and m more rows, now used up."""
    product = 1.0
    for c in range(m):
        pivot = c + 1
        for i in range(c + 2, m + 1):
            if abs(x[i, c]) > abs(x[pivot, c]):
                pivot = i
        length = x[pivot, c]
        if length == 0.0:
            return 0.0
        product *= abs(length)
        if pivot != c + 1:
            for k in range(c, m):
                x[c + 1, k], x[pivot, k] = x[pivot, k], x[c + 1, k]
        for i in range(c + 2, m + 1):
            ratio = x[i, c] / length
            for k in range(c + 1, m):
                x[i, k] -= ratio * x[c + 1, k]
    return product


@kernel
def polygon(points: Any, faces: Faces, words: int, n: int, moments: Any) -> float:
    """Twice the area of a two-dimensional cell."""
    x, marks = faces.x[0], faces.marks
    total = 0.0
    for i in range(1, n):
        for j in range(i + 1, n):
            if _is_edge(marks, words, 0, i, j):
                area = abs(x[i, 0] * x[j, 1] - x[i, 1] * x[j, 0])
                total += area
                if moments is not None:
                    add_corners(moments, 0, area, points, i, j)
    return total


@kernel
def solid(points: Any, faces: Faces, words: int, level: int, n: int, moments: Any) -> float:
    """Six times the volume of a three-dimensional face.

    A hyperplane has a facet of it if it has three of its vertices, and an edge of the facet if it has two of those.
    """
    marks, ids = faces.marks, faces.ids[level]
    apex = ids[0]
    total = 0.0
    for w in range(words):
        rest = NONE
        for i in range(1, n):
            rest |= marks[ids[i], w]
        rest &= ~marks[apex, w]
        while rest != NONE:
            bit = rest & (~rest + ONE)
            rest &= rest - ONE
            size = choose_on(faces, ids, n, w, bit)
            if size >= 3 and not _is_repeated(faces, ids, w, bit, apex, size):
                total += _cone(points, faces, words, level, size, moments)
    if moments is not None:
        add_corner(moments, level, total, points, apex)
    return total


@inlined
def _is_repeated(faces: Faces, ids: Any, word: int, bit: Any, apex: Any, size: int) -> bool:
    """Whether the chosen vertices also lie on an earlier hyperplane without the apex."""
    marks, chosen = faces.marks, faces.chosen
    for w in range(word + 1):
        common = ~marks[apex, w]
        for i in range(size):
            common &= marks[ids[chosen[i]], w]
        if w == word:
            common &= bit - ONE
        if common != NONE:
            return True
    return False


@inlined
def _cone(points: Any, faces: Faces, words: int, level: int, size: int, moments: Any) -> float:
    """Six times the volume between the origin and the polygon of the chosen vertices."""
    x, ids, chosen, marks = faces.x[level], faces.ids[level], faces.chosen, faces.marks
    first = chosen[0]
    px, py, pz = x[first, 0], x[first, 1], x[first, 2]
    total = 0.0
    for i in range(1, size):
        u = chosen[i]
        ux, uy, uz = x[u, 0] - px, x[u, 1] - py, x[u, 2] - pz
        nx, ny, nz = py * uz - pz * uy, pz * ux - px * uz, px * uy - py * ux
        for j in range(i + 1, size):
            v = chosen[j]
            if size == 3 or _is_edge(marks, words, ids[first], ids[u], ids[v]):
                volume = abs(nx * (x[v, 0] - px) + ny * (x[v, 1] - py) + nz * (x[v, 2] - pz))
                total += volume
                if moments is not None:
                    add_corners(moments, level, volume, points, ids[u], ids[v])
    if moments is not None:
        add_corner(moments, level, total, points, ids[first])
    return total


@inlined
def _is_edge(marks: Any, words: int, first: Any, u: Any, v: Any) -> Any:
    """Whether two vertices of a polygon span an edge, as they do if on a hyperplane without the polygon's first."""
    common = NONE
    for w in range(words):
        common |= marks[u, w] & marks[v, w] & ~marks[first, w]
    return common != NONE
