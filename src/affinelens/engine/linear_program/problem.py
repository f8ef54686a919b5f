"""A network on a domain, in the forms that engines need, and the cells they find.

The *trust box* is the domain's bounding box enlarged by its own width on every side. Error bounds hold there, so that
a point just outside a face of the domain can still be used as a witness that the face is really there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import quotient, stack_rows
from affinelens.array_types import Floats, Indices, Pattern, Signs
from affinelens.domain import Frame
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.network import Network
from affinelens.network.enclosure import Enclosure
from affinelens.walk import Hyperplanes

# From this dimension on, most rows are bounds of single coordinates, and keeping those apart pays.
_BOX_MODE_FROM = 24


@dataclass(frozen=True, eq=False)
class Cell:
    """A full-dimensional cell of the first ``depth`` stages: where ``pattern`` holds.

    ``facets`` are numbers of :class:`affinelens.walk.Hyperplanes`. In high dimension some of them may be no facets,
    until the last stage. ``signs`` says on which side of each the cell lies. ``point``
    is interior in the frame's coordinates; where no float64 point is, ``exact_point`` holds a rational one and
    ``point`` is only its rounding.
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
        self.hyperplanes = Hyperplanes(network, frame)
        width = frame.upper - frame.lower
        self.trust_low = frame.lower - width
        self.trust_high = frame.upper + width
        self._reach = np.append(np.maximum(np.abs(self.trust_low), np.abs(self.trust_high)), 1.0)
        self._sources = [Enclosure.affine(frame.chart, self._reach)]
        self._pre_activations: list[Enclosure] = []
        self._parts: list[bytes] = []

    @property
    def dim(self) -> int:
        return self.frame.dim

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

    @cached_property
    def inner_box(self) -> tuple[Floats, Floats]:
        """Float64 bounds; a point strictly between them satisfies the domain's bounds on single coordinates strictly.

        In low dimension, where those bounds are general rows like all others, it is merely the domain's box.
        """
        low, high = self.frame.lower.copy(), self.frame.upper.copy()
        split = self._domain_split
        for row in np.flatnonzero(split.axis_place >= 0).tolist():
            k = int(split.coordinate[split.axis_place[row]])
            numerator, slope = self.frame.rows.entry(row, self.dim), self.frame.rows.entry(row, k)
            bound = -numerator / slope
            if slope > 0:
                low[k] = max(low[k], _rounded_up(bound))
            else:
                high[k] = min(high[k], -_rounded_up(-bound))
        return low, high

    @property
    def box_mode(self) -> bool:
        """Whether bounds of single coordinates are kept apart from general rows, as pays in high dimension."""
        return self.dim >= _BOX_MODE_FROM

    @cached_property
    def _domain_split(self) -> _DomainSplit:
        """The domain's rows as bounds of single coordinates and general rows; in low dimension all are general."""
        exact = self.frame.rows
        rows = exact.to_floats()
        single = np.count_nonzero(rows[:, :-1], axis=1) == 1
        axis = np.flatnonzero(single) if self.box_mode else np.zeros(0, dtype=np.int64)
        coordinate = np.abs(rows[axis, :-1]).argmax(axis=1)
        slope = rows[axis, coordinate]
        place = np.full(len(rows), -1)
        place[axis] = np.arange(len(axis))
        general = np.flatnonzero(place < 0)
        form = Enclosure.affine(self.frame.rows.rows(general.tolist()), self._reach)
        place_general = np.full(len(rows), -1)
        place_general[general] = np.arange(len(general))
        pairs = zip(axis.tolist(), coordinate.tolist(), strict=True)
        table = exact.numerators
        limits = np.array([quotient(int(table[i, self.dim]), abs(int(table[i, k]))) for i, k in pairs])
        return _DomainSplit(place, coordinate, np.sign(slope), limits, place_general, form)

    def forms(self, pattern: Pattern, depth: int) -> list[Enclosure]:
        """Pre-activations of stages 0 .. depth as affine functions, where the pattern of earlier stages holds.

        Neighboring cells share the pattern of their first stages; what the last call computed for those is kept.
        """
        parts = [self.network.stage_pattern(pattern, stage).tobytes() for stage in range(depth)]
        shared = next((i for i, (a, b) in enumerate(zip(parts, self._parts, strict=False)) if a != b), len(self._parts))
        shared = min(shared, depth)
        del self._parts[shared:], self._sources[shared + 1 :], self._pre_activations[shared + 1 :]
        while len(self._pre_activations) <= depth:
            done = len(self._pre_activations)
            if done:
                activation = self.network.stages[done - 1].activation
                part = self.network.stage_pattern(pattern, done - 1)
                self._sources.append(activation.select(self._pre_activations[-1], part))
                self._parts.append(parts[done - 1])
            self._pre_activations.append(self.network.stages[done].linear.propagate(self._sources))
        return list(self._pre_activations)

    def rows(self, forms: list[Enclosure], hyperplanes: Indices, center: Floats) -> LocalRows:
        """Functions of numbered hyperplanes (in increasing order) around a center, given the stages' forms."""
        split = self._domain_split
        domain = hyperplanes[self.hyperplanes.of_domain(hyperplanes)]
        on_axis = split.axis_place[domain]
        bounds = on_axis[on_axis >= 0]
        rows = LocalRows.bounds(split.coordinate[bounds], split.slope[bounds], split.limits[bounds], center)
        others = split.general_place[domain]
        general = [split.form[others[others >= 0]]]
        for stage, _, inner in self.hyperplanes.by_stage(hyperplanes, len(forms)):
            breaks = self.network.stages[stage].activation.breaks[inner]
            general.append(forms[stage].differences(breaks.plus, breaks.minus, breaks.threshold))
        joined = rows.joined(LocalRows.around(Enclosure.stacked(general), center))
        if len(bounds) in (0, len(domain)):
            return joined
        order = np.concatenate([np.flatnonzero(on_axis >= 0), np.flatnonzero(on_axis < 0)])
        return joined.moved(np.concatenate([order, np.arange(len(domain), len(hyperplanes))]))

    def exact_rows(self, forms: list[ExactMatrix], hyperplanes: Indices) -> ExactMatrix:
        """As :meth:`rows`, in rational arithmetic."""
        parts = [self.frame.rows.rows(hyperplanes[self.hyperplanes.of_domain(hyperplanes)].tolist())]
        for stage, _, inner in self.hyperplanes.by_stage(hyperplanes, len(forms)):
            breaks = self.network.stages[stage].activation.breaks
            parts.append(breaks[inner].exact(forms[stage]))
        return stack_rows(parts)


@dataclass(frozen=True, eq=False)
class _DomainSplit:
    """Where each domain row is: among the bounds of single coordinates, or (place -1 there) among the general rows."""

    axis_place: Indices
    coordinate: Indices
    slope: Floats
    limits: Floats
    general_place: Indices
    form: Enclosure


def _rounded_up(value: Fraction) -> float:
    """The least float64 that is not below a rational."""
    rounded = quotient(value.numerator, value.denominator)
    return rounded if rounded >= value else float(np.nextafter(rounded, np.inf))


def _rationals(values: Floats) -> list[fmpq]:
    return [fmpq(*value.as_integer_ratio()) for value in values.tolist()]
