"""Breaks that are one and the same hyperplane: a duplicated unit, a multiple of another, ties built into a model.

Crossing such a hyperplane changes every unit that breaks on it, so it must be one row. Two breaks count as the same
only if their exact rows are proportional, and as different only if that is proved.
"""

from __future__ import annotations

import numpy as np

from affinelens.arithmetic.proportional_rows import perhaps_proportional, proportion
from affinelens.array_types import Indices
from affinelens.engine.linear_program.conditions import Side
from affinelens.engine.linear_program.parent_cell import Parent


class Arrangement:
    """The distinct hyperplanes that cut a parent, each by the first break on it: ``breaks``; they follow its facets.

    ``side_of`` says for every cutting break on which row it lies, and whether it is turned against that.
    """

    def __init__(self, parent: Parent, cutting: Indices) -> None:
        self._activation = parent.activation
        self.side_of: dict[int, Side] = {}
        first: list[int] = []
        twins = _possibly_equal(parent, cutting)
        for position, index in enumerate(cutting.tolist()):
            for earlier in (int(cutting[other]) for other in twins.get(position, [])):
                parent.solver.checkpoint()
                parent.tally.by_exact_arithmetic += 1
                ratio = proportion(parent.exact_breaks.row(index), parent.exact_breaks.row(earlier))
                if ratio is not None:
                    row, turned = self.side_of[earlier]
                    self.side_of[index] = row, turned if ratio > 0 else -turned
                    break
            else:
                self.side_of[index] = len(parent.facets) + len(first), 1
                first.append(index)
        self.breaks = np.array(first, dtype=np.int64)

    @property
    def live(self) -> list[int]:
        """The choices that have a break among those."""
        choices: list[int] = np.unique(self._activation.breaks.choice[list(self.side_of)]).tolist()
        return choices

    def sides(self, choice: int, piece: int) -> list[Side]:
        """The sides that hold where a choice is on a piece; only breaks that cut the parent count."""
        found = []
        for index, sign in self._activation.constraints(choice, piece):
            if index in self.side_of:
                row, turned = self.side_of[index]
                found.append((row, sign * turned))
        return found


def _possibly_equal(parent: Parent, cutting: Indices) -> dict[int, list[int]]:
    """For each cutting break (by position) the earlier ones that are not proved to be another hyperplane.

    If one row is a multiple of another, so are their values at any points.
    """
    values, errors = parent.breaks[cutting].values(parent.problem.samples - parent.center)
    twins: dict[int, list[int]] = {}
    for pairs in perhaps_proportional(values.T, errors.T, parent.solver.checkpoint):
        for later, earlier in pairs.tolist():
            twins.setdefault(later, []).append(earlier)
    return {later: sorted(others) for later, others in twins.items()}
