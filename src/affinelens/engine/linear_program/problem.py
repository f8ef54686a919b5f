"""A network on a domain, in the forms that a search needs, and the cells it finds.

The *trust box* is the domain's bounding box enlarged by its own width on every side. Error bounds hold there, so that
a point just outside a face of the domain can still be used as a witness that the face is really there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.highs import Solver
from affinelens.arithmetic.rational import stack_rows
from affinelens.array_types import Floats, Indices, Pattern, Signs
from affinelens.domain import Frame
from affinelens.engine.linear_program.coordinate_bounds import CoordinateBounds, ExactSides
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.network import Network
from affinelens.network.enclosure import Enclosure
from affinelens.walk import Hyperplanes

# From this dimension on, most rows are bounds of single coordinates, and keeping those apart pays.
_BOX_MODE_FROM = 24


@dataclass(frozen=True)
class Witness:
    """A point strictly inside; where no float64 point is, ``exact`` is a rational one and ``point`` its rounding."""

    point: Floats
    exact: tuple[Fraction, ...] | None = None

    def rational(self) -> list[Fraction]:
        """The point, exactly."""
        return list(self.exact) if self.exact is not None else [Fraction(v) for v in self.point.tolist()]


@dataclass(frozen=True, eq=False)
class Cell:
    """A full-dimensional cell of the first ``depth`` stages: where ``pattern`` holds.

    ``facets`` are numbers of :class:`affinelens.walk.Hyperplanes`, in increasing order. In high dimension some of them
    may be no facets, until the last stage. ``signs`` says on which side of each the cell lies. ``inside`` is a point of
    the interior in the frame's coordinates.
    """

    depth: int
    pattern: Pattern
    facets: Indices
    signs: Signs
    inside: Witness


@dataclass
class Tally:
    """How verdicts were reached; ``programs`` counts what helper processes solved."""

    programs: int = 0
    by_rounding_bound: int = 0
    by_reuse: int = 0
    by_exact_arithmetic: int = 0

    def add(self, other: Tally) -> None:
        self.programs += other.programs
        self.by_rounding_bound += other.by_rounding_bound
        self.by_reuse += other.by_reuse
        self.by_exact_arithmetic += other.by_exact_arithmetic


class Problem:
    """What stays the same while one process searches: the network, the domain, the solver; and how it decided so far.

    ``checkpoint`` is called before each program, and may raise to stop a long search.
    """

    def __init__(self, network: Network, frame: Frame, checkpoint: Callable[[], None] = lambda: None) -> None:
        self.network = network
        self.frame = frame
        self.hyperplanes = Hyperplanes(network, frame)
        self.solver = Solver(checkpoint)
        self.tally = Tally()
        width = frame.upper - frame.lower
        self.box = frame.lower, frame.upper
        self.trust_box = frame.lower - width, frame.upper + width
        self._reach = np.append(np.maximum(*map(np.abs, self.trust_box)), 1.0)
        self._sources = [Enclosure.affine(frame.chart, self._reach)]
        self._pre_activations: list[Enclosure] = []
        self._parts: list[bytes] = []

    @property
    def dim(self) -> int:
        return self.frame.dim

    @property
    def box_mode(self) -> bool:
        """Whether bounds of single coordinates are kept apart from other rows, as pays in high dimension."""
        return self.dim >= _BOX_MODE_FROM

    @cached_property
    def samples(self) -> Floats:
        """A few points spread over the domain's box, the same in every run."""
        generator = np.random.default_rng(0)
        spread = generator.random((min(self.dim + 1, 12) + 2, self.dim))
        return self.frame.lower + spread * (self.frame.upper - self.frame.lower)

    @cached_property
    def exact_boxes(self) -> tuple[ExactSides, ExactSides]:
        """The domain's box, and the trust box."""
        return _exactly(self.box), _exactly(self.trust_box)

    @cached_property
    def bounds(self) -> CoordinateBounds:
        """Those rows of the domain that are kept apart."""
        rows = self.frame.rows
        coefficients = rows.to_floats()[:, :-1]
        single = np.flatnonzero((np.count_nonzero(coefficients, axis=1) == 1) & self.box_mode)
        if rows.source is None:  # some coefficients may be too small for float64
            single = np.array([i for i in single.tolist() if sum(map(bool, rows.row(i)[:-1])) == 1], dtype=np.int64)
        return CoordinateBounds.of(rows, single, np.abs(coefficients[single]).argmax(axis=1))

    def split(self, hyperplanes: Indices) -> tuple[CoordinateBounds, Indices | slice]:
        """Bounds among numbered hyperplanes, and the places of the others."""
        if not len(self.bounds):
            return self.bounds, slice(None)
        is_bound = np.isin(hyperplanes, self.bounds.numbers)
        chosen = np.searchsorted(self.bounds.numbers, hyperplanes[is_bound])
        return self.bounds[chosen], np.flatnonzero(~is_bound)

    @cached_property
    def _other_rows(self) -> tuple[Indices, Enclosure]:
        """The other rows of the domain, and where each is among them."""
        others = np.setdiff1d(np.arange(self.hyperplanes.domain_count), self.bounds.numbers)
        place = np.full(self.hyperplanes.domain_count, -1)
        place[others] = np.arange(len(others))
        return place, Enclosure.affine(self.frame.rows.rows(others.tolist()), self._reach)

    def forms(self, pattern: Pattern, depth: int) -> list[Enclosure]:
        """Pre-activations of stages 0 .. depth as affine functions, where the pattern of earlier stages holds.

        Neighboring cells share the pattern of their first stages; what the last call computed for those is kept.
        """
        parts = [self.network.stage_pattern(pattern, stage).tobytes() for stage in range(depth)]
        shared = next((i for i, (a, b) in enumerate(zip(parts, self._parts, strict=False)) if a != b), len(self._parts))
        shared = min(shared, depth)
        del self._parts[shared:], self._sources[shared + 1 :], self._pre_activations[shared + 1 :]
        for done in range(len(self._pre_activations), min(depth + 1, len(self.network.stages))):
            if done:
                activation = self.network.stages[done - 1].activation
                part = self.network.stage_pattern(pattern, done - 1)
                self._sources.append(activation.select(self._pre_activations[-1], part))
                self._parts.append(parts[done - 1])
            self._pre_activations.append(self.network.stages[done].linear.propagate(self._sources))
        return list(self._pre_activations)

    def rows(self, forms: list[Enclosure], hyperplanes: Indices, center: Floats) -> LocalRows:
        """Functions of numbered hyperplanes (in increasing order) around a center, given the stages' forms."""
        place, others = self._other_rows
        parts = [others[place[hyperplanes[self.hyperplanes.of_domain(hyperplanes)]]]]
        for stage, _, inner in self.hyperplanes.by_stage(hyperplanes, len(forms)):
            breaks = self.network.stages[stage].activation.breaks[inner]
            parts.append(forms[stage].differences(breaks.plus, breaks.minus, breaks.threshold))
        return LocalRows.around(Enclosure.stacked(parts), center)

    def exact_rows(self, forms: list[ExactMatrix], hyperplanes: Indices) -> ExactMatrix:
        """As :meth:`rows`, in rational arithmetic."""
        parts = [self.frame.rows.rows(hyperplanes[self.hyperplanes.of_domain(hyperplanes)].tolist())]
        for stage, _, inner in self.hyperplanes.by_stage(hyperplanes, len(forms)):
            breaks = self.network.stages[stage].activation.breaks
            parts.append(breaks[inner].exact(forms[stage]))
        return stack_rows(parts)


def _exactly(box: tuple[Floats, Floats]) -> ExactSides:
    low, high = ([fmpq(*value.as_integer_ratio()) for value in side.tolist()] for side in box)
    return low, high
