"""Rows that are multiples of each other, that is, hyperplanes that coincide.

Two rows are proportional if all 2 x 2 determinants of their entries vanish. Integers tell it exactly; of numbers with
known errors it can only be refuted, by a determinant that exceeds its own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

import numpy as np
from flint import fmpq, fmpz

from affinelens.arithmetic.rounding import upward
from affinelens.array_types import Bools, Floats


def direction(row: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """The row divided by its content, first entry positive; and the sign that was taken out (0 for a row of zeros)."""
    content = gcd(*row)
    if content == 0:
        return tuple(row), 0
    if next(n for n in row if n) > 0:
        return tuple(n // content for n in row), 1
    return tuple(-n // content for n in row), -1


def proportion(row: Sequence[fmpz], other: Sequence[fmpz]) -> fmpq | None:
    """The number r with ``row == r * other``, or None if there is none, or r is 0."""
    pivot = next((k for k, a in enumerate(other) if a), None)
    if pivot is None or not row[pivot]:
        return None
    a, b = row[pivot], other[pivot]
    if all(x * b == y * a for x, y in zip(row, other, strict=True)):
        return fmpq(a, b)
    return None


def differ_from(rows: Floats, error: Floats, others: Floats, other_error: Floats) -> Bools:
    """Which of ``rows[:, i]`` are proved not to be multiples of ``others[i]``, whose largest entry is about 1.

    All entries of a row have the same error, ``error[:, i]`` or ``other_error[i]``, which must be at least a few
    roundings of the largest of them.
    """
    place = np.arange(len(others))
    pivot = np.abs(others).argmax(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        determinants = rows * others[place, pivot][:, None] - rows[:, place, pivot][..., None] * others
        size = np.abs(rows).max(axis=-1)
        bound = upward(2 * (error + (size + error) * other_error))
        differ: Bools = np.any(np.abs(determinants) > bound[..., None], axis=-1)
    return differ


def differ_pairwise(rows: Floats, errors: Floats) -> Bools:
    """Which pairs of rows are proved not to be proportional, every entry having its own error."""
    size = np.abs(rows) + errors
    left = rows[:, None, :1] * rows[None, :, 1:]
    right = rows[:, None, 1:] * rows[None, :, :1]
    bound = (
        errors[:, None, :1] * size[None, :, 1:] + size[:, None, :1] * errors[None, :, 1:]
        + errors[:, None, 1:] * size[None, :, :1] + size[:, None, 1:] * errors[None, :, :1]
        + 2.0**-50 * (np.abs(left) + np.abs(right))
    )  # fmt: skip
    differ: Bools = np.any(np.abs(left - right) > bound * (1 + 2.0**-20), axis=2)
    return differ
