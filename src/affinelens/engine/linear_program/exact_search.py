"""What floating point leaves open, over the rationals: a point of a box at which rows are positive, or multipliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpz, fmpz_mat

from affinelens.arithmetic import ExactProgram, Infeasible
from affinelens.arithmetic.rational import fraction
from affinelens.array_types import Floats
from affinelens.engine.linear_program.coordinate_bounds import ExactSides


class Suggestion(NamedTuple):
    """What floating point makes of a program: the rows that matter, and about where the point is."""

    rows: list[int]
    place: Floats


def search_exactly(
    rows: list[list[fmpz]], box: ExactSides, suggested: Suggestion | None, checkpoint: Callable[[], None]
) -> list[fmpq] | set[int]:
    """A point strictly inside a box at which all rows are positive; if there is none, the rows that show it.

    The smallest margin of the rows is maximised in the closed box. Its interior is not empty, so a point of it at which
    the rows are positive can be moved inside with them.
    """
    low, high = box
    if any(a >= b for a, b in zip(low, high, strict=True)):
        return set()
    dimension = len(low)
    sizes = [max((abs(a) for a in row[:-1]), default=fmpz(0)) or fmpz(1) for row in rows]
    entries = [a for row, size in zip(rows, sizes, strict=True) for a in (*row[:-1], -size, row[-1])]
    program = ExactProgram(fmpz_mat(len(rows), dimension + 2, entries), [*low, fmpq(-1)], [*high, fmpq(1)])
    goal = [*[fmpz(0)] * dimension, fmpz(1)]
    start = None if suggested is None else _basis(suggested, len(rows), box)
    result = program.maximise(goal, start=start, enough=fmpq(0), checkpoint=checkpoint)
    if isinstance(result, Infeasible) or result.value <= 0:
        return {i for i in result.multipliers if i < len(rows)}
    return _moved_inside(result.point[:-1], rows, box)


def _basis(suggested: Suggestion, count: int, box: ExactSides) -> list[int]:
    """The basis that a floating-point solution stands for: rows with multipliers, and coordinates at a bound."""
    sides = np.array([[float(fraction(bound)) for bound in bounds] for bounds in box])
    gaps = np.abs(sides - suggested.place) / (sides[1] - sides[0])
    nearest_first = np.argsort(gaps.min(axis=0))
    held = nearest_first[: max(len(suggested.place) + 1 - len(suggested.rows), 0)]
    return [*suggested.rows, *(count + 2 * k + int(gaps[1, k] < gaps[0, k]) for k in held.tolist())]


def _moved_inside(point: list[fmpq], rows: list[list[fmpz]], box: ExactSides) -> list[fmpq]:
    """Move a point at which all rows are positive toward the middle of its box, so far that they stay positive.

    A point that is inside the box already stays where it is.
    """
    if all(a < x < b for a, x, b in zip(box[0], point, box[1], strict=True)):
        return point
    middle = [(a + b) / 2 for a, b in zip(*box, strict=True)]
    share = fmpq(1, 2)
    for row in rows:
        here = sum((a * x for a, x in zip(row[:-1], point, strict=True)), fmpq(row[-1]))
        there = sum((a * x for a, x in zip(row[:-1], middle, strict=True)), fmpq(row[-1]))
        if there <= 0:
            share = min(share, here / (here - there) / 2)
    return [x + share * (m - x) for x, m in zip(point, middle, strict=True)]
