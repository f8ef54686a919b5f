"""The numbers that a domain is given in: exactly as they are, float64 or not.

Most are float64 and stay so. Where one is not (a fraction, a decimal, a large integer), all are kept as rationals as
well, and float64 only ever stands for them rounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats
from affinelens.errors import AffineLensError

# Sums of coordinates up to this size stay far from overflow, and their products with the smallest from underflow.
LARGEST_BOUND = 1e300
_SMALLEST_RATIONAL = Fraction(1, 10**300)
_FRACTION = re.compile(r"-?\d{1,4000}/0*[1-9]\d{0,4000}")


@dataclass(frozen=True, eq=False)
class Numbers:
    """An array of numbers: the nearest float64s and, unless those are exact, the rationals themselves."""

    nearest: Floats
    exact: NDArray[np.object_] | None = None

    @property
    def ndim(self) -> int:
        return self.nearest.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        return self.nearest.shape

    def reshaped(self, *shape: int) -> Numbers:
        return Numbers(self.nearest.reshape(shape), None if self.exact is None else self.exact.reshape(shape))

    def spread(self, size: int) -> Numbers:
        """A single number repeated, or the numbers themselves if there are that many."""
        exact = None if self.exact is None else np.broadcast_to(self.exact, size)
        return Numbers(np.ascontiguousarray(np.broadcast_to(self.nearest, size)), exact)

    def fractions(self) -> list[Fraction]:
        """All of them as rationals, in order."""
        flat = self.nearest if self.exact is None else self.exact
        return [Fraction(value) for value in flat.ravel().tolist()]

    def matrix(self) -> ExactMatrix:
        """A two-dimensional array as an exact matrix."""
        if self.exact is None:
            return ExactMatrix.from_floats(self.nearest)
        return ExactMatrix.from_fractions(self.exact.tolist())

    def rounded(self, *, down: bool) -> Floats:
        """The float64s nearest from below, or from above."""
        if self.exact is None:
            return self.nearest
        return np.array([outward(value, down=down) for value in self.fractions()]).reshape(self.shape)

    def to_json(self) -> Any:
        """Nested lists of numbers; what float64 does not hold is written as ``"p/q"``."""
        if self.exact is None:
            return self.nearest.tolist()
        texts = [
            number if exact == number else f"{exact.numerator}/{exact.denominator}"
            for exact, number in zip(self.fractions(), self.nearest.ravel().tolist(), strict=True)
        ]
        return np.array(texts, dtype=object).reshape(self.shape).tolist()


def read_numbers(values: ArrayLike | Numbers, name: str) -> Numbers:
    """Numbers exactly as given, or an error that says what they are for."""
    if isinstance(values, Numbers):
        return values
    try:
        given = np.asarray(values)
        if given.dtype == object and any(value is None for value in given.flat):
            raise TypeError("None is no number, though numpy takes it for NaN")
        nearest = given.astype(np.float64)
    except OverflowError:
        raise AffineLensError(f"{name} hold a number beyond {LARGEST_BOUND:g}; rescale that input") from None
    except (TypeError, ValueError):
        raise AffineLensError(f"{name} must be numbers, but got {values!r:.80}") from None
    pairs = zip(given.ravel().tolist(), nearest.ravel().tolist(), strict=True)
    if given.dtype.kind not in "iuO" or not np.isfinite(nearest).all() or all(a == b for a, b in pairs):
        return Numbers(nearest)
    exact = [Fraction(value) for value in given.ravel().tolist()]
    for value, number in zip(exact, nearest.ravel().tolist(), strict=True):
        if value != number and not _SMALLEST_RATIONAL <= abs(value) <= LARGEST_BOUND:
            raise AffineLensError(
                f"{name} hold {number:g}, a rational beyond 1e-300 and 1e300 in size; rescale that input"
            )
    return Numbers(nearest, _object_array(exact, nearest.shape))


def from_fractions(values: list[Fraction], shape: tuple[int, ...], name: str) -> Numbers:
    """Rationals as an array of numbers."""
    return read_numbers(_object_array(values, shape), name)


def numbers_from_json(data: Any) -> Any:
    """Undo :meth:`Numbers.to_json`, as nested lists that :func:`read_numbers` takes."""
    if isinstance(data, list):
        return [numbers_from_json(entry) for entry in data]
    if isinstance(data, str):
        if not _FRACTION.fullmatch(data):
            raise AffineLensError(f"{data!r:.40} is not a number")
        return Fraction(data)
    return data


def outward(value: Fraction, *, down: bool) -> float:
    """The float64 nearest from below or from above, or one beyond it."""
    try:
        nearest = value.numerator / value.denominator
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    if nearest == value:
        return nearest
    return float(np.nextafter(nearest, -np.inf if down else np.inf))


def _object_array(values: list[Fraction], shape: tuple[int, ...]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)
