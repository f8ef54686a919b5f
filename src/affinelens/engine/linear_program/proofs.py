"""Is there a point strictly on the stated side of each of these rows? A proved yes or a proved no.

A :class:`Ledger` holds the rows of one parent cell and answers that question for sets of (row, sign) conditions,
cheapest proof first:

1. *no*, because the conditions contain a combination already refuted (a circuit): three lines bound a triangle once,
   and every cell on the far side of it is refuted by the same multipliers;
2. *yes*, by a point whose margins exceed their error bounds; *no*, by multipliers whose combination is negative
   all over the domain in spite of rounding; both suggested by HiGHS;
3. whatever floating point leaves open, by the exact simplex, which answers *yes* with a rational point or *no* with
   rational multipliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, ExactProgram, Infeasible
from affinelens.arithmetic.highs import Ball, Solver
from affinelens.arithmetic.rational import fraction
from affinelens.array_types import Floats, Indices, Signs
from affinelens.engine.linear_program.interior_point import EMPTY, INSIDE, look_inside
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.problem import Problem

_NEGLIGIBLE_MULTIPLIER = 1e-11


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


@dataclass(frozen=True)
class Witness:
    """A point strictly inside, in float64 or rational where float64 has none."""

    point: Floats
    exact: tuple[Fraction, ...] | None = None


@dataclass(frozen=True, eq=False)
class Conditions:
    """Rows of a ledger, each with the side that is asked for; the same as two bit masks of row numbers."""

    rows: Indices
    signs: Signs
    positive: int
    negative: int

    @classmethod
    def all_positive(cls, count: int) -> Conditions:
        """The positive side of rows 0 .. count-1."""
        return cls(np.arange(count), np.ones(count, dtype=np.int8), (1 << count) - 1, 0)

    def joined(self, sides: dict[int, int]) -> Conditions:
        """These conditions and the given sides of further rows."""
        rows = np.concatenate([self.rows, np.fromiter(sides.keys(), np.int64, len(sides))])
        signs = np.concatenate([self.signs, np.fromiter(sides.values(), np.int8, len(sides))])
        positive, negative = self.positive, self.negative
        for row, sign in sides.items():
            if sign > 0:
                positive |= 1 << row
            else:
                negative |= 1 << row
        return Conditions(rows, signs, positive, negative)

    def flipped(self, position: int) -> Conditions:
        """The same conditions with one of them turned round."""
        signs = self.signs.copy()
        signs[position] = -signs[position]
        bit = 1 << int(self.rows[position])
        return Conditions(self.rows, signs, self.positive ^ bit, self.negative ^ bit)

    def same_as(self, other: Conditions) -> bool:
        return self.positive == other.positive and self.negative == other.negative


@dataclass(frozen=True, eq=False)
class _BoundsAndRows:
    """Conditions sorted into bounds of single coordinates (at positions ``axis``) and general rows (at ``general``)."""

    low: Floats
    high: Floats
    axis: Indices
    coordinate: Indices
    slope: Floats
    bound: Floats
    general: Indices
    normals: Floats
    offsets: Floats
    count: int

    def complete(self, ball: Ball, cost: Floats) -> Ball:
        """Give the bounds the multipliers that a solver leaves implicit.

        What the general rows leave over of the cost is borne by the bounds: on each coordinate by the tightest one of
        the side that pushes back.
        """
        needed = (cost - ball.multipliers @ self.normals)[self.coordinate] / self.slope
        stated = np.where(self.slope > 0, self.low[self.coordinate], self.high[self.coordinate])
        bearing = np.flatnonzero((self.bound == stated) & (needed > 0))
        bearing = bearing[np.unique(self.coordinate[bearing], return_index=True)[1]]
        multipliers = np.zeros(self.count)
        multipliers[self.general] = ball.multipliers
        multipliers[self.axis[bearing]] = needed[bearing]
        return Ball(ball.point, ball.radius, multipliers, ball.roomiest)


class Ledger:
    """Rows around a parent's center, in float64 and (on demand) exactly, with everything refuted so far.

    The first ``facets`` rows are the parent's facets, of which the first ``domain_facets`` come from the domain.
    """

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        tally: Tally,
        center: Floats,
        scale: float,
        rows: LocalRows,
        exact_rows: Callable[[], ExactMatrix],
        facets: int,
        domain_facets: int,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tally = tally
        self.center = center
        self.scale = scale
        self.rows = rows
        self._facets = facets
        self._domain_facets = (1 << domain_facets) - 1
        self._exact_source = exact_rows
        self._exact: ExactMatrix | None = None
        self._refuted: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._low, self._high = outward_box(problem.frame.lower, problem.frame.upper, center)
        self._trust_low, self._trust_high = _inward_box(problem.trust_low, problem.trust_high, center)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """A box of displacements that contains the domain."""
        return self._low, self._high

    @property
    def trust_box(self) -> tuple[Floats, Floats]:
        """A box of displacements on which the rows' error bounds hold."""
        return self._trust_low, self._trust_high

    @property
    def exact(self) -> ExactMatrix:
        """The rows as exact functions of the domain's coordinates."""
        if self._exact is None:
            self._exact = self._exact_source()
        return self._exact

    def trusted(self, points: Floats) -> NDArray[np.bool_]:
        """Which displacements lie in the trust box."""
        inside: NDArray[np.bool_] = np.all((points >= self._trust_low) & (points <= self._trust_high), axis=-1)
        return inside

    def known_empty(self, conditions: Conditions, row: int, sign: int) -> bool:
        """Whether a refuted combination that involves (row, sign) is among the conditions."""
        outside_positive, outside_negative = ~conditions.positive, ~conditions.negative
        for positive, negative in self._refuted[row, sign]:
            if not (positive & outside_positive or negative & outside_negative):
                self.tally.by_reuse += 1
                return True
        return False

    def values(self, points: Floats, conditions: Conditions) -> tuple[Floats, Floats]:
        """Margins of conditions at displacements (one a row) and bounds on their errors."""
        values, errors = self.rows.values(points)
        return values[:, conditions.rows] * conditions.signs, errors[:, conditions.rows]

    def find(self, conditions: Conditions) -> Witness | None:
        """A point strictly on the stated side of every row; None if there is none.

        In low dimension it is the Chebyshev center, if floating point can tell.
        """
        if self.problem.box_mode:
            ball = self._look_inside(conditions)
            witness, empty = self._proved(ball, conditions)
            if witness is not None or empty:
                return witness
        return self.settle(conditions)

    def settle(self, conditions: Conditions) -> Witness | None:
        """As :meth:`find`, for conditions that a short look has left open."""
        ball = self._largest_ball(conditions)
        witness, empty = self._proved(ball, conditions)
        if witness is not None or empty:
            return witness
        return self._find_exactly(conditions, ball)

    def _proved(self, ball: Ball | None, conditions: Conditions) -> tuple[Witness | None, bool]:
        """What a suggestion proves: a witness, or that there is none, or neither."""
        if ball is None:
            return None, False
        witness = self._strictly_inside(ball, conditions) if ball.radius > 0 else None
        return witness, witness is None and self._refutes(ball.multipliers, conditions)

    def least(self, cost: Floats, conditions: Conditions) -> Ball | None:
        """A place where ``cost @ w`` is least under the conditions, with multipliers; nothing of it is proved."""
        normals, offsets = self._signed(conditions)
        return self.solver.minimise(cost, normals, offsets, *self.box, self.scale)

    def _look_inside(self, conditions: Conditions) -> Ball | None:
        """What a short look suggests: a ball, or multipliers and no radius; or None if it is too close to tell."""
        parts = self._bounds_and_rows(conditions)
        if parts is None or not len(parts.offsets):
            return None
        self.solver.begin()
        count = len(parts.offsets)
        verdict, point, multipliers = look_inside(
            parts.normals, parts.offsets, np.arange(count), np.ones(count, dtype=np.int8), parts.low, parts.high
        )
        if verdict == INSIDE:
            return Ball(point, 1.0, np.zeros(len(conditions.rows)))
        if verdict == EMPTY:
            return parts.complete(Ball(point, 0.0, multipliers), np.zeros(self.problem.dim))
        return None

    def _largest_ball(self, conditions: Conditions) -> Ball | None:
        if self.problem.box_mode:
            parts = self._bounds_and_rows(conditions)
            if parts is None:
                return None
            ball = self.solver.largest_ball_in_box(parts.normals, parts.offsets, parts.low, parts.high, self.scale)
            return None if ball is None else parts.complete(ball, np.zeros(self.problem.dim))
        normals, offsets = self._signed(conditions)
        low, high = np.maximum(self._trust_low, -1e9 * self.scale), np.minimum(self._trust_high, 1e9 * self.scale)
        return self.solver.largest_ball(normals, offsets, low, high, self.scale)

    def _signed(self, conditions: Conditions) -> tuple[Floats, Floats]:
        signs = conditions.signs
        return self.rows.dense(conditions.rows) * signs[:, None], self.rows.offsets[conditions.rows] * signs

    def _bounds_and_rows(self, conditions: Conditions) -> _BoundsAndRows | None:
        """Conditions on single coordinates as a box, the others as rows; None if the box is empty."""
        axis, entry, general, member = self.split(conditions)
        coordinate = self.rows.coordinate[entry]
        slope = self.rows.slope[entry] * conditions.signs[axis]
        bound = -self.rows.offsets[self.rows.axis[entry]] / self.rows.slope[entry]
        low, high = self._trust_low.copy(), self._trust_high.copy()
        np.maximum.at(low, coordinate[slope > 0], bound[slope > 0])
        np.minimum.at(high, coordinate[slope < 0], bound[slope < 0])
        if np.any(low >= high):
            return None
        signs = conditions.signs[general]
        normals = self.rows.normals[member] * signs[:, None]
        offsets = self.rows.offsets[conditions.rows[general]] * signs
        count = len(conditions.rows)
        return _BoundsAndRows(low, high, axis, coordinate, slope, bound, general, normals, offsets, count)

    def split(self, conditions: Conditions) -> tuple[Indices, Indices, Indices, Indices]:
        """Conditions on axis rows: positions, and entries in ``rows.axis``; then the same of general rows."""
        place = np.full(len(self.rows), -1)
        place[conditions.rows] = np.arange(len(conditions.rows))
        axis, general = place[self.rows.axis], place[self.rows.general]
        entry, member = np.flatnonzero(axis >= 0), np.flatnonzero(general >= 0)
        return axis[entry], entry, general[member], member

    def _strictly_inside(self, ball: Ball, conditions: Conditions) -> Witness | None:
        """Prove that a float64 point satisfies the conditions strictly: by margins, or else exactly."""
        point = self.center + ball.point
        moved = point - self.center
        if not self.trusted(moved):
            return None
        values, errors = self.values(moved[None], conditions)
        if np.all(values > errors):
            self.tally.by_rounding_bound += 1
            return Witness(point)
        if np.any(values < -errors):
            return None
        if self._exactly_inside(ExactMatrix.from_floats(np.append(point, 1.0)), conditions):
            self.tally.by_exact_arithmetic += 1
            return Witness(point)
        return None

    def _exactly_inside(self, point: ExactMatrix, conditions: Conditions) -> bool:
        values = (self.exact.rows(conditions.rows.tolist()).numerators * point.numerators).entries()
        return all(value * sign > 0 for value, sign in zip(values, conditions.signs.tolist(), strict=True))

    def _refutes(self, multipliers: Floats, conditions: Conditions) -> bool:
        """Prove emptiness: no point of the box makes the multipliers' combination positive."""
        used = np.flatnonzero(multipliers > _NEGLIGIBLE_MULTIPLIER)
        rows, signs = conditions.rows[used], conditions.signs[used]
        weights = np.zeros(len(self.rows))
        weights[rows] = -multipliers[used] * signs
        if not self.rows.combination_bound(weights, *self._refutation_box(conditions)) > 0:  # NaN proves nothing
            return False
        self.tally.by_rounding_bound += 1
        self._remember(rows, signs)
        return True

    def _refutation_box(self, conditions: Conditions) -> tuple[Floats, Floats]:
        if self._leaves_domain(conditions):
            return outward_box(self.problem.trust_low, self.problem.trust_high, self.center)
        return self._low, self._high

    def _leaves_domain(self, conditions: Conditions) -> bool:
        return bool(conditions.negative & self._domain_facets)

    def _remember(self, rows: Sequence[int] | Indices, signs: Sequence[int] | Signs) -> None:
        """Keep a refuted combination for other cells of the same parent."""
        positive = negative = 0
        pairs = [(int(row), int(sign)) for row, sign in zip(rows, signs, strict=True)]
        for row, sign in pairs:
            if sign > 0:
                positive |= 1 << row
            else:
                negative |= 1 << row
        for row, sign in pairs:
            if sign < 0 or row >= self._facets:  # nobody asks for the positive side of a facet of the parent
                self._refuted[row, sign].append((positive, negative))

    def _find_exactly(self, conditions: Conditions, hint: Ball | None) -> Witness | None:
        """Maximise the smallest margin of the general rows over the rationals, in the box that the axis rows leave.

        The box has an interior, so a point of it at which general rows are positive can be moved inside with them.
        """
        self.tally.by_exact_arithmetic += 1
        axis, entry, general, _ = self.split(conditions)
        box = self._exact_box(conditions, axis, self.rows.coordinate[entry])
        if box is None:
            return None
        low, high, stated_by = box
        rows: list[list[fmpz]] = []
        for row, sign in zip(conditions.rows[general].tolist(), conditions.signs[general].tolist(), strict=True):
            rows.append([a * sign for a in self.exact.row(row)])
        dimension = self.problem.dim
        sizes = [max((abs(a) for a in row[:-1]), default=fmpz(0)) or fmpz(1) for row in rows]
        entries = [a for row, size in zip(rows, sizes, strict=True) for a in (*row[:-1], -size, row[-1])]
        program = ExactProgram(fmpz_mat(len(rows), dimension + 2, entries), [*low, fmpq(-1)], [*high, fmpq(1)])
        goal = [*[fmpz(0)] * dimension, fmpz(1)]
        start = self._basis_hint(hint, general, low, high)
        result = program.maximise(goal, start=start, enough=fmpq(0), checkpoint=self.solver.checkpoint)
        if isinstance(result, Infeasible) or result.value <= 0:
            used = [int(general[i]) for i in result.multipliers if i < len(rows)]
            used += [stated_by[i - len(rows)] for i in result.multipliers if i - len(rows) in stated_by]
            self._remember(conditions.rows[used], conditions.signs[used])
            return None
        return self._exact_witness(_moved_inside(result.point[:-1], rows, low, high), conditions)

    def _basis_hint(self, hint: Ball | None, general: Indices, low: list[fmpq], high: list[fmpq]) -> list[int] | None:
        """The basis that a floating-point solution stands for: rows with multipliers, and coordinates at a bound."""
        if hint is None:
            return None
        rows = np.flatnonzero(hint.multipliers[general] > _NEGLIGIBLE_MULTIPLIER).tolist()
        place = self.center + (hint.point if hint.roomiest is None else hint.roomiest)
        sides = np.array([[float(fraction(bound)) for bound in bounds] for bounds in (low, high)])
        gaps = np.abs(sides - place) / (sides[1] - sides[0])
        nearest_first = np.argsort(gaps.min(axis=0))
        held = nearest_first[: max(len(place) + 1 - len(rows), 0)]
        return [*rows, *(len(general) + 2 * k + int(gaps[1, k] < gaps[0, k]) for k in held.tolist())]

    def _exact_box(
        self, conditions: Conditions, axis: Indices, coordinate: Indices
    ) -> tuple[list[fmpq], list[fmpq], dict[int, int]] | None:
        """Exact bounds of every coordinate, and the condition that states lower bound 2 k or upper bound 2 k + 1."""
        outer = self.problem.trust_box if self._leaves_domain(conditions) else self.problem.box
        low, high = list(outer[0]), list(outer[1])
        stated_by: dict[int, int] = {}
        for position, k in zip(axis.tolist(), coordinate.tolist(), strict=True):
            row = self.exact.row(int(conditions.rows[position]))
            bound = fmpq(-row[-1], row[k])
            if row[k] * int(conditions.signs[position]) > 0:
                if bound >= low[k]:
                    low[k] = bound
                    stated_by[2 * k] = position
            elif bound <= high[k]:
                high[k] = bound
                stated_by[2 * k + 1] = position
        for k in range(self.problem.dim):
            if low[k] >= high[k]:
                used = [stated_by[i] for i in (2 * k, 2 * k + 1) if i in stated_by]
                self._remember(conditions.rows[used], conditions.signs[used])
                return None
        return low, high, stated_by

    def _exact_witness(self, point: list[fmpq], conditions: Conditions) -> Witness:
        """A rational interior point, or the float64 point nearest to it if that is inside too."""
        exact = tuple(fraction(value) for value in point)
        rounded = np.array([float(value) for value in exact])
        column = ExactMatrix.from_floats(np.append(rounded, 1.0))
        if self._exactly_inside(column, conditions) and self.trusted(rounded - self.center):
            return Witness(rounded)
        return Witness(rounded, exact)


def _moved_inside(point: list[fmpq], rows: list[list[fmpz]], low: list[fmpq], high: list[fmpq]) -> list[fmpq]:
    """Move a point at which all rows are positive toward the middle of its box, so far that they stay positive.

    A point that is inside the box already stays where it is.
    """
    if all(a < x < b for a, x, b in zip(low, point, high, strict=True)):
        return point
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]
    share = fmpq(1, 2)
    for row in rows:
        here = sum((a * x for a, x in zip(row[:-1], point, strict=True)), fmpq(row[-1]))
        there = sum((a * x for a, x in zip(row[:-1], middle, strict=True)), fmpq(row[-1]))
        if there <= 0:
            share = min(share, here / (here - there) / 2)
    return [x + share * (m - x) for x, m in zip(point, middle, strict=True)]


def outward_box(low: Floats, high: Floats, center: Floats) -> tuple[Floats, Floats]:
    """Displacements from the center, rounded so that nothing of the box is lost."""
    return np.nextafter(low - center, -np.inf), np.nextafter(high - center, np.inf)


def _inward_box(low: Floats, high: Floats, center: Floats) -> tuple[Floats, Floats]:
    return np.nextafter(low - center, np.inf), np.nextafter(high - center, -np.inf)
