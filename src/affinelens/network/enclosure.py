"""Float64 numbers of a network with a proven bound on how far they are from the true ones.

An enclosure holds one row a unit. It comes in two kinds, which pass through linear maps and activations alike:

- *affine functions*: rows ``[W | b]`` of functions of the domain's coordinates x. The domain is bounded, ``|x_k| <=
  reach_k``, so one number a row is enough: over the whole domain the true (rational) function differs from the stored
  one by at most ``error[i]``, and carrying that number through a linear map costs one matrix-vector product;
- *values*: column j holds the units' values at point j, each entry with its own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, upward
from affinelens.array_types import Floats, Indices


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Rows, their errors, the row that stands for the constant 1, and the reach (None for values at points)."""

    rows: Floats
    error: Floats
    one: Floats
    reach: Floats | None

    @classmethod
    def affine(cls, matrix: ExactMatrix, reach: Floats) -> Enclosure:
        """Round exact affine functions ``[W | b]`` to float64; ``reach`` bounds the coordinates and ends in 1."""
        rows = matrix.to_floats()
        error = upward(2 * UNIT_ROUNDOFF * (np.abs(rows) @ reach[:, None]))
        width = rows.shape[1]
        return cls(rows, error, np.eye(1, width, width - 1), reach[:, None])

    @classmethod
    def values(cls, points: Floats) -> Enclosure:
        """The coordinates of points, one column each, taken as exact."""
        return cls(points, np.zeros(points.shape), np.ones((1, points.shape[1])), None)

    @property
    def constant(self) -> Enclosure:
        """The constant 1, as an enclosure of one row."""
        error = np.zeros((1, self.error.shape[1]))
        return Enclosure(self.one, error, self.one, self.reach)

    @property
    def magnitude(self) -> Floats:
        """Upper bound on the sum of absolute terms that make up each number."""
        size = np.abs(self.rows)
        return size if self.reach is None else upward(size @ self.reach)

    def replaced(self, rows: Floats, error: Floats) -> Enclosure:
        """Other rows of the same kind; one that overflowed has an infinite error, that is, nothing is known of it."""
        finite = np.isfinite(rows)
        if not finite.all():
            known = finite if self.reach is None else finite.all(axis=1, keepdims=True)
            error = np.where(known, error, np.inf)
        return Enclosure(rows, upward(error), self.one, self.reach)

    def __add__(self, other: Enclosure) -> Enclosure:
        total = self.replaced(self.rows + other.rows, self.error + other.error)
        return self.replaced(total.rows, total.error + 2 * UNIT_ROUNDOFF * total.magnitude)

    def __getitem__(self, rows: Indices) -> Enclosure:
        return Enclosure(self.rows[rows], self.error[rows], self.one, self.reach)

    def scaled(self, slopes: Floats, offsets: Floats) -> Enclosure:
        """``slopes * row + offsets``, row by row; both are (rows,) or (rows, columns)."""
        slopes = slopes.reshape(len(slopes), -1)
        offsets = offsets.reshape(len(offsets), -1)
        weight = np.abs(slopes)
        rounding = 2 * UNIT_ROUNDOFF * (weight * self.magnitude + np.abs(offsets))
        exact = np.isin(slopes, (-1.0, 0.0, 1.0)) & (offsets == 0.0)
        error = weight * self.error + np.where(exact, 0.0, rounding)
        return self.replaced(self.rows * slopes + offsets * self.one, error)

    def differences(self, plus: Indices, minus: Indices, thresholds: Floats) -> Enclosure:
        """Rows ``row[plus] - row[minus] - threshold``; a ``minus`` of -1 subtracts nothing."""
        rows = self.rows[plus]
        error = self.error[plus]
        paired = minus >= 0
        rows[paired] -= self.rows[minus[paired]]
        error[paired] += self.error[minus[paired]]
        rows = rows - thresholds[:, None] * self.one
        result = self.replaced(rows, error)
        rounded = (paired | (thresholds != 0.0))[:, None]
        rounding = 2 * UNIT_ROUNDOFF * (result.magnitude + np.abs(thresholds)[:, None])
        return self.replaced(rows, result.error + np.where(rounded, rounding, 0.0))

    @classmethod
    def stacked(cls, parts: Sequence[Enclosure]) -> Enclosure:
        """Several enclosures of the same kind, one above the other."""
        rows = np.concatenate([part.rows for part in parts])
        error = np.concatenate([part.error for part in parts])
        return cls(rows, error, parts[0].one, parts[0].reach)
