"""A domain in its own coordinates: what engines work on.

A frame maps coordinates t to inputs, ``x = chart @ [t; 1]``, and bounds t by rows ``row @ [t; 1] >= 0``; both are
exact. It is always bounded and full-dimensional: inputs that the domain fixes are constants of the chart, not
coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import sparse_matrix, stack_rows
from affinelens.array_types import Floats
from affinelens.domain.chart_inverse import ChartInverse

# Lengths between 2**-128 and 2**128 are measured as they are.
_MODEST_EXPONENT = 128


@dataclass(frozen=True, eq=False)
class Frame:
    """Chart, constraints (with the number each has in the user's domain) and a box that contains the domain.

    No two rows are the same halfspace; ``irredundant`` says that each is known to be a facet.
    """

    chart: ExactMatrix
    rows: ExactMatrix
    constraints: tuple[int, ...]
    lower: Floats
    upper: Floats
    irredundant: bool = False

    @property
    def dim(self) -> int:
        """Number of coordinates: the domain's dimension."""
        return self.chart.shape[1] - 1

    @property
    def inputs(self) -> int:
        return self.chart.shape[0]

    @cached_property
    def _floats(self) -> Floats:
        return self.chart.to_floats()

    @cached_property
    def inverse(self) -> ChartInverse:
        """From inputs to coordinates."""
        return ChartInverse(self.chart)

    @cached_property
    def is_plain(self) -> bool:
        """Whether the coordinates are simply the inputs."""
        return self.inputs == self.dim and bool(np.array_equal(self._floats, np.eye(self.dim, self.dim + 1)))

    def to_inputs(self, coordinates: Floats) -> Floats:
        """Inputs at the given coordinates, one row a point."""
        if self.is_plain:
            return coordinates
        return coordinates @ self._floats[:, :-1].T + self._floats[:, -1]

    @cached_property
    def reach(self) -> Floats:
        """How large each coordinate can be, and a 1 for the constant behind them."""
        return np.append(np.maximum(np.abs(self.lower), np.abs(self.upper)), 1.0)

    @cached_property
    def unit(self) -> int:
        """The power of two to measure lengths in so that no product of them overflows: 0 unless the box is extreme."""
        exponent = int(np.frexp((self.upper / 2 - self.lower / 2).max())[1])
        return exponent if abs(exponent) > _MODEST_EXPONENT else 0

    def largest_input(self) -> float:
        """About how large an input can be, or a sum of the terms that make it up."""
        with np.errstate(over="ignore"):
            return float((np.abs(self._floats) @ self.reach).max())


def free_chart(free: Sequence[int], fixed: Mapping[int, Fraction]) -> ExactMatrix:
    """The chart whose coordinates are the free inputs; the others are constants."""
    inputs: list[dict[int, Fraction]] = [{} for _ in range(len(free) + len(fixed))]
    for k, i in enumerate(free):
        inputs[i] = {k: Fraction(1)}
    for i, value in fixed.items():
        inputs[i] = {len(free): value}
    return sparse_matrix(inputs, len(free) + 1)


def homogeneous(chart: ExactMatrix) -> ExactMatrix:
    """A chart with a last row that gives the 1 behind the inputs, so that functions and charts follow it."""
    last = chart.shape[1] - 1
    return stack_rows([chart, sparse_matrix([{last: Fraction(1)}], last + 1)])
