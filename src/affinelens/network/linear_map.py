"""Linear maps as operators: exactly the numbers of the model, never multiplied out.

A map knows how to act on float64 columns, on their absolute values (for error bounds), and on exact matrices, so that
a model's parameters stay bit-identical and rational arithmetic can always go back to them. A slice, padding or a
transposition is a :class:`Select`, a sum over axes a :class:`Sparse`; convolutions have
:mod:`affinelens.network.convolution`, and maps made of others :mod:`affinelens.network.composed_maps`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, gamma
from affinelens.array_types import Floats, Indices
from affinelens.network.coefficients import Coefficients
from affinelens.network.enclosure import Enclosure

# How many products of a sparse map are formed at a time.
_PRODUCTS_AT_A_TIME = 2**20


def short_bits(terms: int) -> int:
    """How many bits two factors may have, so that so many of their products sum up in float64 without rounding."""
    return (53 - max(terms - 1, 0).bit_length()) // 2


def shortened(values: Floats, bits: int, axis: int | None = None) -> Floats:
    """The values (or those along an axis) rounded to multiples of their largest one's last bit of so many."""
    largest = np.abs(values).max(axis=axis, keepdims=True, initial=0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        shift = np.ldexp(1.5, np.frexp(largest)[1] + 52 - bits)
        short = (values + shift) - shift
    return np.where(np.isfinite(short), short, 0.0)


class LinearMap(ABC):
    """A linear map from ``size_in`` to ``size_out`` numbers."""

    # The map's name where networks are saved, and the attributes that enter a network's digest.
    kind: ClassVar[str]
    hashed: ClassVar[tuple[str, ...]] = ()

    size_in: int
    size_out: int

    @property
    @abstractmethod
    def roundings(self) -> int:
        """The longest inner product taken, in terms; 0 for a map that rounds nothing."""

    @property
    def steps(self) -> int:
        """How many maps are applied when this one is."""
        return 1

    @property
    def products(self) -> int:
        """How many numbers are multiplied when the map is applied to one column, at most."""
        return self.roundings * self.size_out

    @abstractmethod
    def apply(self, columns: Floats) -> Floats:
        """The map's value on each column, in float64."""

    @abstractmethod
    def apply_absolute(self, columns: Floats) -> Floats:
        """Value of the map with every coefficient replaced by its absolute value (or an upper bound)."""

    @abstractmethod
    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        """The map's value on each column, exactly."""

    @abstractmethod
    def coefficients(self, output: int) -> Coefficients:
        """What one output is made of, exactly."""

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        """Named arrays that determine the map; one alone has the name of the map's kind."""
        for name in self.hashed:
            yield f"{self.kind} {name}" if len(self.hashed) > 1 else self.kind, np.atleast_1d(getattr(self, name))

    @abstractmethod
    def transposed(self) -> LinearMap:
        """The adjoint map, with the same coefficients: ``<A x, y> = <x, A^T y>``."""

    @property
    def halves(self) -> tuple[LinearMap, LinearMap] | None:
        """The map as the sum of one with short coefficients and a small rest, where it takes inner products."""
        return None

    def propagate(self, form: Enclosure) -> Enclosure:
        """The map's value on an enclosure, the map's own rounding added to its error."""
        grown = form.error
        if self.roundings:
            grown = form.error + gamma(self.roundings) * form.magnitude
        return form.replaced(self.apply(form.rows), self.apply_absolute(grown))


class Weighted(LinearMap):
    """A map that multiplies by an array of coefficients, its attribute of the name ``weighed``."""

    weighed: ClassVar[str]

    @abstractmethod
    def multiplied(self, coefficients: Floats, columns: Floats) -> Floats:
        """What the map makes of columns with other coefficients in the places of its own."""

    @cached_property
    def _absolute(self) -> Floats:
        found: Floats = np.abs(getattr(self, self.weighed))
        return found

    def apply(self, columns: Floats) -> Floats:
        return self.multiplied(getattr(self, self.weighed), columns)

    def apply_absolute(self, columns: Floats) -> Floats:
        return self.multiplied(self._absolute, columns)

    @cached_property
    def halves(self) -> tuple[LinearMap, LinearMap] | None:
        values = getattr(self, self.weighed)
        short = shortened(values, short_bits(self.roundings))
        whole: Any = self  # every map is a data class
        return replace(whole, **{self.weighed: short}), replace(whole, **{self.weighed: values - short})


@dataclass(frozen=True, eq=False)
class Dense(Weighted):
    """A plain matrix of shape (out, in)."""

    kind: ClassVar[str] = "dense"
    hashed: ClassVar[tuple[str, ...]] = ("weight",)
    weighed: ClassVar[str] = "weight"

    weight: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_out", self.weight.shape[0])
        object.__setattr__(self, "size_in", self.weight.shape[1])

    @property
    def roundings(self) -> int:
        return self.size_in

    @property
    def products(self) -> int:
        return int(np.count_nonzero(self.weight))

    @cached_property
    def _exact(self) -> ExactMatrix:
        return ExactMatrix.from_floats(self.weight)

    def multiplied(self, coefficients: Floats, columns: Floats) -> Floats:
        return coefficients @ columns

    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        return self._exact @ columns

    def coefficients(self, output: int) -> Coefficients:
        return Coefficients.of_floats(np.arange(self.size_in), self.weight[output])

    def transposed(self) -> Dense:
        return Dense(self.weight.T)


@dataclass(frozen=True, eq=False)
class Sparse(Weighted):
    """A sparse matrix: row i has ``values[starts[i]:starts[i+1]]`` in the like slice of ``columns``."""

    kind: ClassVar[str] = "sparse"
    hashed: ClassVar[tuple[str, ...]] = ("starts", "columns", "values")
    weighed: ClassVar[str] = "values"

    starts: Indices
    columns: Indices
    values: Floats
    size_in: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_out", len(self.starts) - 1)

    @property
    def roundings(self) -> int:
        return int(np.diff(self.starts).max(initial=0))

    def multiplied(self, coefficients: Floats, columns: Floats) -> Floats:
        """Sums of products, over as many rows at a time as keep the products few."""
        result = np.zeros((self.size_out, columns.shape[1]), dtype=columns.dtype)
        limit = _PRODUCTS_AT_A_TIME // max(columns.shape[1], 1)
        first = 0
        while first < self.size_out:
            start = self.starts[first]
            last = max(first + 1, int(np.searchsorted(self.starts, start + limit, side="right")) - 1)
            span = slice(start, self.starts[last])
            terms = coefficients[span, None] * columns[self.columns[span]]
            filled = first + np.flatnonzero(np.diff(self.starts[first : last + 1]))
            if len(filled):
                result[filled] = np.add.reduceat(terms, self.starts[filled] - start, axis=0)
            first = last
        return result

    @cached_property
    def _exact_values(self) -> ExactMatrix:
        return ExactMatrix.from_floats(self.values)

    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        width = columns.shape[1]
        entries = columns.numerators.entries()
        values = self._exact_values.numerators.entries()
        starts = self.starts.tolist()
        sources = self.columns.tolist()
        result: list[fmpz] = []
        for first, last in pairwise(starts):
            for j in range(width):
                result.append(sum((values[k] * entries[sources[k] * width + j] for k in range(first, last)), fmpz(0)))
        return ExactMatrix(fmpz_mat(self.size_out, width, result), columns.denominator * self._exact_values.denominator)

    def coefficients(self, output: int) -> Coefficients:
        span = slice(self.starts[output], self.starts[output + 1])
        found = Coefficients.of_floats(self.columns[span], self.values[span])
        return Coefficients.combined([found], [1])  # a column may come twice

    def transposed(self) -> Sparse:
        order = np.argsort(self.columns, kind="stable")
        rows = np.repeat(np.arange(self.size_out), np.diff(self.starts))
        starts = np.cumsum([0, *np.bincount(self.columns, minlength=self.size_in)])
        return Sparse(starts, rows[order], self.values[order], self.size_out)


@dataclass(frozen=True, eq=False)
class Scale(Weighted):
    """A diagonal matrix, ``factors / over``: a factor such as an average's 1/9 keeps its integer denominator."""

    kind: ClassVar[str] = "scale"
    hashed: ClassVar[tuple[str, ...]] = ("factors", "over")
    weighed: ClassVar[str] = "factors"
    halves: ClassVar[None] = None  # it sums nothing

    factors: Floats
    over: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_out", len(self.factors))
        object.__setattr__(self, "size_in", len(self.factors))

    @property
    def roundings(self) -> int:
        return 2

    def multiplied(self, coefficients: Floats, columns: Floats) -> Floats:
        return coefficients[:, None] * columns / self.over

    @cached_property
    def _exact(self) -> ExactMatrix:
        return ExactMatrix.from_floats(self.factors).divided_by(self.over)

    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        return columns.scaled_rows(self._exact)

    def coefficients(self, output: int) -> Coefficients:
        return Coefficients.of_floats(np.array([output]), self.factors[output : output + 1], self.over)

    def transposed(self) -> Scale:
        return self


@dataclass(frozen=True, eq=False)
class Select(LinearMap):
    """Output i is input ``indices[i]``, or 0 where that is -1."""

    kind: ClassVar[str] = "select"
    hashed: ClassVar[tuple[str, ...]] = ("indices",)

    indices: Indices
    size_in: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "size_out", len(self.indices))

    @property
    def roundings(self) -> int:
        return 0

    def apply(self, columns: Floats) -> Floats:
        picked = columns[self.indices]
        picked[self.indices < 0] = 0.0
        return picked

    def apply_absolute(self, columns: Floats) -> Floats:
        return self.apply(columns)

    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        return columns.rows(self.indices.tolist())

    def coefficients(self, output: int) -> Coefficients:
        taken = int(self.indices[output])
        return Coefficients([], [], 1) if taken < 0 else Coefficients([taken], [1], 1)

    def transposed(self) -> LinearMap:
        """Where no input is taken twice a selection again, else a sum of the places it went to."""
        places = np.flatnonzero(self.indices >= 0)
        taken = self.indices[places]
        if np.bincount(taken).max(initial=0) <= 1:
            inverse = np.full(self.size_in, -1)
            inverse[taken] = places
            return Select(inverse, self.size_out)
        starts = np.append(0, np.cumsum(self.indices >= 0))
        return Sparse(starts, taken, np.ones(len(taken)), self.size_in).transposed()


def identity(size: int) -> Select:
    """The map that changes nothing."""
    return Select(np.arange(size), size)
