"""What an engine returns: columns of regions, how the walk ended, and how its verdicts were proved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import Enum
from fractions import Fraction
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


ProgressFunction = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """Regions as columns, in the frame's coordinates.

    Facets of region i are ``facets[offsets[i]:offsets[i + 1]]`` (numbered as in
    :class:`affinelens.engine.problem.Cell`) with the side in ``facet_signs``. ``exact_points`` holds rational
    interior points for the regions too thin to contain a float64 one.
    """

    engine: str
    status: Status
    certificate: Certificate
    layer_counts: tuple[int, ...]
    seconds: float
    patterns: NDArray[np.unsignedinteger[Any]]
    points: Floats
    facets: NDArray[np.int64]
    facet_signs: NDArray[np.int8]
    offsets: NDArray[np.int64]
    exact_points: dict[int, tuple[Fraction, ...]] = field(default_factory=dict)

    @property
    def regions(self) -> int:
        return self.layer_counts[-1] if self.layer_counts else 0
