"""Is there a point strictly on the stated side of each of these rows? A proved yes or a proved no.

A :class:`Ledger` holds the rows of one parent cell and answers that question for sets of (row, sign) conditions, cheapest proof first:

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
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, ExactProgram, Infeasible
from affinelens.arithmetic.rational import fraction
from affinelens.engine.local_rows import LocalRows
from affinelens.engine.problem import Problem
from affinelens.engine.solver import Ball, Solver

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Signs = NDArray[np.int8]
_NEGLIGIBLE_MULTIPLIER = 1e-11
# From this dimension on, bounds of single coordinates enter programs as variable bounds instead of rows.
_BOX_MODE_FROM = 24


@dataclass
class Tally:
    """How verdicts were reached."""

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
    """A point strictly inside: as a displacement in float64, or rational where float64 has none."""

    point: Floats
    exact: tuple[Fraction, ...] | None = None


@dataclass
class Conditions:
    """Rows of a ledger, each with the side that is asked for."""

    rows: Indices
    signs: Signs
    positive: int = field(init=False)
    negative: int = field(init=False)

    def __post_init__(self) -> None:
        self.positive = _mask(self.rows[self.signs > 0])
        self.negative = _mask(self.rows[self.signs < 0])

    def flipped(self, position: int) -> Conditions:
        """The same conditions with one of them turned round."""
        signs = self.signs.copy()
        signs[position] = -signs[position]
        return Conditions(self.rows, signs)


def _mask(rows: Indices) -> int:
    mask = 0
    for row in rows.tolist():
        mask |= 1 << row
    return mask


class Ledger:
    """Rows around a parent's centre, in float64 and (on demand) exactly, with everything refuted so far."""

    def __init__(
        self,
        problem: Problem,
        solver: Solver,
        tally: Tally,
        centre: Floats,
        scale: float,
        rows: LocalRows,
        exact_rows: Callable[[], ExactMatrix],
        domain_rows: int,
    ) -> None:
        self.problem = problem
        self.solver = solver
        self.tally = tally
        self.centre = centre
        self.scale = scale
        self.rows = rows
        self.domain_rows = domain_rows
        self._exact_source = exact_rows
        self._exact: ExactMatrix | None = None
        self._refuted: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._low, self._high = _outward_box(problem.frame.lower, problem.frame.upper, centre)
        self._trust_low, self._trust_high = _inward_box(problem.trust_low, problem.trust_high, centre)

    @property
    def box(self) -> tuple[Floats, Floats]:
        """A box of displacements that contains the domain."""
        return self._low, self._high

    @property
    def exact(self) -> ExactMatrix:
        """The rows as exact functions of the domain's coordinates."""
        if self._exact is None:
            self._exact = self._exact_source()
        return self._exact

    def trusted(self, points: Floats) -> NDArray[np.bool_]:
        """Which displacements lie in the trust box."""
        return np.all((points >= self._trust_low) & (points <= self._trust_high), axis=-1)

    def known_empty(self, conditions: Conditions, row: int, sign: int) -> bool:
        """Whether a refuted combination that involves (row, sign) is among the conditions."""
        outside_positive, outside_negative = ~conditions.positive, ~conditions.negative
        for positive, negative in self._refuted[row, sign]:
            if not (positive & outside_positive or negative & outside_negative):
                self.tally.by_reuse += 1
                return True
        return False

    def find(self, conditions: Conditions) -> Witness | None:
        """A point strictly on the stated side of every row, preferably the Chebyshev centre; None if there is none."""
        ball = self._largest_ball(conditions)
        if ball is not None:
            witness = self._strictly_inside(ball.point, conditions)
            if witness is not None:
                return witness
            if self._refutes(ball.multipliers, conditions):
                return None
        return self._find_exactly(conditions)

    def _largest_ball(self, conditions: Conditions) -> Ball | None:
        chosen = self.rows[conditions.rows].signed(conditions.signs)
        self.tally.programs += 1
        if self.problem.dim < _BOX_MODE_FROM:
            low, high = np.maximum(self._trust_low, -1e9 * self.scale), np.minimum(self._trust_high, 1e9 * self.scale)
            return self.solver.largest_ball(chosen.normals, chosen.offsets, low, high, self.scale)
        return self._largest_ball_in_box(chosen)

    def _largest_ball_in_box(self, chosen: LocalRows) -> Ball | None:
        axis, general = _axis_rows(chosen.normals)
        low, high = self._trust_low.copy(), self._trust_high.copy()
        coordinate = np.abs(chosen.normals[axis]).argmax(axis=1)
        slope = chosen.normals[axis, coordinate]
        bound = -chosen.offsets[axis] / slope
        np.maximum.at(low, coordinate[slope > 0], bound[slope > 0])
        np.minimum.at(high, coordinate[slope < 0], bound[slope < 0])
        if np.any(low >= high):
            return None
        ball = self.solver.largest_ball_in_box(
            chosen.normals[general], chosen.offsets[general], low, high, self.scale
        )
        if ball is None:
            return None
        multipliers = np.zeros(len(chosen))
        multipliers[general] = ball.multipliers
        left_over = ball.multipliers @ chosen.normals[general]
        needed = -left_over[coordinate] / slope
        multipliers[axis] = np.maximum(needed, 0.0)
        return Ball(ball.point, ball.radius, multipliers)

    def _strictly_inside(self, displacement: Floats, conditions: Conditions) -> Witness | None:
        """Prove that a float64 point satisfies the conditions strictly: by margins, or else exactly."""
        point = self.centre + displacement
        moved = point - self.centre
        if not self.trusted(moved):
            return None
        chosen = self.rows[conditions.rows].signed(conditions.signs)
        values, errors = chosen.values(moved[None])
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
        weights = np.where(multipliers > _NEGLIGIBLE_MULTIPLIER, multipliers, 0.0)
        used = np.flatnonzero(weights)
        if not len(used):
            return False
        low, high = self._refutation_box(conditions)
        rows = conditions.rows[used]
        bound = self.rows[rows].combination_bound(-weights[used] * conditions.signs[used], low, high)
        if bound <= 0:
            return False
        self.tally.by_rounding_bound += 1
        self._remember(rows, conditions.signs[used])
        return True

    def _refutation_box(self, conditions: Conditions) -> tuple[Floats, Floats]:
        if self._leaves_domain(conditions):
            return _outward_box(self.problem.trust_low, self.problem.trust_high, self.centre)
        return self._low, self._high

    def _leaves_domain(self, conditions: Conditions) -> bool:
        return bool(conditions.negative & ((1 << self.domain_rows) - 1))

    def _remember(self, rows: Sequence[int] | Indices, signs: Sequence[int] | Signs) -> None:
        """Keep a refuted combination for other cells of the same parent."""
        positive = negative = 0
        pairs = [(int(row), int(sign)) for row, sign in zip(rows, signs, strict=True)]
        for row, sign in pairs:
            if sign > 0:
                positive |= 1 << row
            else:
                negative |= 1 << row
        for pair in pairs:
            self._refuted[pair].append((positive, negative))

    def _find_exactly(self, conditions: Conditions) -> Witness | None:
        """Maximise the smallest (scaled) margin over the rationals."""
        self.tally.by_exact_arithmetic += 1
        entries: list[fmpz] = []
        for row, sign in zip(conditions.rows.tolist(), conditions.signs.tolist(), strict=True):
            numerators = self.exact.row(row)
            size = max((abs(a) for a in numerators[:-1]), default=fmpz(1)) or fmpz(1)
            entries += [*(a * sign for a in numerators[:-1]), -size, numerators[-1] * sign]
        box = self.problem.trust_box if self._leaves_domain(conditions) else self.problem.box
        dimension = self.problem.dim
        program = ExactProgram(
            fmpz_mat(len(conditions.rows), dimension + 2, entries), [*box[0], fmpq(-1)], [*box[1], fmpq(1)]
        )
        result = program.maximise([*[fmpz(0)] * dimension, fmpz(1)], enough=fmpq(0))
        if isinstance(result, Infeasible) or result.value <= 0:
            used = [i for i in result.multipliers if i < len(conditions.rows)]
            self._remember(conditions.rows[used], conditions.signs[used])
            return None
        exact = tuple(fraction(value) for value in result.point[:-1])
        rounded = np.array([float(value) for value in exact])
        column = ExactMatrix.from_floats(np.append(rounded, 1.0))
        if self._exactly_inside(column, conditions) and self.trusted(rounded - self.centre):
            return Witness(rounded)
        return Witness(rounded, exact)


def _axis_rows(normals: Floats) -> tuple[Indices, Indices]:
    """Positions of the rows with a single non-zero coefficient, and of the others."""
    single = np.count_nonzero(normals, axis=1) == 1
    return np.flatnonzero(single), np.flatnonzero(~single)


def _outward_box(low: Floats, high: Floats, centre: Floats) -> tuple[Floats, Floats]:
    """Displacements from the centre, rounded so that nothing of the box is lost."""
    return np.nextafter(low - centre, -np.inf), np.nextafter(high - centre, np.inf)


def _inward_box(low: Floats, high: Floats, centre: Floats) -> tuple[Floats, Floats]:
    return np.nextafter(low - centre, np.inf), np.nextafter(high - centre, -np.inf)
