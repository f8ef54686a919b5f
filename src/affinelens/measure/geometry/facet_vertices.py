"""Which vertices of a region lie on which of its facets, where both were found together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Indices
from affinelens.walk import Facets, Vertices


def facet_vertices(corners: Vertices, listed: Facets, facets: Indices) -> Vertices:
    """The vertices of some of the listed facets, a facet after another, with all that each lies on."""
    assert listed.bits is not None
    cells = np.searchsorted(listed.offsets, facets, side="right") - 1
    counts = np.diff(corners.offsets)[cells]
    facet = np.repeat(np.arange(len(facets)), counts)
    place = np.arange(len(facet)) - np.repeat(np.cumsum(counts) - counts, counts)
    vertex = corners.offsets[cells][facet] + place
    on = has_bit(corners.tight[vertex], listed.bits[facets][facet])
    ends = np.cumsum(np.bincount(facet[on], minlength=len(facets)))
    return Vertices(corners.points[vertex[on]], corners.tight[vertex[on]], np.concatenate([[0], ends]).astype(np.int64))


def has_bit(words: NDArray[np.uint64], bits: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Whether bits are set in words, of which the last axis makes up one number."""
    shape = np.broadcast_shapes(words.shape[:-1], bits.shape)
    place = np.broadcast_to(bits // 64, shape)[..., None]
    word = np.take_along_axis(np.broadcast_to(words, (*shape, words.shape[-1])), place, axis=-1)[..., 0]
    return np.asarray(word >> (bits % 64).astype(np.uint64) & np.uint64(1) != 0)
