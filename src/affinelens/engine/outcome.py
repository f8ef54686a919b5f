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

    def to_json(self) -> dict[str, Any]:
        """The counts and the sentence, as plain data."""
        return {**asdict(self), "proves": self.proves}


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


ProgressFunction = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Columns:
    """Regions as columns, in the frame's coordinates.

    Facets of region i are ``facets[offsets[i]:offsets[i + 1]]`` (numbered as in
    :class:`affinelens.engine.problem.Cell`) with the side in ``facet_signs``; its vertices, if they were asked for, are
    ``vertices[vertex_offsets[i]:vertex_offsets[i + 1]]``. ``exact_points`` holds rational interior points for the
    regions too thin to contain a float64 one.
    """

    patterns: NDArray[np.unsignedinteger[Any]]
    points: Floats
    facets: NDArray[np.int64]
    facet_signs: NDArray[np.int8]
    offsets: NDArray[np.int64]
    exact_points: dict[int, tuple[Fraction, ...]] = field(default_factory=dict)
    vertices: Floats | None = None
    vertex_offsets: NDArray[np.int64] | None = None

    @classmethod
    def empty(cls, choices: int, dim: int, pattern_type: np.dtype[np.unsignedinteger[Any]]) -> Columns:
        """No regions."""
        none = np.zeros(0, dtype=np.int64)
        return cls(
            np.zeros((0, choices), pattern_type), np.zeros((0, dim)), none, none.astype(np.int8), np.zeros(1, np.int64)
        )

    def __len__(self) -> int:
        return len(self.points)

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """The regions of all parts, in order."""
        if len(parts) == 1:
            return parts[0]
        starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()
        exact = {
            start + i: point for start, part in zip(starts, parts, strict=False) for i, point in part.exact_points.items()
        }
        vertices = [part.vertices for part in parts if part.vertices is not None]
        vertex_offsets = [part.vertex_offsets for part in parts if part.vertex_offsets is not None]
        return cls(
            np.concatenate([part.patterns for part in parts]),
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.facets for part in parts]),
            np.concatenate([part.facet_signs for part in parts]),
            _joined_offsets([part.offsets for part in parts]),
            exact,
            np.concatenate(vertices) if vertices else None,
            _joined_offsets(vertex_offsets) if vertices else None,
        )


def _joined_offsets(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part) for part in parts]))]).astype(np.int64)


Sink = Callable[[Columns], Any]


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a walk ended and what it found.

    ``columns`` holds the regions, or says how to read them if they went elsewhere. ``chunks`` is what the sink made of
    each part of them, in order. ``share`` is how much of the domain's volume the regions cover, where that is known.
    """

    engine: str
    status: Status
    certificate: Certificate
    layer_counts: tuple[int, ...]
    seconds: float
    columns: Columns | Callable[[], Columns]
    chunks: tuple[Any, ...] = ()
    share: float | None = None

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

    @property
    def points(self) -> Floats:
        return self.table.points

    @property
    def facets(self) -> NDArray[np.int64]:
        return self.table.facets

    @property
    def facet_signs(self) -> NDArray[np.int8]:
        return self.table.facet_signs

    @property
    def offsets(self) -> NDArray[np.int64]:
        return self.table.offsets

    @property
    def exact_points(self) -> dict[int, tuple[Fraction, ...]]:
        return self.table.exact_points
