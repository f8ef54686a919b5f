"""A domain in its own coordinates: what engines work on.

A frame maps coordinates t to inputs, ``x = chart @ [t; 1]``, and bounds t by rows ``row @ [t; 1] >= 0``; both are
exact. It is always bounded and full-dimensional: inputs that the domain fixes are constants of the chart, not
coordinates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.errors import AffineLensError

Floats = NDArray[np.float64]
# Sums of coordinates up to this size stay far from overflow.
LARGEST_BOUND = 1e300


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
    def is_plain(self) -> bool:
        """Whether the coordinates are simply the inputs."""
        chart = self.chart.to_floats()
        return chart.shape[0] == self.dim and bool(np.array_equal(chart, np.eye(self.dim, self.dim + 1)))

    def to_inputs(self, coordinates: Floats) -> Floats:
        """Inputs at the given coordinates, one row a point."""
        if self.is_plain:
            return coordinates
        chart = self.chart.to_floats()
        return coordinates @ chart[:, :-1].T + chart[:, -1]


class Domain(ABC):
    """A bounded set of inputs."""

    @property
    @abstractmethod
    def inputs(self) -> int:
        """Number of network inputs the domain speaks of."""

    @property
    @abstractmethod
    def frame(self) -> Frame:
        """The domain in its own coordinates."""

    @property
    def dim(self) -> int:
        """Dimension of the domain: its inputs that are not fixed."""
        return self.frame.dim

    def coordinates(self, points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The domain's coordinates of input points (one a row), and which of the points lie in the domain.

        Inputs that the domain fixes must have the fixed value (rounded to float64, if it is not one).
        """
        frame = self.frame
        chart = frame.chart.to_floats()
        free = chart[:, :-1].argmax(axis=0)
        fixed = ~chart[:, :-1].any(axis=1)
        coordinates = points[:, free]
        inside = np.isfinite(points).all(axis=1)
        inside &= (points[:, fixed] == chart[fixed, -1]).all(axis=1)
        for i in np.flatnonzero(inside).tolist():
            column = ExactMatrix.from_floats(np.append(coordinates[i], 1.0))
            inside[i] = all(value >= 0 for value in (frame.rows.numerators * column.numerators).entries())
        return coordinates, inside

    @abstractmethod
    def describe_constraint(self, number: int) -> str:
        """One of the domain's constraints, in words."""

    @abstractmethod
    def halfspace(self, number: int) -> tuple[Floats, float]:
        """One of the domain's constraints as ``w, b`` with ``w @ x + b >= 0``."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """A description from which :func:`affinelens.domain.domain_from_json` rebuilds the domain."""


def float_array(values: ArrayLike, name: str) -> Floats:
    """Numbers as float64, refused where that would change them: a domain is exactly what was asked for."""
    try:
        given = np.asarray(values)
        array = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise AffineLensError(f"{name} must be numbers, but got {values!r:.80}") from error
    if given.dtype.kind in "iuO" and any(
        a != b for a, b in zip(given.ravel().tolist(), array.ravel().tolist(), strict=True)
    ):
        raise AffineLensError(f"{name} hold numbers that float64 cannot represent; round them first")
    return array
