"""Are the stated facets all that a region has? They are if they imply every other constraint of its pattern.

Let P be what a region's stated facets bound. The region itself is where all constraints of its pattern and of the
domain hold; P contains it, and equals it if each of these constraints, as a function u, is nowhere negative on P. That
is proved by multipliers: ``u = sum_i m_i f_i + r`` with facets' functions f_i, all m_i >= 0, and a rest r that is
positive all over a box around the domain in spite of all rounding. Multipliers that are good enough are those of a
vertex of P where u is smallest, so the vertices are found, in float64, by trying all sets of facets: no more than a
hint. What stays open is decided by an exact linear program.

The box is twice as wide as the domain. Where the domain's own constraints hold on all of P in the box, P does not
reach the box's border, and then P, being convex, has no points outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from flint import fmpq, fmpz, fmpz_mat

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactProgram, Infeasible
from affinelens.array_types import Bools, Indices, Signs
from affinelens.blocks import blocks
from affinelens.measure.audit.implied_constraints import (
    BreakTable,
    Constraints,
    StatedLists,
    Surroundings,
    prove_implied,
)
from affinelens.regions import Regions, restricted_functions
from affinelens.regions.region_functions import RegionFunctions

# How many operations are spent on trying sets of facets; then it is a sample of regions that is looked at.
_MOST_OPERATIONS = 5 * 10**10
# Constraints of several regions are looked at together as long as they take no more numbers than this.
_NUMBERS_AT_ONCE = 1 << 17


@dataclass
class ListTally:
    """How many regions and constraints were looked at, and how many constraints in rational arithmetic."""

    regions: int = 0
    constraints: int = 0
    exactly: int = 0


class FacetLists:
    """The lists of facets that a set of regions states; patterns and points must be right."""

    def __init__(self, regions: Regions, seed: int) -> None:
        self._regions = regions
        self._restricted = restricted_functions(regions).restricted
        self._region_functions = RegionFunctions.of(regions)
        self._frame = regions.domain.frame
        lower, upper = self._frame.lower, self._frame.upper
        middle = lower + (upper - lower) / 2
        radius = np.maximum(upper - middle, middle - lower) * (1 + 4 * UNIT_ROUNDOFF)
        self._box = [[fmpq(*float(v).as_integer_ratio()) for v in middle + side * 2 * radius] for side in (-1, 1)]
        self._surroundings = Surroundings(middle, radius, self._frame.reach)
        self._domain = self._frame.rows.to_floats()
        self._breaks = _break_table(self._region_functions)
        self._numbers = regions.hyperplanes.of_restricted(self._restricted)
        self._place = np.full(len(regions.hyperplanes), -1)
        self._place[self._numbers] = np.arange(len(self._numbers))
        self.wanted = _affordable(np.diff(regions.facet_offsets), self._frame.dim, seed)
        self.tally = ListTally()

    def first_incomplete(self) -> tuple[int, str] | None:
        """A region that has a facet which it does not state, and where, or None if there is none."""
        width = len(self._numbers) * (self._frame.dim + 1)
        wanted = (rows for rows in blocks(len(self._regions), width, _NUMBERS_AT_ONCE) if self.wanted[rows].any())
        return next(filter(None, map(self._first_not_implied, wanted)), None)

    def _first_not_implied(self, block: slice) -> tuple[int, str] | None:
        dim, wanted = self._frame.dim, self.wanted[block]
        *before, _ = self._region_functions.functions(np.arange(block.start, block.stop))
        signs = self._signs(block)
        offsets = self._regions.facet_offsets[block.start : block.stop + 1]
        listed = self._place[self._regions.facet_values[offsets[0] : offsets[-1]]]
        empty = np.zeros((0, block.stop - block.start, dim + 1))
        functions = np.concatenate([empty, *(stage.table[:, stage.place] for stage in before)])
        found = prove_implied(
            Constraints(functions, self._domain, self._breaks, signs),
            StatedLists(listed, offsets - offsets[0], wanted),
            self._surroundings,
        )
        self.tally.regions += int(wanted.sum())
        self.tally.constraints += int(np.count_nonzero(signs[wanted]))
        for i in np.flatnonzero(found.undecided.any(axis=1)).tolist():
            exact = _ExactRegion(self._regions, block.start + i, signs[i], self._place, self._box)
            for j in np.flatnonzero(found.undecided[i]).tolist():
                self.tally.exactly += 1
                if not exact.implies(j, found.hints[i, j].tolist()):
                    return block.start + i, self._regions.describe_hyperplane(int(self._numbers[j]))
        return None

    def _signs(self, block: slice) -> Signs:
        """By what each constraint's function is multiplied so that it is not negative on a region; 0: it may be.

        A row a region; those of the domain come first.
        """
        rows = np.arange(block.start, block.stop)
        sides = [np.ones((len(self._domain), len(rows)), dtype=np.int8)]
        for index, stage in enumerate(self._restricted.stages):
            sides.append(stage.activation.signs_on(self._region_functions.pieces.of(index, rows)))
        return np.ascontiguousarray(np.concatenate(sides).T)


class _ExactRegion:
    """One region's constraints in rational arithmetic, and what its stated facets bound inside a box.

    Constraints have places: those of the domain's rows first, then those of the restricted network's breaks. ``place``
    tells them for numbers of hyperplanes.
    """

    def __init__(self, regions: Regions, region: int, signs: Signs, place: Indices, box: Sequence[list[fmpq]]) -> None:
        self._functions = restricted_functions(regions)
        self._pattern = regions.pattern(region)
        self._rows = regions.domain.frame.rows
        self._signs = signs
        stages = self._functions.restricted.stages
        self._ends = np.cumsum([self._rows.shape[0], *(len(stage.breaks) for stage in stages)])
        facets = [self._row(j) for j in place[regions[region].facet_numbers].tolist()]
        table = fmpz_mat(len(facets), self._rows.shape[1], [a for row in facets for a in row])
        self._program = ExactProgram(table, *box)

    def implies(self, constraint: int, hint: list[int]) -> bool:
        """Whether the stated facets imply a constraint; a hint is a set of facets that may do, or begins with -1."""
        row = self._row(constraint)
        if not any(row):
            return True
        enough = fmpq(row[-1])
        best = self._program.maximise([-a for a in row[:-1]], start=hint if hint[0] >= 0 else None, enough=enough)
        assert not isinstance(best, Infeasible)
        return bool(best.value <= enough)

    def _row(self, constraint: int) -> list[fmpz]:
        if constraint < self._rows.shape[0]:
            return self._rows.row(constraint)
        index = int(np.searchsorted(self._ends, constraint, side="right")) - 1
        row = self._functions.exact.row(index, constraint - int(self._ends[index]), self._pattern)
        return row if self._signs[constraint] > 0 else [-a for a in row]


def _break_table(functions: RegionFunctions) -> BreakTable:
    nothing = np.zeros(0, dtype=np.int64)
    plus, minus, threshold, error = [nothing], [nothing], [np.zeros(0)], [np.zeros(0)]
    first = 0
    for stage, off in zip(functions.restricted.stages, functions.errors, strict=False):
        breaks = stage.activation.breaks
        plus.append(first + breaks.plus)
        minus.append(np.where(breaks.minus >= 0, first + breaks.minus, -1))
        threshold.append(breaks.threshold)
        error.append(off[breaks.plus] + np.where(breaks.minus >= 0, off[breaks.minus], 0.0))
        first += len(off)
    return BreakTable(np.concatenate(plus), np.concatenate(minus), np.concatenate(threshold), np.concatenate(error))


def _affordable(facets: Indices, dim: int, seed: int) -> Bools:
    """Which regions are looked at: all, or as many of them, drawn at random, as not too many sets of facets allow."""
    kinds, kind = np.unique(facets, return_inverse=True)
    cost = np.array([min(comb(k, dim) * dim * (dim * dim + k), 10**15) for k in kinds.tolist()], dtype=np.float64)[kind]
    if cost.sum() <= _MOST_OPERATIONS:
        return np.ones(len(facets), dtype=bool)
    order = np.random.default_rng(seed).permutation(len(facets))
    wanted = np.zeros(len(facets), dtype=bool)
    wanted[order] = np.cumsum(cost[order]) <= _MOST_OPERATIONS
    return wanted
