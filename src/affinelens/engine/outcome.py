"""What an engine returns: columns of regions, how the walk ended, and how its verdicts were proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.restrict import Kept

Floats = NDArray[np.float64]


class Status(Enum):
    """How a walk ended; the value is the sentence shown to the user."""

    COMPLETE = "complete: every region was found"
    REGION_LIMIT = "incomplete: stopped at max_regions; raise it to find more"
    TIME_LIMIT = "incomplete: stopped at the time limit; raise it, or ask for a smaller domain"
    CANCELLED = "incomplete: stopped by the user; what was found so far is kept"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Certificate:
    """How the verdicts behind a result were reached, and what they prove."""

    decisions: int
    by_rounding_bound: int
    by_reuse: int
    by_exact_arithmetic: int
    linear_programs: int
    complete: bool

    @property
    def proves(self) -> str:
        """What is therefore true, in a sentence."""
        if self.complete:
            found = "these are all the full-dimensional regions, each of them non-empty and distinct"
        else:
            found = "each of these regions is full-dimensional and distinct; others may exist"
        return f"{found}; no verdict rests on a tolerance"

    def __add__(self, other: Certificate) -> Certificate:
        """That of two results together."""
        return Certificate(
            self.decisions + other.decisions,
            self.by_rounding_bound + other.by_rounding_bound,
            self.by_reuse + other.by_reuse,
            self.by_exact_arithmetic + other.by_exact_arithmetic,
            self.linear_programs + other.linear_programs,
            complete=self.complete and other.complete,
        )

    def to_json(self) -> dict[str, Any]:
        """The counts and the sentence, as plain data."""
        return {**asdict(self), "proves": self.proves}


NO_DECISIONS = Certificate(0, 0, 0, 0, 0, complete=True)


@dataclass(frozen=True)
class Limits:
    """When to stop early, and with how many processes to work."""

    max_regions: int | None = None
    time_limit: float | None = None
    workers: int = 1


@dataclass(frozen=True)
class Progress:
    """A snapshot of a walk, handed to the caller's progress function."""

    regions: int
    layer_counts: tuple[int, ...]
    seconds: float
    note: str = ""


def shown_counts(counts: Sequence[int], room: int) -> str:
    """Counts stage by stage in at most so many characters: the first and as many of the last as fit, or nothing."""
    texts = [f"{count:,}" for count in counts]
    for left_out in range(len(texts) - 1):
        shown = texts if left_out == 0 else [texts[0], "...", *texts[1 + left_out :]]
        line = " -> ".join(shown)
        if len(line) <= room:
            return line
    return texts[-1] if texts and len(texts[-1]) <= room else ""


ProgressFunction = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Facets:
    """Those of region i are ``numbers[offsets[i]:offsets[i + 1]]``, with the region's side of each in ``signs``.

    Hyperplanes are numbered as in :class:`affinelens.engine.problem.Cell`. Where vertices were found with them,
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
        counts = np.diff(self.offsets)[regions]
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = np.arange(offsets[-1]) + np.repeat(self.offsets[regions] - offsets[:-1], counts)
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
        """The regions of all parts, in order."""
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


def _joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))]).astype(np.int64)


Sink = Callable[[Columns], Any]


@dataclass(frozen=True, eq=False)
class Switching:
    """Which of a network's choices patterns are kept for, and the pattern in which the others stay the same."""

    choices: NDArray[np.int64]
    pattern: NDArray[np.unsignedinteger[Any]]

    def whole(self, patterns: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.unsignedinteger[Any]]:
        """Patterns of all choices."""
        result = np.broadcast_to(self.pattern, (*patterns.shape[:-1], len(self.pattern))).copy()
        result[..., self.choices] = patterns
        return result

    def pieces(
        self, patterns: NDArray[np.unsignedinteger[Any]], choices: NDArray[np.int64]
    ) -> NDArray[np.unsignedinteger[Any]]:
        """Patterns of some choices."""
        place = np.searchsorted(self.choices, choices)
        kept = np.append(self.choices, -1)[place] == choices
        result = np.tile(self.pattern[choices], (len(patterns), 1))
        result[:, kept] = patterns[:, place[kept]]
        return result


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a walk ended and what it found.

    ``columns`` holds the regions, or says how to read them if they went elsewhere. ``chunks`` is what the sink made of
    each part of them, in order. ``share`` is how much of the domain's volume the regions cover, where that is known.
    ``switching`` says which choices patterns are kept for, if not for all, and ``kept`` is the part of the network
    that was walked, if not all of it.
    """

    engine: str
    status: Status
    certificate: Certificate
    layer_counts: tuple[int, ...]
    seconds: float
    columns: Columns | Callable[[], Columns]
    chunks: tuple[Any, ...] = ()
    share: float | None = None
    switching: Switching | None = None
    kept: Kept | None = None

    @property
    def regions(self) -> int:
        return self.layer_counts[-1] if self.layer_counts else 0

    @cached_property
    def table(self) -> Columns:
        """The columns, read if need be."""
        return self.columns if isinstance(self.columns, Columns) else self.columns()

    @property
    def patterns(self) -> NDArray[np.unsignedinteger[Any]]:
        return self.table.patterns

    def pieces(self, choices: NDArray[np.int64]) -> NDArray[np.unsignedinteger[Any]]:
        """The regions' pieces of some of the network's choices, whether patterns are kept for them or not."""
        return self.patterns[:, choices] if self.switching is None else self.switching.pieces(self.patterns, choices)

    @property
    def points(self) -> Floats:
        return self.table.points

    @property
    def exact_points(self) -> dict[int, tuple[Fraction, ...]]:
        return self.table.exact_points
