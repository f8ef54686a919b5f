"""One stage's arrays for the kernels, and bounds on their errors that hold whatever the pattern is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma
from affinelens.array_types import Floats
from affinelens.engine.vertex.layout.stage_numbers import (
    EXACT_INTEGERS,
    LOWEST_EXPONENT,
    SLACK,
    SMALLEST_ACCURATE,
    StageNumbers,
    lowest_exponent,
)  # fmt: skip
from affinelens.kernels.lanes import LANES
from affinelens.network import Activation

Number = TypeVar("Number", bound=np.generic)

_UNDERFLOW = 2.0**-1000
# A Gram matrix is squared this many times to bound its largest eigenvalue; the factor covers the roundings.
_SQUARINGS = 5
_SQUARING_SLACK = 1.0 + 2.0**-10


def padded(count: int) -> int:
    """The next number of whole lanes."""
    return -(-count // LANES) * LANES


def in_lanes(rows: NDArray[Number]) -> NDArray[Number]:
    """Rows followed by zeros, up to whole lanes."""
    count = rows.shape[-1]
    table = np.zeros((*rows.shape[:-1], padded(count)), dtype=rows.dtype)
    table[..., :count] = rows
    return table


@dataclass(frozen=True, eq=False)
class Block:
    """What one source stage adds to a stage: a column a break (or group), and a column a unit with a base slope."""

    source: int
    per_break: Floats
    per_unit: Floats | None
    exact: bool
    square_norms: Floats
    bound: Floats
    exponent: int


class StageParts:
    """One stage's arrays, and bounds that hold whatever the pattern is."""

    def __init__(self, numbers: StageNumbers, earlier: Sequence[StageParts]) -> None:
        self.numbers = numbers
        self.activation = numbers.activation
        self.units = self.activation.size_in
        self.padded = padded(self.units)
        self.padded_breaks = padded(len(self.activation.breaks))
        self._earlier = earlier
        self.jump, self.gap, self.base_slope = _pieces(self.activation)

    @cached_property
    def blocks(self) -> list[Block]:
        found = []
        for source, matrix, exact in self.numbers.maps:
            before = self._earlier[source]
            unit_of = before.activation.breaks.plus if not before.grouped else np.arange(before.activation.size_out)
            jump = before.jump if not before.grouped else np.ones(len(unit_of))
            taken = matrix[:, unit_of]
            changes = taken * jump
            base = before.base_slope
            squares = _squares(taken, jump)
            bound = np.abs(changes) @ before.break_bound
            exponents = [lowest_exponent(changes) + before.exponent]
            if base.any():
                squares = squares + _squares(matrix[:, base != 0], base[base != 0])
                bound = bound + np.abs(matrix * base) @ before.bound
                exponents.append(lowest_exponent(matrix * base) + before.exponent)
            exact = exact and before.has_unit_slopes
            found.append(
                Block(
                    source, in_lanes(changes.T), in_lanes((matrix * base).T) if base.any() else None,
                    exact, squares, bound, min(exponents),
                )
            )  # fmt: skip
        return found

    @property
    def grouped(self) -> bool:
        return self.activation.grouped

    @cached_property
    def has_unit_slopes(self) -> bool:
        """Whether all slopes are 0 or 1 or -1, so that multiplying by their differences rounds nothing."""
        slopes = self.activation.slopes
        return bool(((slopes == 0.0) | (np.abs(slopes) == 1.0)).all())

    @cached_property
    def bound(self) -> Floats:
        """Upper bound on the entries of every unit's function, under any pattern."""
        return SLACK * (np.abs(self.numbers.fixed) + sum(block.bound for block in self.blocks))

    @cached_property
    def break_bound(self) -> Floats:
        """As :attr:`bound`, for what is added when a break is passed or a group's winner is known."""
        if self.grouped:
            return np.array([self.bound[a:b].max(axis=0) for a, b in pairwise(self.activation.starts.tolist())])
        return self._hyperplane_bound

    @cached_property
    def _hyperplane_bound(self) -> Floats:
        breaks = self.activation.breaks
        paired = np.where(breaks.minus[:, None] >= 0, self.bound[breaks.minus], 0.0)
        bound = self.bound[breaks.plus] + paired
        bound[:, -1] += np.abs(breaks.threshold)
        return SLACK * bound

    @cached_property
    def exponent(self) -> int:
        """All entries of the stage's functions are multiples of 2 to this power, under any pattern."""
        own = min(lowest_exponent(self.numbers.fixed), lowest_exponent(self.activation.breaks.threshold))
        return min([own, *(block.exponent for block in self.blocks)])

    @cached_property
    def exact(self) -> bool:
        """Whether float64 holds every function of the stage without rounding, whatever the pattern."""
        if self.numbers.error is not None:
            return False
        largest = max(self.bound.max(initial=0.0), self._hyperplane_bound.max(initial=0.0))
        return (
            self.numbers.fixed_is_exact
            and all(block.exact and self._earlier[block.source].exact for block in self.blocks)
            and not any(self._earlier[block.source].gap.any() for block in self.blocks)
            and self.exponent > LOWEST_EXPONENT
            and bool(largest < np.ldexp(EXACT_INTEGERS, min(self.exponent, 0)))
        )

    @property
    def quantum(self) -> float:
        """The power of two that all entries are multiples of, or 0 if they are not held exactly."""
        return float(np.ldexp(1.0, min(self.exponent, 0))) if self.exact else 0.0

    @cached_property
    def rounding(self) -> float:
        """Relative error of the sum over sources: any order, with each coefficient rounded."""
        if self.exact:
            return 0.0
        terms = sum(len(b.per_break) + (0 if b.per_unit is None else len(b.per_unit)) for b in self.blocks)
        return SLACK * (gamma(terms + 2) + 4 * UNIT_ROUNDOFF)

    @cached_property
    def errors(self) -> tuple[Floats, Floats]:
        """Error of the fixed part (rounded once) and of adding to it: of the coefficients, and of the constant."""
        if self.numbers.error is not None:
            size = np.abs(self.numbers.fixed).sum(axis=1)
            return np.zeros(self.units), SLACK * (self.numbers.error + (self.rounding + 2 * UNIT_ROUNDOFF) * size)
        size = np.abs(self.numbers.fixed)
        unit = 0.0 if self.exact else SLACK * (self.rounding + 2 * UNIT_ROUNDOFF)
        extra = 0.0 if self.exponent > LOWEST_EXPONENT else _UNDERFLOW
        return unit * size[:, :-1].sum(axis=1) + extra, unit * size[:, -1] + extra

    def copies(self) -> list[tuple[int, int, int]]:
        """Units that are just the output of an earlier ReLU: their number, and the stage and unit they repeat."""
        found = []
        fixed = self.numbers.fixed.any(axis=1)
        if self.numbers.error is not None:
            fixed |= self.numbers.error > 0.0
        used = sum((matrix != 0).sum(axis=1) for _, matrix, _ in self.numbers.maps)
        for source, matrix, exact in self.numbers.maps:
            if not exact or not _is_relu(self._earlier[source].activation):
                continue
            for unit in np.flatnonzero(~fixed & (used == 1) & (matrix == 1.0).any(axis=1)).tolist():
                found.append((unit, source, int(matrix[unit].argmax())))
        return found

    def norms(self) -> Floats:
        total = np.zeros(self.units)
        for block in self.blocks:
            total += block.square_norms
        return SLACK * np.sqrt(total)

    @property
    def is_lumped(self) -> bool:
        """Whether errors are bounded as functions on the domain, not coefficient by coefficient."""
        return self.numbers.error is not None

    @cached_property
    def lumped_norms(self) -> tuple[float, float, float]:
        """Where errors are lumped: norms of the fixed errors and of all rows' norms, and of the map of errors.

        At every point of the domain the errors of the stage's units, as a vector, are at most the first plus what
        rounding adds (the second times that of the terms) plus the third times the norm of all earlier units' errors.
        """
        if not self.is_lumped:
            return 0.0, 0.0, 0.0
        fixed, rows = np.linalg.norm(self.errors[1]), np.linalg.norm(self.norms())
        matrices = [matrix * _largest_slopes(self._earlier[k].activation) for k, matrix, _ in self.numbers.maps]
        largest = _norm_at_most(np.hstack(matrices)) if matrices else 0.0
        return SLACK * float(fixed), SLACK * float(rows), largest


