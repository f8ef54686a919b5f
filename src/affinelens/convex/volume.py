"""Volumes of cells given by their vertices and, for each vertex, the hyperplanes it lies on.

A cell is the union of the pyramids from its first vertex over the facets that do not contain it; so is each of its
faces, within its own affine hull. A pyramid is flattened along the edge from its apex to the first vertex of its base:
its volume is the length of that edge in one coordinate times the volume of the base in the others, over its dimension.
So only ever the base is looked at, in one coordinate fewer. Which vertices make a facet is read from the hyperplanes
alone: rounding moves the vertices a little, but cannot change which faces there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats, Indices, Words
from affinelens.kernels.bits import NONE, ONE, count_bits, lowest_bit
from affinelens.kernels.compilation import entry, inlined, kernel


class Scratch(NamedTuple):
    """The cell's hyperplanes by vertex; and a stack of faces, one for each dimension from the cell's down.

    A face is a list of vertices, and their flattened coordinates with the first at the origin. Of each face is also
    kept: on which hyperplanes it lies, which may still hold a facet of it, what its pyramids add up to so far, and by
    what the volume of its current facet is to be multiplied.
    """

    marks: Words
    x: Floats
    ids: NDArray[np.uint32]
    counts: Indices
    shared: Words
    rest: Words
    total: Floats
    scale: Floats
    factor: Floats
    chosen: NDArray[np.uint32]


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
    largest = int(np.diff(ends, prepend=0).max(initial=0))
    scratch = new_scratch(largest, tight.shape[1], dim, levels=max(dim - 2, 1))
    measure_cells(vertices, ends, tight, dim, scratch, volumes)
    return volumes


def new_scratch(largest: int, words: int, dim: int, *, levels: int) -> Scratch:
    """Room for cells of at most so many vertices, whose bits take so many words."""
    return Scratch(
        marks=np.empty((largest, words), np.uint64),
        x=np.empty((levels, largest, dim)),
        ids=np.empty((levels, largest), np.uint32),
        counts=np.empty(levels, np.int64),
        shared=np.empty((levels, words), np.uint64),
        rest=np.empty((levels, words), np.uint64),
        total=np.empty(levels),
        scale=np.empty(levels),
        factor=np.empty(dim),
        chosen=np.empty(largest, np.uint32),
    )


@entry
def measure_cells(vertices: Any, ends: Any, tight: Any, dim: int, scratch: Scratch, volumes: Any) -> None:
    factorial = 1.0
    for k in range(2, dim + 1):
        factorial *= k
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        n = end - begin
        words = load_cell(vertices[begin:end], tight[begin:end], scratch, n, dim)
        if n <= dim:
            volume = 0.0
        elif n == dim + 1 or dim == 1:
            volume = simplex(scratch.x[0], dim)
        elif dim == 2:
            volume = _polygon(scratch, words, n)
        elif dim == 3:
            volume = _solid(scratch, words, dim - 3, n)
        else:
            volume = _pyramids(scratch, words, n, dim)
        volumes[cell] = volume / factorial
        begin = end


@inlined
def load_cell(vertices: Any, tight: Any, scratch: Scratch, n: int, dim: int) -> int:
    """Move a cell's first vertex to the origin and number its hyperplanes anew, without gaps.

    Returns how many words their bits now take.
    """
    x, ids, marks = scratch.x[0], scratch.ids[0], scratch.marks
    for i in range(n):
        ids[i] = i
        for k in range(dim):
            x[i, k] = vertices[i, k] - vertices[0, k]
    if tight.shape[1] == 1:
        for i in range(n):
            marks[i, 0] = tight[i, 0]
        return 1
    for i in range(n):
        for w in range(tight.shape[1]):
            marks[i, w] = NONE
    numbered = 0
    for w in range(tight.shape[1]):
        used = NONE
        for i in range(n):
            used |= tight[i, w]
        if used == NONE:
            continue
        for i in range(n):
            bits = tight[i, w]
            while bits != NONE:
                number = numbered + count_bits(used & ((bits & (~bits + ONE)) - ONE))
                marks[i, number >> 6] |= ONE << np.uint64(number & 63)
                bits &= bits - ONE
        numbered += count_bits(used)
    return (numbered + 63) >> 6


@kernel
def _pyramids(scratch: Scratch, words: int, n: int, dim: int) -> Any:
    """A cell's volume times the factorial of its dimension, which is at least 4."""
    total = scratch.total
    open_cell(scratch, words, n)
    level = 0
    while True:
        size, scale = next_pyramid(scratch, words, level, dim - level)
        if size == 0:
            if level == 0:
                return total[0]
            level -= 1
            total[level] += scratch.scale[level] * total[level + 1]
        elif size == dim - level:
            total[level] += scale * simplex(scratch.x[level + 1], dim - level - 1)
        elif dim - level - 1 == 3:
            total[level] += scale * _solid(scratch, words, level + 1, size)
        else:
            scratch.scale[level] = scale
            level += 1
            open_face(scratch, words, level, size)


