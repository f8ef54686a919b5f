"""A cell and the faces of it that are being looked at, a stack with one for each dimension from the cell's down.

Which vertices make a face is read from the hyperplanes they lie on alone: rounding moves the vertices a little, but
cannot change which faces there are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats, Indices, Words
from affinelens.kernels.bits import NONE, ONE, count_bits
from affinelens.kernels.compilation import inlined


class Faces(NamedTuple):
    """The cell's hyperplanes by vertex, and a stack of faces, of which the cell is the first.

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


def new_faces(ends: Indices, tight: Words, dim: int) -> Faces:
    """Room for any of some cells, given by where in ``tight`` each ends."""
    largest, words, levels = int(np.diff(ends, prepend=0).max(initial=0)), tight.shape[1], max(dim - 2, 1)
    return Faces(
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


@inlined
def load_cell(vertices: Any, tight: Any, faces: Faces, dim: int) -> int:
    """Move a cell's first vertex to the origin and number its hyperplanes anew, without gaps.

    Returns how many words their bits now take.
    """
    x, ids, marks, n = faces.x[0], faces.ids[0], faces.marks, len(vertices)
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


@inlined
def open_cell(faces: Faces, words: int, n: int) -> None:
    """Start on a cell, the first face."""
    for w in range(words):
        faces.shared[0, w] = ~NONE
        for i in range(n):
            faces.shared[0, w] &= faces.marks[i, w]
    open_face(faces, words, 0, n)


@inlined
def open_face(faces: Faces, words: int, level: int, n: int) -> None:
    """Start on a face: its facets that do not contain its first vertex are still to be found."""
    marks, ids, rest = faces.marks, faces.ids[level], faces.rest[level]
    faces.counts[level] = n
    faces.total[level] = 0.0
    for w in range(words):
        found = NONE
        for i in range(1, n):
            found |= marks[ids[i], w]
        rest[w] = found & ~marks[ids[0], w]


@inlined
def choose_on(faces: Faces, ids: Any, n: int, word: int, bit: Any) -> int:
    """Choose a face's vertices that lie on a hyperplane, and return how many there are. The first one does not."""
    marks, chosen = faces.marks, faces.chosen
    size = 0
    for i in range(1, n):
        chosen[size] = i
        if marks[ids[i], word] & bit:
            size += 1
    return size
