"""Constraints of a domain that bound a single coordinate, kept apart from all others where there are hundreds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import fmpq, fmpz_mat

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, upward
from affinelens.arithmetic.rational import quotient
from affinelens.array_types import Bools, Floats, Indices

Sides = tuple[Floats, Floats]
ExactSides = tuple[list[fmpq], list[fmpq]]


@dataclass(frozen=True, eq=False)
class Room:
    """A box, and how it looks from a center."""

    low: Floats
    high: Floats
    center: Floats

    def holds(self, point: Floats) -> bool:
        """Whether a point lies strictly inside."""
        return bool(((self.low < point) & (point < self.high)).all())

    @cached_property
    def is_empty(self) -> bool:
        return bool((self.low >= self.high).any())

    @cached_property
    def seen(self) -> Sides:
        """Displacements, to the nearest float64: where to look."""
        return self.low - self.center, self.high - self.center

    @cached_property
    def around(self) -> Sides:
        """Displacements, rounded so that nothing of the box is lost: where to refute."""
        low, high = self.seen
        return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)


@dataclass(frozen=True, eq=False)
class CoordinateBounds:
    """Bounds ``x[coordinate] >= v``, or ``<= v`` where ``upper``, that are the domain's rows ``numbers``.

    ``below`` and ``above`` are the float64s on either side of v, and both v if that is one. So a float64 is above v
    if and only if it is above ``below``, and below v if and only if it is below ``above``.
    """

    numbers: Indices
    coordinate: Indices
    upper: Bools
    below: Floats
    above: Floats
    table: fmpz_mat

    @classmethod
    def of(cls, rows: ExactMatrix, numbers: Indices, coordinate: Indices) -> CoordinateBounds:
        """Rows with one non-zero coefficient each, that of a coordinate."""
        table, last = rows.numerators, rows.shape[1] - 1
        slopes = [int(table[i, k]) for i, k in zip(numbers.tolist(), coordinate.tolist(), strict=True)]
        values = [Fraction(-int(table[i, last]), a) for i, a in zip(numbers.tolist(), slopes, strict=True)]
        below, above = np.array([_around(v) for v in values], dtype=np.float64).reshape(len(values), 2).T
        upper = np.array([a < 0 for a in slopes], dtype=bool)
        return cls(numbers, coordinate, upper, below, above, table)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: Indices | Bools | slice) -> CoordinateBounds:
        return CoordinateBounds(
            self.numbers[chosen], self.coordinate[chosen], self.upper[chosen], self.below[chosen], self.above[chosen],
            self.table,
        )  # fmt: skip

    def room(self, box: Sides, center: Floats, beyond: int | None = None) -> Room:
        """A box less what the bounds cut off; a float64 strictly inside of it satisfies them strictly.

        The bound ``beyond`` is turned round.
        """
        if not len(self):
            return Room(*box, center)
        low, high, is_high = box[0].copy(), box[1].copy(), self._turned(beyond)
        np.maximum.at(low, self.coordinate[~is_high], self.below[~is_high])
        np.minimum.at(high, self.coordinate[is_high], self.above[is_high])
        return Room(low, high, center)

    def narrowed_exactly(self, box: ExactSides, beyond: int | None) -> ExactSides:
        """A box in rationals less what the bounds cut off, ``beyond`` turned round."""
        low, high = list(box[0]), list(box[1])
        last = self.table.ncols() - 1
        for number, k, is_high in zip(
            self.numbers.tolist(), self.coordinate.tolist(), self._turned(beyond), strict=True
        ):
            value = fmpq(-self.table[number, last], self.table[number, k])
            if is_high:
                high[k] = min(high[k], value)
            else:
                low[k] = max(low[k], value)
        return low, high

    def _turned(self, beyond: int | None) -> Bools:
        """Which bounds hold from above, one of them turned round."""
        is_high = self.upper.copy()
        if beyond is not None:
            is_high[beyond] = not is_high[beyond]
        return is_high

    def around(self, center: Floats) -> tuple[Floats, Floats]:
        """The bounds as displacements from a center, and bounds on their errors."""
        place = self.below - center[self.coordinate]
        return place, upward((self.above - self.below) + 2 * UNIT_ROUNDOFF * np.abs(place))


def _around(value: Fraction) -> tuple[float, float]:
    """The greatest float64 that is not above a rational, and the least that is not below it."""
    nearest = quotient(value.numerator, value.denominator)
    below = nearest if nearest <= value else float(np.nextafter(nearest, -np.inf))
    above = nearest if nearest >= value else float(np.nextafter(nearest, np.inf))
    return below, above
