"""Exact matrices: integers over one common denominator.

Every float64 is a rational number, so the parameters of a network are rational and so is everything computed
from them by sums and products. Keeping one denominator for a whole matrix leaves all the work to FLINT's
integer matrix product and never takes a greatest common divisor of single entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm

import numpy as np
from flint import fmpq, fmpz, fmpz_mat

from affinelens.array_types import Floats

_MANTISSA_BITS = 53
# Where at most one entry in so many is not zero, only those are written.
_SPARSE = 4


def as_integers(values: Floats) -> tuple[list[int], int]:
    """Return integers n and a denominator q with ``values == n / q``, entry by entry."""
    mantissas, exponents = np.frexp(values.ravel())
    whole = np.ldexp(mantissas, _MANTISSA_BITS).astype(np.int64)
    powers = exponents.astype(np.int64) - _MANTISSA_BITS
    used = whole != 0
    lowest = int(powers[used].min(initial=0))
    shifts = np.where(used, powers - lowest, 0)
    return [n << s for n, s in zip(whole.tolist(), shifts.tolist(), strict=True)], 1 << -lowest


@dataclass(frozen=True)
class ExactMatrix:
    """A matrix of rationals, ``numerators / denominator``; ``source`` is the same in float64, if that is at hand."""

    numerators: fmpz_mat
    denominator: fmpz
    source: Floats | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_floats(cls, values: Floats) -> ExactMatrix:
        """The exact value of a float64 matrix (a vector becomes a column)."""
        table = np.asarray(values, dtype=np.float64)
        if table.ndim == 1:
            table = table[:, None]
        rows, columns = np.nonzero(table)
        if _SPARSE * len(rows) > table.size:
            whole, denominator = as_integers(table)
            return cls(fmpz_mat(*table.shape, whole), fmpz(denominator), table)
        whole, denominator = as_integers(table[rows, columns])
        numerators = fmpz_mat(*table.shape)
        for i, j, entry in zip(rows.tolist(), columns.tolist(), whole, strict=True):
            numerators[i, j] = entry
        return cls(numerators, fmpz(denominator), table)

    @classmethod
    def from_fractions(cls, rows: Sequence[Sequence[Fraction]]) -> ExactMatrix:
        """The matrix with the given rational entries."""
        common = lcm(*{int(entry.denominator) for row in rows for entry in row})
        width = len(rows[0]) if rows else 0
        numerators = [int(e.numerator) * (common // int(e.denominator)) for row in rows for e in row]
        return cls(fmpz_mat(len(rows), width, numerators), fmpz(common))

    @classmethod
    def zeros(cls, rows: int, columns: int) -> ExactMatrix:
        return cls(fmpz_mat(rows, columns), fmpz(1))

    def __reduce__(self) -> tuple[object, ...]:
        """Travel between processes as plain integers, which FLINT's types do not do by themselves."""
        return _rebuild, (*self.shape, [int(n) for n in self.numerators.entries()], int(self.denominator))

    @property
    def shape(self) -> tuple[int, int]:
        return self.numerators.nrows(), self.numerators.ncols()

    def __matmul__(self, other: ExactMatrix) -> ExactMatrix:
        return ExactMatrix(self.numerators * other.numerators, self.denominator * other.denominator)

    def __add__(self, other: ExactMatrix) -> ExactMatrix:
        if self.denominator == other.denominator:
            return ExactMatrix(self.numerators + other.numerators, self.denominator)
        common = self.denominator.lcm(other.denominator)
        left = self.numerators * (common // self.denominator)
        right = other.numerators * (common // other.denominator)
        return ExactMatrix(left + right, common)

    def __sub__(self, other: ExactMatrix) -> ExactMatrix:
        return self + ExactMatrix(-other.numerators, other.denominator)

    def divided_by(self, divisor: int) -> ExactMatrix:
        return ExactMatrix(self.numerators, self.denominator * divisor)

    def transposed(self) -> ExactMatrix:
        return ExactMatrix(self.numerators.transpose(), self.denominator)

    def scaled_rows(self, factors: ExactMatrix) -> ExactMatrix:
        """Multiply row i by ``factors[i, 0]``."""
        scale = [int(f) for f in factors.numerators.entries()]
        rows, columns = self.shape
        entries = self.numerators.entries()
        scaled = [entries[i * columns + j] * scale[i] for i in range(rows) for j in range(columns)]
        return ExactMatrix(fmpz_mat(rows, columns, scaled), self.denominator * factors.denominator)

    def in_coordinates(self, scale: Floats, shift: Floats) -> ExactMatrix:
        """The affine functions ``[W | b]`` of x as functions of y, where ``x = scale * y + shift``."""
        if self.source is not None and np.count_nonzero(self.source) <= 2 * len(self.source):
            return sparse_matrix([_moved(row, scale, shift) for row in self.source], self.shape[1])
        change = ExactMatrix.from_floats(np.concatenate([scale, shift, [1.0]]))
        factors, shifted = change.numerators.entries()[: len(scale)], change.numerators.entries()[len(scale) :]
        constants = (self.numerators * fmpz_mat(len(shifted), 1, shifted)).entries()
        columns = self.shape[1]
        entries = self.numerators.entries()
        moved: list[fmpz] = []
        for i, constant in enumerate(constants):
            moved += [a * f for a, f in zip(entries[i * columns : (i + 1) * columns], factors, strict=False)]
            moved.append(constant)
        return ExactMatrix(fmpz_mat(len(constants), columns, moved), self.denominator * change.denominator)

    def rows(self, indices: Sequence[int]) -> ExactMatrix:
        """The given rows, in order; -1 stands for a row of zeros."""
        count, columns = self.shape
        if self.source is not None:
            places = np.asarray(indices, dtype=np.int64).reshape(-1, 1)
            return ExactMatrix.from_floats(np.where(places >= 0, self.source[places[:, 0]], 0.0))
        zero = [fmpz(0)] * columns
        if 2 * len(indices) < count:
            few = [e for i in indices for e in (self.row(i) if i >= 0 else zero)]
            return ExactMatrix(fmpz_mat(len(indices), columns, few), self.denominator)
        entries = self.numerators.entries()
        picked = [e for i in indices for e in (entries[i * columns : (i + 1) * columns] if i >= 0 else zero)]
        return ExactMatrix(fmpz_mat(len(indices), columns, picked), self.denominator)

    def row(self, index: int) -> list[fmpz]:
        """The numerators of one row."""
        columns = self.shape[1]
        return [self.numerators[index, j] for j in range(columns)]

    def entry(self, row: int, column: int) -> Fraction:
        return Fraction(int(self.numerators[row, column]), int(self.denominator))

    def to_fractions(self) -> list[list[Fraction]]:
        rows, columns = self.shape
        return [[self.entry(i, j) for j in range(columns)] for i in range(rows)]

    def to_floats(self) -> Floats:
        """Nearest float64 of every entry (correctly rounded; huge values become infinite)."""
        if self.source is not None:
            return self.source.copy()
        rows, columns = self.shape
        denominator = int(self.denominator)
        flat = [quotient(int(n), denominator) for n in self.numerators.entries()]
        return np.array(flat, dtype=np.float64).reshape(rows, columns)


def _moved(row: Floats, scale: Floats, shift: Floats) -> dict[int, Fraction]:
    """The entries that are not zero of a row ``[w | b]`` in coordinates y, where ``x = scale * y + shift``."""
    places = np.flatnonzero(row[:-1]).tolist()
    weights = {j: Fraction(row[j]) for j in places}
    found = {j: w * Fraction(scale[j]) for j, w in weights.items()}
    found[len(row) - 1] = Fraction(row[-1]) + sum((w * Fraction(shift[j]) for j, w in weights.items()), Fraction(0))
    return {j: entry for j, entry in found.items() if entry}


def _rebuild(rows: int, columns: int, numerators: list[int], denominator: int) -> ExactMatrix:
    return ExactMatrix(fmpz_mat(rows, columns, numerators), fmpz(denominator))


def quotient(numerator: int, denominator: int) -> float:
    """The nearest float64, or an infinity."""
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")


def nearest(value: Fraction) -> float:
    """The nearest float64 of a rational, or an infinity."""
    return quotient(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    """A FLINT rational as a standard-library one."""
    return Fraction(int(value.p), int(value.q))


def stack_rows(matrices: Sequence[ExactMatrix]) -> ExactMatrix:
    """The matrices one above the other."""
    common = fmpz(lcm(*(int(matrix.denominator) for matrix in matrices)))
    entries = [e for matrix in matrices for e in (matrix.numerators * (common // matrix.denominator)).entries()]
    return ExactMatrix(fmpz_mat(sum(matrix.shape[0] for matrix in matrices), matrices[0].shape[1], entries), common)


def sparse_matrix(rows: Sequence[dict[int, Fraction]], columns: int) -> ExactMatrix:
    """The matrix with the given entries, by column, in each row, and zeros elsewhere."""
    denominator = lcm(*{entry.denominator for row in rows for entry in row.values()})
    numerators, source = fmpz_mat(len(rows), columns), np.zeros((len(rows), columns))
    exact = True
    for i, row in enumerate(rows):
        for j, entry in row.items():
            numerators[i, j] = entry.numerator * (denominator // entry.denominator)
            source[i, j] = quotient(entry.numerator, entry.denominator)
            exact = exact and np.isfinite(source[i, j]) and Fraction(source[i, j]) == entry
    return ExactMatrix(numerators, fmpz(denominator), source if exact else None)
