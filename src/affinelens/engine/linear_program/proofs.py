"""Is there a point strictly on the stated side of each of these rows? A proved yes or a proved no.

A :class:`Ledger` holds the rows of one parent cell and answers that question for sets of (row, sign) conditions,
cheapest proof first:

1. *no*, because the conditions contain a combination already refuted (a circuit): three lines bound a triangle once,
   and every cell on the far side of it is refuted by the same multipliers;
2. *yes*, by a point whose margins exceed their error bounds; *no*, by multipliers whose combination is negative
   all over the domain in spite of rounding; both suggested by the interior-point method in high dimension, and HiGHS;
3. whatever floating point leaves open, by the exact simplex, which answers *yes* with a rational point or *no* with
   rational multipliers.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.highs import Ball
from affinelens.arithmetic.rational import fraction, stack_rows
from affinelens.array_types import Bools, Floats, Indices, Signs
from affinelens.engine.linear_program.conditions import Conditions, Refuted, Side
from affinelens.engine.linear_program.coordinate_bounds import Room, Sides
from affinelens.engine.linear_program.exact_search import Suggestion, search_exactly
from affinelens.engine.linear_program.interior_point import INSIDE, UNDECIDED, look_inside
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Witness

_NEGLIGIBLE_MULTIPLIER = 1e-11
# A combination may lose this share of its slack when rows that matter little are left out of it.
_SLACK_TO_SPEND = 0.5


class Ledger:
    """A parent's facets, then some of its breaks, around its center, with everything refuted so far."""

    def __init__(self, parent: Parent, breaks: Indices) -> None:
        self._parent = parent
        self._breaks = breaks
        self._problem = parent.problem
        self.center = parent.center
        self.rows = parent.facets.joined(parent.breaks[breaks])
        self.own_first = len(parent.facets)
        self.numbers = np.concatenate([parent.facet_numbers, parent.break_numbers[breaks]])
        self._turned = np.concatenate([parent.facet_signs, np.ones(len(breaks), dtype=np.int8)])
        domain_facets = int(np.count_nonzero(self._problem.hyperplanes.of_domain(parent.facet_numbers)))
        self._domain_facets = (1 << domain_facets) - 1
        self._refuted = Refuted(self.own_first)
        low, high = self._problem.trust_box
        self._trust = np.nextafter(low - self.center, np.inf), np.nextafter(high - self.center, -np.inf)

    @cached_property
    def _exact(self) -> ExactMatrix:
        return stack_rows([self._parent.exact_facets, self._parent.exact_breaks.rows(self._breaks.tolist())])

    def named(self, rows: Indices, signs: Signs) -> tuple[Indices, Signs]:
        """Rows and sides of them by the numbers of their hyperplanes."""
        return self.numbers[rows], signs * self._turned[rows]

    def trusted(self, points: Floats) -> NDArray[np.bool_]:
        """Which displacements lie in the trust box, where the rows' error bounds hold."""
        low, high = self._trust
        inside: Bools = np.all((points >= low) & (points <= high), axis=-1)
        return inside

    def known_empty(self, conditions: Conditions, asked: Collection[Side]) -> bool:
        """Whether a refuted combination that involves a side asked for is among the conditions."""
        return self.known_empty_masks(conditions.positive, conditions.negative, asked)

    def known_empty_masks(self, positive: int, negative: int, asked: Collection[Side]) -> bool:
        """As :meth:`known_empty`, for conditions as bit masks."""
        found = self._refuted.contains(positive, negative, asked)
        self._parent.tally.by_reuse += int(found)
        return found

    def checkpoint(self) -> None:
        """Stop a search whose limit was reached."""
        self._parent.solver.checkpoint()

    def values(self, points: Floats, conditions: Conditions) -> tuple[Floats, Floats]:
        """Margins of conditions at displacements (one a row) and bounds on their errors."""
        values, errors = self.rows.values(points)
        return values[:, conditions.rows] * conditions.signs, errors[:, conditions.rows]

    def signs_at(self, point: Floats) -> Signs:
        """The proved sign of each row at a point of the domain; 0 where rounding leaves it open."""
        values, errors = self.rows.values((point - self.center)[None])
        return np.where(np.abs(values[0]) > errors[0], np.sign(values[0]), 0).astype(np.int8)

    def least(self, cost: Floats, conditions: Conditions) -> Ball | None:
        """A place where ``cost @ w`` is least under the conditions, with multipliers; nothing of it is proved."""
        normals, offsets = self._signed(conditions)
        return self._parent.solver.minimise(cost, normals, offsets, *self._parent.outer_box, self._parent.scale)

    def find(self, conditions: Conditions) -> Witness | None:
        """A point strictly on the stated side of every row; None if there is none.

        In low dimension it is the Chebyshev center, if floating point can tell.
        """
        ball: Ball | None = None
        for look in (self._short_look, self._largest_ball) if self._problem.box_mode else (self._largest_ball,):
            ball = look(conditions)
            if ball is None:
                continue
            witness = self._strictly_inside(ball, conditions) if ball.radius > 0 else None
            if witness is not None or self._refutes(ball.multipliers, conditions):
                return witness
        return self._find_exactly(conditions, ball)

    def _short_look(self, conditions: Conditions) -> Ball | None:
        """What the interior-point method suggests: a ball, or multipliers and no radius, or None if it cannot tell."""
        room = self._room(conditions)
        if room.is_empty or not len(conditions.rows):
            return None
        self._parent.solver.begin()
        verdict, point, multipliers = look_inside(
            self.rows.normals, self.rows.offsets, conditions.rows, conditions.signs, *room.seen
        )
        if verdict == INSIDE:
            return Ball(point, 1.0, np.zeros(len(conditions.rows)))
        return None if verdict == UNDECIDED else Ball(point, 0.0, multipliers / multipliers.sum())

    def _largest_ball(self, conditions: Conditions) -> Ball | None:
        normals, offsets = self._signed(conditions)
        scale = self._parent.scale
        if not self._problem.box_mode:
            low, high = self._trust
            low, high = np.maximum(low, -1e9 * scale), np.minimum(high, 1e9 * scale)
            return self._parent.solver.largest_ball(normals, offsets, low, high, scale)
        room = self._room(conditions)
        return None if room.is_empty else self._parent.solver.largest_ball_in_box(normals, offsets, *room.seen, scale)

    def _signed(self, conditions: Conditions) -> tuple[Floats, Floats]:
        rows, signs = conditions.rows, conditions.signs
        return self.rows.normals[rows] * signs[:, None], self.rows.offsets[rows] * signs

    def _leaves_domain(self, conditions: Conditions) -> bool:
        return conditions.beyond is not None or bool(conditions.negative & self._domain_facets)

    def _room(self, conditions: Conditions) -> Room:
        """The box that is left to points by the domain, or beyond it the trust box, and the bounds."""
        if self._leaves_domain(conditions):
            return self._parent.bounds.room(self._problem.trust_box, self.center, conditions.beyond)
        return self._parent.room

    def _strictly_inside(self, ball: Ball, conditions: Conditions) -> Witness | None:
        """Prove that a float64 point satisfies the conditions strictly: by margins, or else exactly."""
        point = self.center + ball.point
        if not self._room(conditions).holds(point):
            return None
        values, errors = self.values((point - self.center)[None], conditions)
        if np.all(values > errors):
            self._parent.tally.by_rounding_bound += 1
            return Witness(point)
        if np.any(values < -errors):
            return None
        if self._exactly_positive(point, conditions):
            self._parent.tally.by_exact_arithmetic += 1
            return Witness(point)
        return None

    def _refutes(self, multipliers: Floats, conditions: Conditions) -> bool:
        """Prove that no point of the box makes the combination positive, and keep it, with few rows if that pays."""
        box = self._room(conditions).around
        used = np.flatnonzero(multipliers > _NEGLIGIBLE_MULTIPLIER)
        weights = -multipliers * conditions.signs
        for positions in (self._few_rows(weights, used, conditions, box), used) if self._problem.box_mode else (used,):
            spread = np.zeros(len(self.rows))
            spread[conditions.rows[positions]] = weights[positions]
            if self.rows.combination_bound(spread, *box) > 0:  # NaN proves nothing
                self._parent.tally.by_rounding_bound += 1
                self._remember(positions, conditions)
                return True
        return False

    def _few_rows(self, weights: Floats, used: Indices, conditions: Conditions, box: Sides) -> Indices:
        """Those of some conditions that are enough to make the combination negative on the box, the weightiest kept."""
        rows, weights = conditions.rows[used], -weights[used]
        middle, half = 0.5 * (box[1] + box[0]), 0.5 * (box[1] - box[0])
        normals = weights[:, None] * self.rows.normals[rows]
        starts = normals @ middle + weights * self.rows.offsets[rows]
        normals *= half
        slope, start = normals.sum(axis=0), float(starts.sum())
        most = _SLACK_TO_SPEND * (start + float(np.abs(slope).sum()))
        kept = np.ones(len(rows), dtype=bool)
        for i in np.argsort(np.abs(weights), kind="stable").tolist():
            rest = slope - normals[i]
            if start - starts[i] + float(np.abs(rest).sum()) < most:
                slope, start = rest, start - starts[i]
                kept[i] = False
        return used[kept]

    def _remember(self, positions: Indices | list[int], conditions: Conditions) -> None:
        """Keep some of the conditions, refuted together, for other cells of the same parent."""
        rows, signs = conditions.rows[positions].tolist(), conditions.signs[positions].tolist()
        self._refuted.add(list(zip(rows, signs, strict=True)), conditions.beyond)

    def _find_exactly(self, conditions: Conditions, hint: Ball | None) -> Witness | None:
        """As :meth:`find`, over the rationals."""
        self._parent.tally.by_exact_arithmetic += 1
        box = self._problem.exact_boxes[self._leaves_domain(conditions)]
        box = self._parent.bounds.narrowed_exactly(box, conditions.beyond)
        rows = [[a * sign for a in self._exact.row(row)] for row, sign in conditions.sides]
        suggested = None
        if hint is not None:
            weighty = np.flatnonzero(hint.multipliers > _NEGLIGIBLE_MULTIPLIER).tolist()
            suggested = Suggestion(weighty, self.center + (hint.point if hint.roomiest is None else hint.roomiest))
        found = search_exactly(rows, box, suggested, self._parent.solver.checkpoint)
        if isinstance(found, set):
            self._remember(sorted(found), conditions)
            return None
        exact = tuple(fraction(value) for value in found)
        rounded = np.array([float(value) for value in exact])
        floats_do = self._room(conditions).holds(rounded) and self._exactly_positive(rounded, conditions)
        return Witness(rounded, None if floats_do else exact)

    def _exactly_positive(self, point: Floats, conditions: Conditions) -> bool:
        column = ExactMatrix.from_floats(np.append(point, 1.0)).numerators
        values = (self._exact.rows(conditions.rows.tolist()).numerators * column).entries()
        return all(value * sign > 0 for value, sign in zip(values, conditions.signs.tolist(), strict=True))
