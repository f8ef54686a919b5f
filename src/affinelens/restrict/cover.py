"""A parallelepiped around a domain, on which bounds are computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, upward
from affinelens.arithmetic.rational import fraction
from affinelens.arithmetic.simplex import ExactProgram, Optimum
from affinelens.domain import Frame
from affinelens.domain.numbers import outward

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Cover:
    """All points ``place [s; 1]`` with coordinates s in [-1, 1]; the last row of ``place`` is that of a 1."""

    place: ExactMatrix

    @classmethod
    def box(cls, lower: Floats, upper: Floats) -> Cover:
        middle = lower + (upper - lower) / 2
        reach = upward(np.maximum(upper - middle, middle - lower))
        place = np.diag(np.append(reach, 1.0))
        place[:-1, -1] = middle
        return cls(ExactMatrix.from_floats(place))

    @classmethod
    def along(cls, frame: Frame, directions: Floats) -> Cover:
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
        flat = cls.box(*ranges).place
        numerators, denominator = (fmpq_mat(exact.numerators).inv() * exact.denominator).numer_denom()
        back = fmpz_mat(d + 1, d + 1)
        for i in range(d):
            for j in range(d):
                back[i, j] = numerators[i, j]
        back[d, d] = denominator
        return cls(ExactMatrix(back, denominator) @ flat)

    @property
    def volume(self) -> float:
        """Its volume, about."""
        return 2.0 ** (self.place.shape[0] - 1) * abs(float(np.linalg.det(self.place.to_floats())))

    def halves(self, chart: Floats) -> tuple[Cover, Cover]:
        """Two halves, of the side that is longest among the inputs that a chart leads to."""
        sides = chart @ self.place.to_floats()[:, :-1]
        axis = int(np.argmax(np.abs(sides).max(axis=0)))
        found = []
        for sign in (-0.5, 0.5):
            change = np.eye(self.place.shape[0])
            change[axis, axis], change[axis, -1] = 0.5, sign
            found.append(Cover(self.place @ ExactMatrix.from_floats(change)))
        return found[0], found[1]


def rationals(values: Floats) -> list[fmpq]:
    return [fmpq(*value.as_integer_ratio()) for value in values.tolist()]
