"""From inputs back to the coordinates of a chart.

As many inputs as there are coordinates, the *pivots*, determine a point of the chart's flat. Coordinates are solved for
from those in rational arithmetic and rounded to float64 once. The other inputs must then be what the chart gives
there, up to the rounding of evaluating it in float64; an input that does not vary must be its constant, rounded.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from flint import fmpq_mat, fmpz_mat

from affinelens.arithmetic import ExactMatrix, gamma, upward
from affinelens.array_types import Bools, Floats, Indices
from affinelens.blocks import blocks, joined


class Located(NamedTuple):
    """Coordinates of points, one a row, and which of the points lie on the chart's flat."""

    coordinates: Floats
    on_flat: Bools


class ChartInverse:
    """The inverse of ``x = chart @ [t; 1]``, whose columns for t are linearly independent."""

    def __init__(self, chart: ExactMatrix) -> None:
        self._chart = chart
        self._floats = chart.to_floats()
        self.dim = chart.shape[1] - 1

    @cached_property
    def _axes(self) -> Indices | None:
        """For each coordinate an input that simply is that coordinate, if each has one."""
        linear = self._floats[:, :-1]
        single = (np.count_nonzero(self._floats, axis=1) == 1) & (linear.max(axis=1) == 1.0)
        candidates = np.flatnonzero(single)
        column = linear[candidates].argmax(axis=1)
        found, first = np.unique(column, return_index=True)
        if len(found) < self.dim:
            return None
        chosen = candidates[first]
        exact = all(self._chart.numerators[int(i), k] == self._chart.denominator for k, i in enumerate(chosen))
        return chosen if exact else None

    @cached_property
    def pivots(self) -> Indices:
        """One input a coordinate; the minor they form has an inverse and, as far as is easy, a small one."""
        if self._axes is not None:
            return self._axes
        chosen = _largest_rows(self._floats[:, :-1])
        numerators = self._chart.numerators
        minor = fmpz_mat([[numerators[i, k] for k in range(self.dim)] for i in chosen])
        return np.array(chosen if minor.rank() == self.dim else self._first_independent(), dtype=np.int64)

    def _first_independent(self) -> list[int]:
        inputs = self._chart.shape[0]
        transposed = [[self._chart.numerators[i, k] for i in range(inputs)] for k in range(self.dim)]
        reduced, _, rank = fmpz_mat(transposed).rref()
        return [next(i for i in range(inputs) if reduced[k, i]) for k in range(rank)]

    @cached_property
    def matrix(self) -> ExactMatrix:
        """``t = matrix @ [x[pivots]; 1]``."""
        picked = self._chart.rows(self.pivots.tolist())
        minor = [[picked.numerators[i, k] for k in range(self.dim)] for i in range(self.dim)]
        inverse = fmpq_mat(fmpz_mat(minor)).inv()
        numerators, denominator = inverse.numer_denom()
        linear = ExactMatrix(numerators * self._chart.denominator, denominator)
        constants = ExactMatrix(
            fmpz_mat(self.dim, 1, [-picked.numerators[i, self.dim] for i in range(self.dim)]), picked.denominator
        )
        return _beside(linear, linear @ constants)

    def coordinates(self, points: Floats) -> Located:
        """Coordinates of points, one a row, and which of the points lie on the chart's flat."""
        return joined(Located, (self._some_coordinates(points[rows]) for rows in blocks(*points.shape)))

    def _some_coordinates(self, points: Floats) -> Located:
        on_flat = np.isfinite(points).all(axis=1)
        moving: Bools = np.asarray(self._floats[:, :-1].any(axis=1))
        on_flat &= (points[:, ~moving] == self._floats[~moving, -1]).all(axis=1)
        coordinates = points[:, self.pivots]
        if self._axes is None:
            coordinates = self._solved(coordinates, on_flat)
        rest = moving.copy()
        rest[self.pivots] = False
        if rest.any():
            on_flat &= self._explained_by_rounding(points, coordinates, np.flatnonzero(rest))
        return Located(coordinates, on_flat)

    def _solved(self, pivots: Floats, wanted: Bools) -> Floats:
        solved = np.full(pivots.shape, np.nan)
        for i in np.flatnonzero(wanted).tolist():
            column = ExactMatrix.from_floats(np.append(pivots[i], 1.0))
            solved[i] = (self.matrix @ column).to_floats()[:, 0]
        return solved

    def _explained_by_rounding(self, points: Floats, coordinates: Floats, rest: Indices) -> Bools:
        linear = self._floats[:, :-1]
        inverse = np.eye(self.dim) if self._axes is not None else self.matrix.to_floats()[:, :-1]
        with np.errstate(all="ignore"):
            expected = coordinates @ linear[rest].T + self._floats[rest, -1]
            size = np.abs(coordinates) @ np.abs(linear).T + np.abs(self._floats[:, -1])
            off = 2 * gamma(self.dim + 4) * size
            carried = off[:, self.pivots] @ np.abs(linear[rest] @ inverse).T
            explained: Bools = (np.abs(points[:, rest] - expected) <= upward(off[:, rest] + carried)).all(axis=1)
        return explained


def _largest_rows(matrix: Floats) -> list[int]:
    """As many rows as columns, far from being dependent: each the longest once those before it are projected out."""
    left = matrix.copy()
    chosen: list[int] = []
    for _ in range(matrix.shape[1]):
        lengths = np.einsum("ij,ij->i", left, left)
        best = int(lengths.argmax())
        chosen.append(best)
        if lengths[best] > 0:
            direction = left[best] / np.sqrt(lengths[best])
            left -= np.outer(left @ direction, direction)
        left[chosen] = 0.0
    return chosen


def _beside(left: ExactMatrix, right: ExactMatrix) -> ExactMatrix:
    common = left.denominator.lcm(right.denominator)
    first = (left.numerators * (common // left.denominator)).tolist()
    second = (right.numerators * (common // right.denominator)).tolist()
    return ExactMatrix(fmpz_mat([[*a, *b] for a, b in zip(first, second, strict=True)]), common)
