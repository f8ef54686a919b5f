"""Many flat convex polygons at once: the regions of a plane, the faces of regions in space, and cuts through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from affinelens.array_types import Bools, Floats, Indices
from affinelens.regions import all_vertices

if TYPE_CHECKING:
    from affinelens.regions import Regions


@dataclass(frozen=True, eq=False)
class Polygons:
    """Polygon i has the corners ``corners[i, :counts[i]]``, in order around it, and belongs to ``region[i]``."""

    corners: Floats
    counts: Indices
    region: Indices

    @classmethod
    def around(cls, points: Floats, offsets: Indices, region: Indices) -> Polygons:
        """Polygons from their corners in any order, with offsets."""
        corners, counts = points[_around(points, offsets)], np.diff(offsets)
        place = np.arange(counts.max(initial=0))
        return cls(corners[np.minimum(offsets[:-1, None] + place, offsets[1:, None] - 1)], counts, region)

    @classmethod
    def joined(cls, parts: Sequence[Polygons]) -> Polygons:
        """The polygons of all parts, in order."""
        most = max(part.corners.shape[1] for part in parts)
        padded = [np.pad(part.corners, ((0, 0), (0, most - part.corners.shape[1]), (0, 0))) for part in parts]
        return cls(
            np.concatenate(padded),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.region for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, which: Indices | Bools) -> Polygons:
        return Polygons(self.corners[which], self.counts[which], self.region[which])

    @property
    def is_corner(self) -> Bools:
        """Which of the places in ``corners`` are used."""
        used: Bools = np.arange(self.corners.shape[1]) < self.counts[:, None]
        return used

    @property
    def following(self) -> Indices:
        """The place of the corner after each corner."""
        return (np.arange(self.corners.shape[1]) + 1) % np.maximum(self.counts, 1)[:, None]

    @property
    def normals(self) -> Floats:
        """A vector at right angles to each polygon in space, as long as its area is large beside the others'."""
        here = _of_moderate_size(self.corners - self.corners[:, :1])
        after = np.take_along_axis(here, self.following[:, :, None], axis=1)
        normals: Floats = (np.cross(here, after) * self.is_corner[:, :, None]).sum(axis=1)
        return normals

    def rings(self) -> list[Floats]:
        """The corners of each polygon, an array each."""
        return [ring[:count] for ring, count in zip(self.corners, self.counts.tolist(), strict=True)]

    def with_corners(self, corners: Floats) -> Polygons:
        """The same polygons with their corners elsewhere."""
        return replace(self, corners=corners)

    def crossings(self, values: Floats) -> tuple[Bools, Floats]:
        """Behind which corners an affine function, given at the corners, becomes negative or ceases to be; and where it
        is 0 there."""
        after = np.take_along_axis(values, self.following, axis=1)
        crosses = self.is_corner & ((values >= 0) != (after >= 0))
        step = np.divide(values, values - after, out=np.zeros_like(values), where=crosses)
        beyond = np.take_along_axis(self.corners, self.following[:, :, None], axis=1)
        return crosses, self.corners + step[:, :, None] * (beyond - self.corners)

    def beyond(self, axis: int, bound: float, side: float) -> Polygons:
        """The part of each polygon whose coordinate is at least the bound, or with side -1 at most.

        Those that have nothing beyond it are left out.
        """
        values = side * (self.corners[:, :, axis] - bound)
        crosses, crossing = self.crossings(values)
        n, m, dim = self.corners.shape
        corners = np.stack([self.corners, crossing], axis=2).reshape(n, 2 * m, dim)
        kept = np.stack([self.is_corner & (values >= 0), crosses], axis=2).reshape(n, 2 * m)
        counts = kept.sum(axis=1)
        order = np.argsort(~kept, axis=1, kind="stable")[:, : int(counts.max(initial=0))]
        result = Polygons(np.take_along_axis(corners, order[:, :, None], axis=1), counts, self.region)
        return result[np.asarray((self.is_corner & (values > 0)).any(axis=1))]


def region_polygons(regions: Regions) -> Polygons:
    """The regions of a two-dimensional domain, in its own coordinates."""
    found = all_vertices(regions)
    return Polygons.around(found.points, found.offsets, np.arange(len(regions)))


def clipped_to_rectangle(polygons: Polygons, lower: Floats, upper: Floats) -> Polygons:
    """What of the polygons lies between lower and upper."""
    for axis in range(2):
        polygons = polygons.beyond(axis, lower[axis], 1.0).beyond(axis, upper[axis], -1.0)
    return polygons


def _around(points: Floats, offsets: Indices) -> Indices:
    """The order of the corners of flat convex polygons, in the plane or in space, each polygon's around it."""
    if len(offsets) < 2:
        return np.arange(len(points))
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    away = points - (np.add.reduceat(points, offsets[:-1], axis=0) / counts[:, None])[owner]
    away = _of_moderate_size(away)
    sizes, axes = np.linalg.eigh(np.add.reduceat(away[:, :, None] * away[:, None, :], offsets[:-1], axis=0))
    # A polygon's plane is that of its two widest directions. Thin polygons are stretched along these first, so that
    # angles tell their corners apart.
    scale = np.sqrt(np.where(sizes > 0, sizes, 1.0))[:, -2:]
    stretched = np.einsum("nd,ndk->nk", away, axes[owner][:, :, -2:]) / scale[owner]
    return np.lexsort((np.arctan2(stretched[:, 1], stretched[:, 0]), owner))


def _of_moderate_size(vectors: Floats) -> Floats:
    """The vectors, all scaled by a power of two so that the largest number is about 1: products cannot overflow."""
    scaled: Floats = np.ldexp(vectors, -np.frexp(np.abs(vectors).max(initial=0.0))[1])
    return scaled
