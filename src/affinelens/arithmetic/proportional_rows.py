"""Rows that are multiples of each other, that is, hyperplanes that coincide.

Two rows are proportional if all 2 x 2 determinants of their entries vanish. Integers tell it exactly; of numbers with
known errors it can only be refuted, by a determinant that exceeds its own error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

import numpy as np
from flint import fmpq, fmpz

from affinelens.arithmetic.rounding import upward
from affinelens.array_types import Bools, Floats, Indices

# Pairs of rows that are compared at a time.
_PAIRS_AT_ONCE = 1 << 15


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


def perhaps_proportional(
    rows: Floats, errors: Floats, checkpoint: Callable[[], None] = lambda: None
) -> Iterator[Indices]:
    """Pairs of rows, the later first, that are not proved to differ by more than a factor; some at a time.

    Every entry has its own error. Only rows whose quotients of the first two entries may be the same are compared,
    so that thousands of rows that all differ cost little more than sorting them. ``checkpoint`` is called before
    each comparison of some, and may raise to give up.
    """
    low, high = _quotients(rows, errors)
    order = np.argsort(low, kind="stable")
    # Of two intervals that meet, the one that begins later begins inside the other.
    places = np.arange(len(order))
    following = np.maximum(np.searchsorted(low[order], high[order], side="right") - places - 1, 0)
    ends = np.cumsum(following)
    done = 0
    while done < len(order):
        checkpoint()
        before = int(ends[done - 1]) if done else 0
        stop = max(int(np.searchsorted(ends, before + _PAIRS_AT_ONCE, side="right")), done + 1)
        repeated = np.repeat(places[done:stop], following[done:stop])
        within = np.arange(len(repeated)) - np.repeat(
            ends[done:stop] - following[done:stop] - before, following[done:stop]
        )
        pairs = order[np.stack([repeated, repeated + 1 + within])]
        left, right = pairs.max(axis=0), pairs.min(axis=0)
        same = ~_differ(rows[left], errors[left], rows[right], errors[right])
        yield np.stack([left[same], right[same]], axis=1)
        done = stop


def _quotients(rows: Floats, errors: Floats) -> tuple[Floats, Floats]:
    """Intervals that hold each row's second entry over its first, everything where that may be anything."""
    if rows.shape[1] < 2:
        return np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
    with np.errstate(all="ignore"):
        quotient = rows[:, 1] / rows[:, 0]
        surely = np.abs(rows[:, 0]) * (1 - 2.0**-50) - errors[:, 0]
        radius = (errors[:, 1] + np.abs(quotient) * errors[:, 0]) / surely * (1 + 2.0**-20) + 2.0**-50 * np.abs(
            quotient
        )
        radius += np.finfo(float).tiny
        known = (surely > np.finfo(float).tiny) & np.isfinite(quotient) & np.isfinite(radius)
        return np.where(known, quotient - radius, -np.inf), np.where(known, quotient + radius, np.inf)


def _differ(rows: Floats, errors: Floats, others: Floats, other_errors: Floats) -> Bools:
    """Which rows are proved not to be multiples of the others, one by one."""
    size, other_size = np.abs(rows) + errors, np.abs(others) + other_errors
    with np.errstate(invalid="ignore", over="ignore"):
        left, right = rows[:, :1] * others[:, 1:], rows[:, 1:] * others[:, :1]
        bound = (
            errors[:, :1] * other_size[:, 1:] + size[:, :1] * other_errors[:, 1:]
            + errors[:, 1:] * other_size[:, :1] + size[:, 1:] * other_errors[:, :1]
            + 2.0**-50 * (np.abs(left) + np.abs(right))
        )  # fmt: skip
        differ: Bools = np.any(np.abs(left - right) > bound * (1 + 2.0**-20), axis=1)
    return differ
