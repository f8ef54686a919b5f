"""Which pieces of a box of many dimensions are empty, given the sides of a few rows: proved answers at small cost.

As :class:`affinelens.engine.linear_program.proofs.Ledger`, with the bounds of single coordinates kept apart as a box
that every question shares, so that a question names rows of the network only. What floating point leaves open is handed
on to a ledger of all rows, and in the end decided over the rationals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from affinelens.array_types import Floats, Indices, Signs
from affinelens.engine.linear_program.interior_point import EMPTY, INSIDE, look_inside
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.proofs import Ledger, Witness

Side = tuple[int, int]
# A combination may lose this share of its slack when rows that matter little are left out of it.
_SLACK_TO_SPEND = 0.5


class BoxLedger:
    """The general facets of a parent (row numbers below ``own_first``), then one row for each of some breaks."""

    def __init__(self, parent: Parent, breaks: Indices) -> None:
        self._parent = parent
        self._breaks = breaks
        facets = parent.facets.general_only()
        self.own_first = len(facets)
        self.rows: LocalRows = facets.joined(parent.breaks[breaks])
        center = parent.cell.point
        self._inner = parent.problem.inner_box
        self._low, self._high = self._inner[0] - center, self._inner[1] - center
        self._outer = parent.outer_box
        self._refuted: dict[Side, list[tuple[int, int]]] = defaultdict(list)
        self._full: Ledger | None = None

    @property
    def full(self) -> Ledger:
        """A ledger of all facets of the parent, bounds included, followed by the breaks."""
        if self._full is None:
            self._full = self._parent.ledger(self._breaks)
        return self._full

    def full_row(self, row: int) -> int:
        """The number that a row has in the full ledger."""
        facets = self._parent.facets
        return int(facets.general[row]) if row < self.own_first else row - self.own_first + len(facets)

    def signs_at(self, point: Floats) -> Signs:
        """The proved sign of each row at a point of the domain; 0 where rounding leaves it open."""
        values, errors = self.rows.values((point - self._parent.cell.point)[None])
        return np.where(np.abs(values[0]) > errors[0], np.sign(values[0]), 0).astype(np.int8)

    def known_empty(self, positive: int, negative: int, asked: Sequence[Side]) -> bool:
        """Whether the sides in two bit masks contain a refuted combination, one that involves a side asked for."""
        outside_positive, outside_negative = ~positive, ~negative
        for side in asked:
            for needed_positive, needed_negative in self._refuted[side]:
                if not (needed_positive & outside_positive or needed_negative & outside_negative):
                    self._parent.tally.by_reuse += 1
                    return True
        return False

    def find(self, sides: Sequence[Side]) -> Witness | None:
        """A point of the box strictly on the given sides of rows, or None if there is none.

        All the parent's rows must be among them, if need be turned round.
        """
        rows, signs = np.array([row for row, _ in sides]), np.array([sign for _, sign in sides], dtype=np.int8)
        self._parent.solver.begin()
        verdict, point, multipliers = look_inside(
            self.rows.normals, self.rows.offsets, rows, signs, self._low, self._high
        )
        if verdict == INSIDE:
            witness = self._strictly_inside(self._parent.cell.point + point, rows, signs)
            if witness is not None:
                return witness
        if verdict == EMPTY and self._refutes(multipliers, rows, signs):
            return None
        return self._ask_full(sides)

    def _strictly_inside(self, point: Floats, rows: Indices, signs: Signs) -> Witness | None:
        low, high = self._inner
        if not np.all((point > low) & (point < high)):
            return None
        if not np.array_equal(self.signs_at(point)[rows], signs):
            return None
        self._parent.tally.by_rounding_bound += 1
        return Witness(point)

    def _refutes(self, multipliers: Floats, rows: Indices, signs: Signs) -> bool:
        """Prove that no point of the box makes the combination positive, and keep it, with few rows if possible."""
        weights = multipliers * signs
        for used in (self._few_rows(weights, rows), np.arange(len(rows))):
            spread = np.zeros(len(self.rows))
            spread[rows[used]] = -weights[used]
            if self.rows.combination_bound(spread, *self._outer) > 0:  # NaN proves nothing
                self._parent.tally.by_rounding_bound += 1
                self._remember([(int(rows[i]), int(signs[i])) for i in used])
                return True
        return False

    def _few_rows(self, weights: Floats, rows: Indices) -> Indices:
        """Positions of rows that are enough to make the combination negative on the box, the weightiest kept."""
        normals = weights[:, None] * self.rows.normals[rows]
        offsets = weights * self.rows.offsets[rows]
        middle, half = 0.5 * (self._high + self._low), 0.5 * (self._high - self._low)
        starts = normals @ middle + offsets
        normals = normals * half
        slope, start = normals.sum(axis=0), float(starts.sum())
        most = _SLACK_TO_SPEND * (start + float(np.abs(slope).sum()))
        kept = np.ones(len(rows), dtype=bool)
        for i in np.argsort(np.abs(weights), kind="stable").tolist():
            rest = slope - normals[i]
            if start - starts[i] + float(np.abs(rest).sum()) < most:
                slope, start = rest, start - starts[i]
                kept[i] = False
        return np.flatnonzero(kept)

    def _remember(self, sides: Sequence[Side]) -> None:
        positive = sum(1 << row for row, sign in sides if sign > 0)
        negative = sum(1 << row for row, sign in sides if sign < 0)
        for row, sign in sides:
            if row >= self.own_first or sign < 0:  # the positive side of a facet of the parent is never in question
                self._refuted[row, sign].append((positive, negative))

    def _ask_full(self, sides: Sequence[Side]) -> Witness | None:
        own = [(row, sign) for row, sign in sides if row >= self.own_first]
        conditions = self._parent.inside.joined({self.full_row(row): sign for row, sign in own})
        beyond = [self.full_row(row) for row, sign in sides if row < self.own_first and sign < 0]
        for row in beyond:
            conditions = conditions.flipped(row)
        asked = [*((self.full_row(row), sign) for row, sign in own), *((row, -1) for row in beyond)]
        if any(self.full.known_empty(conditions, row, sign) for row, sign in asked):
            return None
        return self.full.settle(conditions)
