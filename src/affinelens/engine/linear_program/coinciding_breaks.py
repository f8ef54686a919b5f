"""Breaks that are one and the same hyperplane: a duplicated unit, a multiple of another, ties built into a model.

Crossing such a hyperplane changes every unit that breaks on it, so it must be one row. Two breaks count as the same
only if their exact rows are proportional, and as different only if that is proved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic.proportional_rows import differ_pairwise, proportion
from affinelens.array_types import Indices
from affinelens.engine.linear_program.parent_cell import Parent


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


def _possibly_equal(parent: Parent, cutting: Indices) -> dict[int, list[int]]:
    """For each cutting break (by position) the earlier ones that are not proved to be another hyperplane.

    If one row is a multiple of another, so are their values at any points.
    """
    values, errors = parent.breaks[cutting].values(parent.problem.samples - parent.cell.point)
    distinct = differ_pairwise(values.T, errors.T)
    twins: dict[int, list[int]] = {}
    for later, earlier in np.argwhere(np.tril(~distinct, k=-1)).tolist():
        twins.setdefault(later, []).append(earlier)
    return twins
