"""Cells cut into pyramids, and what these add up to.

A cell is the union of the pyramids from its first vertex over the facets that do not contain it; so is each of its
faces, within its own affine hull. A pyramid is flattened along the edge from its apex to the first vertex of its base:
its volume is the length of that edge in one coordinate times the volume of the base in the others, over its dimension.
So only ever the base is looked at, in one coordinate fewer. A pyramid adds its apex to the corners of all simplices of
its base.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.convex.face_stack import Faces, choose_on, load_cell, open_cell, open_face
from affinelens.convex.simplices import add_corner, clear, polygon, simplex, solid
from affinelens.kernels.bits import NONE, ONE, lowest_bit
from affinelens.kernels.compilation import inlined, kernel


@inlined
def measure_cell(points: Any, tight: Any, dim: int, faces: Faces, moments: Any) -> Any:
    """A cell's volume times the factorial of its dimension; its moments, if wanted, are left with the first face.

    The moment of a cell that is a simplex is not found: its centroid is the mean of its corners.
    """
    n = len(points)
    words = load_cell(points, tight, faces, dim)
    if moments is not None:
        clear(moments, 0)
        moments.simplices[0] = 0
    if n <= dim:
        return 0.0
    if n == dim + 1 or dim == 1:
        return simplex(faces.x[0], dim)
    if dim == 2:
        return polygon(points, faces, words, n, moments)
    if dim == 3:
        return solid(points, faces, words, dim - 3, n, moments)
    return _pyramids(points, faces, words, dim, moments)


@kernel
def _pyramids(points: Any, faces: Faces, words: int, dim: int, moments: Any) -> Any:
    """A cell's volume times the factorial of its dimension, which is at least 4."""
    total = faces.total
    open_cell(faces, words, len(points))
    level = 0
    while True:
        size, scale = _next_pyramid(faces, words, level, dim - level)
        if size == 0:
            if level == 0:
                return total[0]
            level -= 1
            _add_pyramid(points, faces, level, faces.scale[level], total[level + 1], moments)
        elif size == dim - level:
            volume = scale * simplex(faces.x[level + 1], dim - level - 1)
            total[level] += volume
            if moments is not None:
                moments.simplices[0] += 1
                add_corner(moments, level, volume, points, faces.ids[level, 0])
                for i in range(size):
                    add_corner(moments, level, volume, points, faces.ids[level + 1, i])
        elif dim - level - 1 == 3:
            if moments is not None:
                clear(moments, level + 1)
            base = solid(points, faces, words, level + 1, size, moments)
            _add_pyramid(points, faces, level, scale, base, moments)
        else:
            faces.scale[level] = scale
            level += 1
            open_face(faces, words, level, size)
            if moments is not None:
                clear(moments, level)


@inlined
def _add_pyramid(points: Any, faces: Faces, level: int, scale: float, base: float, moments: Any) -> None:
    """Add the pyramid over the face that is next on the stack, of a given volume, to a face."""
    faces.total[level] += scale * base
    if moments is not None:
        for k in range(moments.sums.shape[1]):
            moments.sums[level, k] += scale * moments.sums[level + 1, k]
        add_corner(moments, level, scale * base, points, faces.ids[level, 0])


@inlined
def _next_pyramid(faces: Faces, words: int, level: int, m: int) -> tuple[int, float]:
    """Choose the next facet of an m-dimensional face that does not contain its first vertex, and flatten it.

    Returns how many vertices it has and by what its volume is to be multiplied; 0 vertices if none is left.
    """
    rest = faces.rest[level]
    for w in range(words):
        while rest[w] != NONE:
            place = 64 * w + lowest_bit(rest[w])
            rest[w] &= rest[w] - ONE
            size = _choose_facet(faces, words, level, place, m)
            if size > 0:
                scale = _flatten(faces, level, size, m)
                if scale != 0.0:
                    return size, scale
    return 0, 0.0


@inlined
def _choose_facet(faces: Faces, words: int, level: int, place: int, m: int) -> int:
    """List the vertices of an m-dimensional face on a hyperplane, if they make a facet that is not yet known.

    They do unless all of them lie on another hyperplane that has more of the face's vertices, but not all. Of
    hyperplanes that have the same vertices only the first counts. Returns the number of vertices, or 0.
    """
    marks, face, facet, chosen = faces.marks, faces.ids[level], faces.ids[level + 1], faces.chosen
    n = faces.counts[level]
    size = choose_on(faces, face, n, place >> 6, ONE << np.uint64(place & 63))
    if size < m:
        return 0
    for i in range(size):
        facet[i] = face[chosen[i]]
    for w in range(words):
        common = ~NONE
        for i in range(size):
            common &= marks[facet[i], w]
        faces.shared[level + 1, w] = common
        others = common & ~faces.shared[level, w]
        while others != NONE:
            other = 64 * w + lowest_bit(others)
            other_bit = others & (~others + ONE)
            others &= others - ONE
            if other == place:
                continue
            if other < place:
                return 0
            on_other = 0
            for i in range(n):
                if marks[face[i], w] & other_bit:
                    on_other += 1
            if on_other > size:
                return 0
    return size


@inlined
def _flatten(faces: Faces, level: int, size: int, m: int) -> Any:
    """Project the chosen vertices of an m-dimensional face along the edge from the origin to the first of them.

    The coordinate in which that edge is longest is dropped: the last one takes its place. Returns the edge's length in
    it. That is 0 if two vertices cannot be told apart, and then the pyramid counts for nothing.
    """
    x, flat, chosen, factor = faces.x[level], faces.x[level + 1], faces.chosen, faces.factor
    first = x[chosen[0]]
    drop = 0
    for k in range(1, m):
        if abs(first[k]) > abs(first[drop]):
            drop = k
    length = first[drop]
    if length == 0.0:
        return 0.0
    for k in range(m):
        factor[k] = first[k] / length
    for k in range(m - 1):
        flat[0, k] = 0.0
    for i in range(1, size):
        old, new = x[chosen[i]], flat[i]
        along = old[drop]
        for k in range(m - 1):
            new[k] = old[k] - along * factor[k]
        if drop < m - 1:
            new[drop] = old[m - 1] - along * factor[m - 1]
    return abs(length)