@inlined
def open_cell(scratch: Scratch, words: int, n: int) -> None:
    """Start on a cell, the first face."""
    for w in range(words):
        scratch.shared[0, w] = ~NONE
        for i in range(n):
            scratch.shared[0, w] &= scratch.marks[i, w]
    open_face(scratch, words, 0, n)


@inlined
def next_pyramid(scratch: Scratch, words: int, level: int, m: int) -> tuple[int, float]:
    """Choose the next facet of an m-dimensional face that does not contain its first vertex, and flatten it.

    Returns how many vertices it has and by what its volume is to be multiplied; 0 vertices if none is left.
    """
    rest = scratch.rest[level]
    for w in range(words):
        while rest[w] != NONE:
            place = 64 * w + lowest_bit(rest[w])
            rest[w] &= rest[w] - ONE
            size = _choose_facet(scratch, words, level, place, m)
            if size > 0:
                scale = _flatten(scratch, level, size, m)
                if scale != 0.0:
                    return size, scale
    return 0, 0.0


@inlined
def open_face(scratch: Scratch, words: int, level: int, n: int) -> None:
    """Start on a face: its facets that do not contain its first vertex are still to be found."""
    marks, ids, rest = scratch.marks, scratch.ids[level], scratch.rest[level]
    scratch.counts[level] = n
    scratch.total[level] = 0.0
    for w in range(words):
        found = NONE
        for i in range(1, n):
            found |= marks[ids[i], w]
        rest[w] = found & ~marks[ids[0], w]


@inlined
def _choose_facet(scratch: Scratch, words: int, level: int, place: int, m: int) -> int:
    """List the vertices of an m-dimensional face on a hyperplane, if they make a facet that is not yet known.

    They do unless all of them lie on another hyperplane that has more of the face's vertices, but not all. Of
    hyperplanes that have the same vertices only the first counts. Returns the number of vertices, or 0.
    """
    marks, face, facet, chosen = scratch.marks, scratch.ids[level], scratch.ids[level + 1], scratch.chosen
    n = scratch.counts[level]
    size = _choose(scratch, face, n, place >> 6, ONE << np.uint64(place & 63))
    if size < m:
        return 0
    for i in range(size):
        facet[i] = face[chosen[i]]
    for w in range(words):
        common = ~NONE
        for i in range(size):
            common &= marks[facet[i], w]
        scratch.shared[level + 1, w] = common
        others = common & ~scratch.shared[level, w]
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
def _flatten(scratch: Scratch, level: int, size: int, m: int) -> Any:
    """Project the chosen vertices of an m-dimensional face along the edge from the origin to the first of them.

    The coordinate in which that edge is longest is dropped: the last one takes its place. Returns the edge's length in
    it. That is 0 if two vertices cannot be told apart, and then the pyramid counts for nothing.
    """
    x, flat, chosen, factor = scratch.x[level], scratch.x[level + 1], scratch.chosen, scratch.factor
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


@kernel
def _solid(scratch: Scratch, words: int, level: int, n: int) -> float:
    """Six times the volume of a three-dimensional face.

    A hyperplane has a facet of it if it has three of its vertices, and an edge of the facet if it has two of those.
    """
    marks, ids = scratch.marks, scratch.ids[level]
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
            size = _choose(scratch, ids, n, w, bit)
            if size >= 3 and not _is_repeated(scratch, ids, w, bit, apex, size):
                total += _cone(scratch, words, level, size)
    return total


@inlined
def _choose(scratch: Scratch, ids: Any, n: int, word: int, bit: Any) -> int:
    """Choose a face's vertices that lie on a hyperplane, and return how many there are. The first one does not."""
    marks, chosen = scratch.marks, scratch.chosen
    size = 0
    for i in range(1, n):
        chosen[size] = i
        if marks[ids[i], word] & bit:
            size += 1
    return size


@inlined
def _is_repeated(scratch: Scratch, ids: Any, word: int, bit: Any, apex: Any, size: int) -> bool:
    """Whether the chosen vertices also lie on an earlier hyperplane without the apex."""
    marks, chosen = scratch.marks, scratch.chosen
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
def _cone(scratch: Scratch, words: int, level: int, size: int) -> float:
    """Six times the volume between the origin and the polygon of the chosen vertices."""
    x, ids, chosen, marks = scratch.x[level], scratch.ids[level], scratch.chosen, scratch.marks
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
                total += abs(nx * (x[v, 0] - px) + ny * (x[v, 1] - py) + nz * (x[v, 2] - pz))
    return total


@kernel
def _polygon(scratch: Scratch, words: int, n: int) -> float:
    """Twice the area of a two-dimensional cell."""
    x, marks = scratch.x[0], scratch.marks
    total = 0.0
    for i in range(1, n):
        for j in range(i + 1, n):
            if _is_edge(marks, words, 0, i, j):
                total += abs(x[i, 0] * x[j, 1] - x[i, 1] * x[j, 0])
    return total


@inlined
def _is_edge(marks: Any, words: int, first: Any, u: Any, v: Any) -> Any:
    """Whether two vertices of a polygon span an edge, as they do if on a hyperplane without the polygon's first."""
    common = NONE
    for w in range(words):
        common |= marks[u, w] & marks[v, w] & ~marks[first, w]
    return common != NONE


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
