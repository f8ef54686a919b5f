"""Breaks that are one and the same hyperplane: a duplicated unit, a multiple of another, ties built into a model.

Crossing such a hyperplane changes every unit that breaks on it, so it must be one row. Two breaks count as the same
only if their exact rows are proportional, and as different only if that is proved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpz
from numpy.typing import NDArray

from affinelens.engine.linear_program.parent_cell import Parent

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Arrangement:
    """The distinct hyperplanes that cut a parent: ``classes[c]`` is the first break on hyperplane c.

    ``class_of`` and ``orientation`` (+1 or -1, against that first break) are defined for every cutting break.
    """

    classes: list[int]
    class_of: dict[int, int]
    orientation: dict[int, int]


def merge_breaks(parent: Parent, cutting: Indices) -> Arrangement:
    """Group the cutting breaks by hyperplane."""
    class_of: dict[int, int] = {}
    orientation: dict[int, int] = {}
    classes: list[int] = []
    twins = _possibly_equal(parent, cutting)
    for position, index in enumerate(cutting.tolist()):
        for earlier in (int(cutting[other]) for other in twins.get(position, [])):
            parent.tally.by_exact_arithmetic += 1
            ratio = proportion(parent.exact_breaks.row(index), parent.exact_breaks.row(earlier))
            if ratio is not None:
                class_of[index] = class_of[earlier]
                orientation[index] = orientation[earlier] * (1 if ratio > 0 else -1)
                break
        else:
            class_of[index] = len(classes)
            orientation[index] = 1
            classes.append(index)
    return Arrangement(classes, class_of, orientation)


def proportion(row: list[fmpz], other: list[fmpz]) -> fmpq | None:
    """The number r with ``row == r * other``, or None if there is none."""
    pivot = next((k for k, a in enumerate(other) if a), None)
    if pivot is None or not row[pivot]:
        return None
    a, b = row[pivot], other[pivot]
    if all(x * b == y * a for x, y in zip(row, other, strict=True)):
        return fmpq(a, b)
    return None


def _possibly_equal(parent: Parent, cutting: Indices) -> dict[int, list[int]]:
    """For each cutting break (by position) the earlier ones that are not proved to be another hyperplane.

    If one row is a multiple of another, so are their values at any points; a 2 x 2 determinant of values that exceeds
    its error bound refutes that.
    """
    values, errors = parent.breaks[cutting].values(parent.problem.samples - parent.cell.point)
    v, e = values.T, errors.T
    size = np.abs(v) + e
    left = v[:, None, :1] * v[None, :, 1:]
    right = v[:, None, 1:] * v[None, :, :1]
    bound = (
        e[:, None, :1] * size[None, :, 1:] + size[:, None, :1] * e[None, :, 1:]
        + e[:, None, 1:] * size[None, :, :1] + size[:, None, 1:] * e[None, :, :1]
        + 2.0**-50 * (np.abs(left) + np.abs(right))
    )  # fmt: skip
    distinct = np.any(np.abs(left - right) > bound * (1 + 2.0**-20), axis=2)
    twins: dict[int, list[int]] = {}
    for later, earlier in np.argwhere(np.tril(~distinct, k=-1)).tolist():
        twins.setdefault(later, []).append(earlier)
    return twins
