"""Regions as columns: what engines write down, and what everything behind them reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats


@dataclass(frozen=True, eq=False)
class Facets:
    """Those of region i are ``numbers[offsets[i]:offsets[i + 1]]``, with the region's side of each in ``signs``.

    Hyperplanes are numbered as in :class:`affinelens.walk.Hyperplanes`. Where vertices were found with them,
    ``bits`` says which bit of the vertices' ``tight`` stands for each facet.
    """

    numbers: NDArray[np.int64]
    signs: NDArray[np.int8]
    offsets: NDArray[np.int64]
    bits: NDArray[np.int32] | None = None

    def __getitem__(self, rows: slice) -> Facets:
        offsets = self.offsets[rows.start : rows.stop + 1]
        inner = slice(int(offsets[0]), int(offsets[-1]))
        bits = None if self.bits is None else self.bits[inner]
        return Facets(self.numbers[inner], self.signs[inner], offsets - offsets[0], bits)

    def taken(self, regions: NDArray[np.int64]) -> Facets:
        """Those of some regions, in the order given."""
        rows, offsets = _taken_rows(self.offsets, regions)
        return Facets(self.numbers[rows], self.signs[rows], offsets, None if self.bits is None else self.bits[rows])

    @classmethod
    def joined(cls, parts: Sequence[Facets]) -> Facets:
        bits = [part.bits for part in parts if part.bits is not None]
        return cls(
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.signs for part in parts]),
            _joined_offsets([part.offsets for part in parts]),
            np.concatenate(bits) if len(bits) == len(parts) else None,
        )


@dataclass(frozen=True, eq=False)
class Vertices:
    """Those of region i are ``points[offsets[i]:offsets[i + 1]]``, in the frame's coordinates.

    Bit b of a row of ``tight`` says that the vertex lies on the b-th hyperplane of its region: numbers that mean
    nothing outside the region, but tell which vertices share a facet.
    """

    points: Floats
    tight: NDArray[np.uint64]
    offsets: NDArray[np.int64]

    def __getitem__(self, rows: slice) -> Vertices:
        offsets = self.offsets[rows.start : rows.stop + 1]
        inner = slice(int(offsets[0]), int(offsets[-1]))
        return Vertices(self.points[inner], self.tight[inner], offsets - offsets[0])

    def taken(self, regions: NDArray[np.int64]) -> Vertices:
        """Those of some regions, in the order given."""
        rows, offsets = _taken_rows(self.offsets, regions)
        return Vertices(self.points[rows], self.tight[rows], offsets)

    @classmethod
    def joined(cls, parts: Sequence[Vertices]) -> Vertices:
        words = max(part.tight.shape[1] for part in parts)
        tight = [np.pad(part.tight, ((0, 0), (0, words - part.tight.shape[1]))) for part in parts]
        return cls(
            np.concatenate([part.points for part in parts]),
            np.concatenate(tight),
            _joined_offsets([part.offsets for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class Columns:
    """Regions as columns, in the frame's coordinates.

    ``exact_points`` holds rational interior points for the regions too thin to contain a float64 one. Facets and
    vertices are there if they were asked for.
    """

    patterns: NDArray[np.unsignedinteger[Any]]
    points: Floats
    exact_points: dict[int, tuple[Fraction, ...]] = field(default_factory=dict)
    facets: Facets | None = None
    vertices: Vertices | None = None

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: slice) -> Columns:
        """A run of regions."""
        start, stop, _ = rows.indices(len(self))
        exact = {i - start: point for i, point in self.exact_points.items() if start <= i < stop}
        return Columns(
            self.patterns[start:stop],
            self.points[start:stop],
            exact,
            None if self.facets is None else self.facets[start:stop],
            None if self.vertices is None else self.vertices[start:stop],
        )

    def taken(self, regions: NDArray[np.int64]) -> Columns:
        """Some regions, in the order given."""
        exact = {i: self.exact_points[row] for i, row in enumerate(regions.tolist()) if row in self.exact_points}
        return Columns(
            self.patterns[regions],
            self.points[regions],
            exact,
            None if self.facets is None else self.facets.taken(regions),
            None if self.vertices is None else self.vertices.taken(regions),
        )

    @classmethod
    def of_no_regions(
        cls, choices: int, dim: int, kind: np.dtype[np.unsignedinteger[Any]], *, facets: bool, vertices: bool
    ) -> Columns:
        none, start = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return cls(
            np.zeros((0, choices), dtype=kind),
            np.zeros((0, dim)),
            {},
            Facets(none, none.astype(np.int8), start, none.astype(np.int32) if vertices else None) if facets else None,
            Vertices(np.zeros((0, dim)), np.zeros((0, 1), dtype=np.uint64), start) if vertices else None,
        )

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """The regions of all parts, of which there is one at least, in order; of a single one nothing is copied."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        exact = {
            start + i: point
            for start, part in zip(starts, parts, strict=False)
            for i, point in part.exact_points.items()
        }
        facets = [part.facets for part in parts if part.facets is not None]
        vertices = [part.vertices for part in parts if part.vertices is not None]
        return cls(
            np.concatenate([part.patterns for part in parts]),
            np.concatenate([part.points for part in parts]),
            exact,
            Facets.joined(facets) if facets else None,
            Vertices.joined(vertices) if vertices else None,
        )


class JoinedLater:
    """Parts that are put together when somebody looks at them, once: that takes as long as to write them again."""

    def __init__(self, parts: Sequence[Columns]) -> None:
        self._parts = parts

    def __call__(self) -> Columns:
        joined = Columns.joined(self._parts)
        self._parts = (joined,)
        return joined


def _taken_rows(offsets: NDArray[np.int64], regions: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the entries of some regions are, and where each region's begin among these."""
    counts = np.diff(offsets)[regions]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return np.arange(starts[-1]) + np.repeat(offsets[regions] - starts[:-1], counts), starts


def _joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))]).astype(np.int64)
