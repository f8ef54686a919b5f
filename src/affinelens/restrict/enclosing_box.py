"""A parallelepiped around a domain, on which bounds are computed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from affinelens.arithmetic import ExactMatrix, upward
from affinelens.arithmetic.rational import fraction
from affinelens.arithmetic.simplex import ExactProgram, Optimum
from affinelens.array_types import Floats
from affinelens.domain import Frame
from affinelens.domain.numbers import outward


@dataclass(frozen=True, eq=False)
class EnclosingBox:
    """A box, or all points ``slant [u; 1]`` with u in a box; the last row of ``slant`` is that of a 1."""

    lower: Floats
    upper: Floats
    slant: ExactMatrix | None = None

    @classmethod
    def along(cls, frame: Frame, directions: Floats) -> EnclosingBox:
        """The smallest one around a frame's domain on whose sides one of the directions, a row each, is constant.

        The directions must be independent.
        """
        d = frame.dim
        exact = ExactMatrix.from_floats(directions)
        program = ExactProgram(frame.rows.numerators, rationals(frame.lower), rationals(frame.upper))
        ranges = np.zeros((2, d))
        for k in range(d):
            for side, sign in ((0, -1), (1, 1)):
                result = program.maximise([fmpz(sign) * a for a in exact.row(k)])
                assert isinstance(result, Optimum)  # a frame's domain is not empty
                value = fraction(fmpq(sign) * result.value / exact.denominator)
                ranges[side, k] = outward(value, down=side == 0)
        numerators, denominator = (fmpq_mat(exact.numerators).inv() * exact.denominator).numer_denom()
        slant = fmpz_mat(d + 1, d + 1)
        for i in range(d):
            for j in range(d):
                slant[i, j] = numerators[i, j]
        slant[d, d] = denominator
        return cls(ranges[0], ranges[1], ExactMatrix(slant, denominator))

    def over(self, chart: ExactMatrix) -> ExactMatrix:
        """A chart of the domain as functions of coordinates in [-1, 1], whose values include it."""
        middle = self.lower + (self.upper - self.lower) / 2
        reach = upward(np.maximum(self.upper - middle, middle - self.lower))
        return self._slanted(chart).in_coordinates(reach, middle)

    def _slanted(self, chart: ExactMatrix) -> ExactMatrix:
        return chart if self.slant is None else chart @ self.slant

    @property
    def volume(self) -> float:
        """Its volume, about."""
        stretch = 1.0 if self.slant is None else abs(float(np.linalg.det(self.slant.to_floats())))
        return float(np.prod(self.upper - self.lower)) * stretch

    def halves(self, chart: ExactMatrix) -> tuple[EnclosingBox, EnclosingBox]:
        """Two halves of it, along the side that is longest among the inputs that a chart leads to."""
        width = self.upper - self.lower
        axis = int(np.argmax(width * np.abs(self._slanted(chart).to_floats()[:, :-1]).max(axis=0)))
        below, above = self.upper.copy(), self.lower.copy()
        below[axis] = above[axis] = self.lower[axis] + width[axis] / 2
        return replace(self, upper=below), replace(self, lower=above)


def rationals(values: Floats) -> list[fmpq]:
    return [fmpq(*value.as_integer_ratio()) for value in values.tolist()]
