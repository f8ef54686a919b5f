"""Many convex polygons at once: the regions of a plane, the faces of regions in space, and cuts through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from affinelens.array_types import Bools, Floats, Indices
from affinelens.regions import all_vertices

if TYPE_CHECKING:
    from affinelens.measure.decision.class_cells import ClassCells
    from affinelens.regions import Regions

UNCUT = -1


@dataclass(frozen=True, eq=False)
class Polygons:
    """Polygon i has the corners ``corners[i, :counts[i]]``, in order around it, and belongs to ``region[i]``.

    ``side[i, k]`` says what made the side from corner k to the next: the label of a cut, or -1. ``origin[i]`` is the
    place that the polygon had before others were left out.
    """

    corners: Floats
    counts: Indices
    region: Indices
    side: Indices
    origin: Indices

    @classmethod
    def whole(cls, corners: Floats, offsets: Indices, region: Indices) -> Polygons:
        """Polygons that were not cut, from corners in order with offsets."""
        counts = np.diff(offsets)
        place = np.arange(counts.max(initial=0))
        padded = corners[np.minimum(offsets[:-1, None] + place, offsets[1:, None] - 1)]
        return cls(padded, counts, region, np.full(padded.shape[:2], UNCUT), np.arange(len(counts)))

    @classmethod
    def joined(cls, parts: Sequence[Polygons]) -> Polygons:
        """The polygons of all parts, in order."""
        most = max(part.corners.shape[1] for part in parts)
        room = [((0, 0), (0, most - part.corners.shape[1])) for part in parts]
        counts = np.concatenate([part.counts for part in parts])
        return cls(
            np.concatenate([np.pad(part.corners, (*pad, (0, 0))) for part, pad in zip(parts, room, strict=True)]),
            counts,
            np.concatenate([part.region for part in parts]),
            np.concatenate([np.pad(part.side, pad) for part, pad in zip(parts, room, strict=True)]),
            np.arange(len(counts)),
        )

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, which: Indices | Bools) -> Polygons:
        return Polygons(
            self.corners[which], self.counts[which], self.region[which], self.side[which], self.origin[which]
        )

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
    def areas(self) -> Floats:
        """Areas of polygons in the plane."""
        here = self.corners - self.corners[:, :1]
        after = np.take_along_axis(here, self.following[:, :, None], axis=1)
        cross = here[:, :, 0] * after[:, :, 1] - here[:, :, 1] * after[:, :, 0]
        areas: Floats = 0.5 * np.abs((cross * self.is_corner).sum(axis=1))
        return areas

    def rings(self) -> list[Floats]:
        """The corners of each polygon, an array each."""
        return [ring[:count] for ring, count in zip(self.corners, self.counts.tolist(), strict=True)]

    def with_corners(self, corners: Floats) -> Polygons:
        """The same polygons with their corners elsewhere."""
        return replace(self, corners=corners)

    def clipped(self, values: Floats, label: int = UNCUT, *, keep_touching: bool = False) -> Polygons:
        """The part of each polygon where an affine function, given at the corners, is at least 0.

        Those on which it is nowhere positive are left out, unless ``keep_touching`` asks for what remains of them. The
        new sides get the label.
        """
        used, following = self.is_corner, self.following
        inside = used & (values >= 0)
        after = np.take_along_axis(values, following, axis=1)
        crosses = used & ((values >= 0) != (after >= 0))
        step = np.divide(values, values - after, out=np.zeros_like(values), where=crosses)
        beyond = np.take_along_axis(self.corners, following[:, :, None], axis=1)
        crossing = self.corners + step[:, :, None] * (beyond - self.corners)
        n, m, dim = self.corners.shape
        corners = np.stack([self.corners, crossing], axis=2).reshape(n, 2 * m, dim)
        side = np.stack([self.side, np.where(inside, label, self.side)], axis=2).reshape(n, 2 * m)
        kept = np.stack([inside, crosses], axis=2).reshape(n, 2 * m)
        counts = kept.sum(axis=1)
        order = np.argsort(~kept, axis=1, kind="stable")[:, : int(counts.max(initial=0))]
        result = Polygons(
            np.take_along_axis(corners, order[:, :, None], axis=1),
            counts,
            self.region,
            np.take_along_axis(side, order, axis=1),
            self.origin,
        )
        alive = counts > 0 if keep_touching else np.asarray((used & (values > 0)).any(axis=1))
        return result[alive]

    def beyond(self, axis: int, bound: float, side: float) -> Polygons:
        """The part of each polygon whose coordinate is at least the bound, or with side -1 at most."""
        return self.clipped(side * (self.corners[:, :, axis] - bound))

    def cut_sides(self) -> tuple[Floats, Indices, Indices]:
        """The sides that cuts made, as pairs of end points; the label of each, and its polygon."""
        polygon, place = np.nonzero(self.is_corner & (self.side != UNCUT))
        start = self.corners[polygon, place]
        end = self.corners[polygon, self.following[polygon, place]]
        return np.stack([start, end], axis=1), self.side[polygon, place], polygon


def region_polygons(regions: Regions) -> Polygons:
    """The regions of a two-dimensional domain, in its own coordinates."""
    found = all_vertices(regions)
    return Polygons.whole(around(found.points, found.offsets), found.offsets, np.arange(len(regions)))


def class_polygons(cells: ClassCells) -> Polygons:
    """The regions of a two-dimensional domain cut by class, each polygon with the region that it is a part of."""
    return replace(region_polygons(cells.parts), region=cells.regions)


def around(points: Floats, offsets: Indices) -> Floats:
    """The corners of convex polygons in the plane, each polygon's in order around it."""
    return points[around_order(points, offsets)]


def around_order(points: Floats, offsets: Indices) -> Indices:
    """That order."""
    if len(offsets) < 2:
        return np.arange(len(points))
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    away = points - (np.add.reduceat(points, offsets[:-1], axis=0) / counts[:, None])[owner]
    away = np.ldexp(away, -np.frexp(np.abs(away).max())[1])
    # Thin polygons are stretched along their own axes first, so that angles tell their corners apart.
    sizes, axes = np.linalg.eigh(np.add.reduceat(away[:, :, None] * away[:, None, :], offsets[:-1], axis=0))
    scale = np.sqrt(np.where(sizes > 0, sizes, 1.0))
    stretched = np.einsum("nd,ndk->nk", away, axes[owner]) / scale[owner]
    return np.lexsort((np.arctan2(stretched[:, 1], stretched[:, 0]), owner))


def clipped_to_rectangle(polygons: Polygons, lower: Floats, upper: Floats) -> Polygons:
    """What of the polygons lies between lower and upper."""
    for axis in range(2):
        polygons = polygons.beyond(axis, lower[axis], 1.0).beyond(axis, upper[axis], -1.0)
    return polygons