def _pieces(activation: Activation) -> tuple[Floats, Floats, Floats]:
    """Change of slope at each break, what continuity leaves over there, and the slope below all breaks."""
    count = len(activation.breaks)
    jump, gap = np.zeros(count), np.zeros(count)
    if activation.grouped:
        return jump, gap, np.zeros(activation.size_in)
    unit, position, thresholds = activation.breaks.choice, activation.sides.below, activation.breaks.threshold
    if not (thresholds.any() or activation.offsets.any()):
        return activation.slopes[unit, position + 1] - activation.slopes[unit, position], gap, activation.slopes[:, 0]
    for b, (u, k) in enumerate(zip(unit.tolist(), position.tolist(), strict=True)):
        t, s, o = thresholds[b], activation.slopes[u], activation.offsets[u]
        change = Fraction(s[k + 1]) - Fraction(s[k])
        jump[b] = float(change)
        left_over = abs(change * Fraction(t) + Fraction(o[k + 1]) - Fraction(o[k]))
        gap[b] = SLACK * float(left_over) + (_UNDERFLOW if left_over else 0.0)
    return jump, gap, activation.slopes[:, 0].copy()


def _squares(matrix: Floats, factor: Floats) -> Floats:
    """Squared norms of rows, rounded up; infinite where a product with a factor may have lost its relative accuracy."""
    with np.errstate(over="ignore", under="ignore"):
        squares: Floats = (matrix**2 + _UNDERFLOW * (matrix != 0)).sum(axis=1)
        lost = (matrix != 0) & (factor != 0) & (np.abs(matrix * factor) < SMALLEST_ACCURATE)
    squares[lost.any(axis=1)] = np.inf
    return squares


def _norm_at_most(matrix: Floats) -> float:
    """A bound on a matrix's largest singular value, a few percent above it.

    Its square is the largest eigenvalue of the Gram matrix G. That of ``G^(2^k)`` is its power, and at most the
    Frobenius norm.
    """
    largest = float(np.abs(matrix).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return largest
    scaled = matrix / largest
    gram = scaled @ scaled.T if len(matrix) <= matrix.shape[1] else scaled.T @ scaled
    bound = largest
    for k in range(_SQUARINGS + 1):
        size = float(np.linalg.norm(gram))
        bound *= size ** (0.5 ** (k + 1))
        gram = gram / size
        if k < _SQUARINGS:
            gram = gram @ gram
    return _SQUARING_SLACK * bound


def _is_relu(activation: Activation) -> bool:
    return (
        not activation.grouped
        and activation.pieces == 2
        and not activation.breaks.threshold.any()
        and bool((activation.slopes == (0.0, 1.0)).all())
        and not activation.offsets.any()
    )


def _largest_slopes(activation: Activation) -> Floats:
    """The steepest slope of each output."""
    slopes: Floats = np.abs(activation.slopes).max(axis=1)
    return slopes
