"""A network on a domain, in the forms that engines need, and the cells they find.

The *trust box* is the domain's bounding box enlarged by its own width on every side. Error bounds hold there, so that
a point just outside a face of the domain can still be used as a witness that the face is really there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import stack_rows
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.network.enclosure import Enclosure

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Signs = NDArray[np.int8]
Pattern = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Cell:
    """A full-dimensional cell of the first ``depth`` stages: where ``pattern`` holds.

    ``facets`` numbers hyperplanes: rows of the frame first, then the breaks of all stages in order. ``signs`` says on
    which side of each the cell lies. ``point`` is interior in the frame's coordinates; where no float64 point is,
    ``exact_point`` holds a rational one and ``point`` is only its rounding.
    """

    depth: int
    pattern: Pattern
    facets: Indices
    signs: Signs
    point: Floats
    exact_point: tuple[Fraction, ...] | None = None

    def rational_point(self) -> list[Fraction]:
        """The interior point, exactly."""
        return list(self.exact_point) if self.exact_point is not None else [Fraction(v) for v in self.point.tolist()]


class Problem:
    """What stays the same during one enumeration."""

    def __init__(self, network: Network, frame: Frame) -> None:
        self.network = network
        self.frame = frame
        width = frame.upper - frame.lower
        self.trust_low = frame.lower - width
        self.trust_high = frame.upper + width
        reach = np.append(np.maximum(np.abs(self.trust_low), np.abs(self.trust_high)), 1.0)
        self.chart = Enclosure.affine(frame.chart, reach)
        self.domain_rows = Enclosure.affine(frame.rows, reach)

    @property
    def dim(self) -> int:
        return self.frame.dim

    @property
    def domain_count(self) -> int:
        """Number of domain rows: hyperplane numbers from here on are breaks."""
        return self.frame.rows.shape[0]

    @cached_property
    def samples(self) -> Floats:
        """A few points spread over the domain's box, the same in every run."""
        generator = np.random.default_rng(0)
        spread = generator.random((min(self.dim + 1, 12) + 2, self.dim))
        return self.frame.lower + spread * (self.frame.upper - self.frame.lower)

    @cached_property
    def box(self) -> tuple[list[fmpq], list[fmpq]]:
        """The domain's box in rationals."""
        return _rationals(self.frame.lower), _rationals(self.frame.upper)

    @cached_property
    def trust_box(self) -> tuple[list[fmpq], list[fmpq]]:
        return _rationals(self.trust_low), _rationals(self.trust_high)

    def rows(self, forms: list[Enclosure], hyperplanes: Indices) -> Enclosure:
        """Affine functions of numbered hyperplanes (in increasing order), given the stages' forms."""
        parts = [self.domain_rows[hyperplanes[hyperplanes < self.domain_count]]]
        for stage, inner in self._by_stage(hyperplanes, len(forms)):
            breaks = self.network.stages[stage].activation.breaks
            parts.append(forms[stage].differences(breaks.plus[inner], breaks.minus[inner], breaks.threshold[inner]))
        return Enclosure.stacked(parts)

    def exact_rows(self, forms: list[ExactMatrix], hyperplanes: Indices) -> ExactMatrix:
        """As :meth:`rows`, in rational arithmetic."""
        parts = [self.frame.rows.rows(hyperplanes[hyperplanes < self.domain_count].tolist())]
        for stage, inner in self._by_stage(hyperplanes, len(forms)):
            breaks = self.network.stages[stage].activation.breaks
            parts.append(breaks[inner].exact(forms[stage]))
        return stack_rows(parts)

    def _by_stage(self, hyperplanes: Indices, stages: int) -> list[tuple[int, Indices]]:
        found = []
        for stage in range(stages if stages <= len(self.network.stages) else len(self.network.stages)):
            first = self.domain_count + self.network.break_offsets[stage]
            last = self.domain_count + self.network.break_offsets[stage + 1]
            inner = hyperplanes[(hyperplanes >= first) & (hyperplanes < last)] - first
            if len(inner):
                found.append((stage, inner))
        return found


def _rationals(values: Floats) -> list[fmpq]:
    return [fmpq(*value.as_integer_ratio()) for value in values.tolist()]
