"""Facets found by looking around from inside a cell: what a ray breaks first is a facet.

Each is proved by a point just beyond it at which all other conditions still hold by more than their error bounds.
Rays settle most facets of most cells; what they leave open is for linear programs.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import gamma, upward
from affinelens.engine.proofs import BOX_MODE_FROM, Conditions, Ledger, Witness

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
_RAYS_PER_DIMENSION = 8
_SHARES_TOWARD_ROOM = (0.5, 0.9, 0.99)


class Rays:
    """Rays for the cells of one parent."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._dim = ledger.problem.dim

    def facets(self, witness: Witness, conditions: Conditions, asked: Bools) -> tuple[Bools, Bools]:
        """Which of the conditions asked for are facets, and which are certainly not; the rest stays open."""
        hit = np.zeros(len(conditions.rows), dtype=bool)
        idle = np.zeros(len(conditions.rows), dtype=bool)
        if witness.exact is not None:
            return hit, idle
        start = witness.point - self._ledger.centre
        if self._dim < BOX_MODE_FROM:
            hit |= self._hit_along(start, conditions, self._directions)
        else:
            idle |= self._idle_bounds(conditions)
            hit |= self._hit_in_high_dimension(start, witness.roomiest, conditions, asked & ~idle)
        self._ledger.tally.by_rounding_bound += int(np.count_nonzero((hit | idle) & asked))
        return hit & asked, idle & asked

    def _hit_in_high_dimension(
        self, start: Floats, roomiest: Floats | None, conditions: Conditions, asked: Bools
    ) -> Bools:
        hit = self._hit_along_axes(start, conditions)
        if roomiest is not None:
            for share in _SHARES_TOWARD_ROOM:
                hit |= self._hit_along_axes(start + share * (roomiest - start), conditions)
        for directions in (self._ledger.rows.normals, self._sliding_directions):
            rest = asked & ~hit
            against = -directions[conditions.rows[rest]] * conditions.signs[rest, None]
            hit |= self._hit_along(start, conditions, against)
        return hit

    @cached_property
    def _directions(self) -> Floats:
        """Directions to shoot in from any cell of this parent: along every row's normal, and at random."""
        generator = np.random.default_rng(1)
        random = generator.standard_normal((_RAYS_PER_DIMENSION * self._dim, self._dim))
        random /= np.sqrt((random**2).sum(axis=1))[:, None]
        either_way = np.concatenate([self._ledger.rows.normals, random])
        return np.concatenate([either_way, -either_way])

    @cached_property
    def _slopes(self) -> Floats:
        """How fast each row changes in each of the directions."""
        return self._directions @ self._ledger.rows.normals.T

    @cached_property
    def _sliding_directions(self) -> Floats:
        """For each row a direction that changes no other general row: in high dimension it meets the row first."""
        normals = self._ledger.rows.normals
        general = self._ledger.rows.split.general
        span = normals[general]
        inverse = np.linalg.pinv(span)
        directions = normals - (normals @ inverse) @ span
        directions[general] = inverse.T
        return directions

    def _hit_along(self, start: Floats, conditions: Conditions, directions: Floats) -> Bools:
        """Conditions met first by rays in the given directions."""
        hit = np.zeros(len(conditions.rows), dtype=bool)
        margins = self._ledger.values(start[None], conditions)[0][0]
        all_slopes = self._slopes if directions is self._directions else directions @ self._ledger.rows.normals.T
        slopes = all_slopes[:, conditions.rows] * conditions.signs
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.where(slopes < 0, margins / -slopes, np.inf)
        each = np.arange(len(times))
        first = times.argmin(axis=1)
        enter = times[each, first]
        times[each, first] = np.inf
        beyond = 0.5 * (enter + np.minimum(times.min(axis=1, initial=np.inf), 2.0 * enter))
        met = np.isfinite(enter)
        points = start + directions[met] * beyond[met, None]
        first = first[met]
        values, errors = self._ledger.values(points, conditions)
        values[np.arange(len(first)), first] *= -1.0
        proved = np.all(values > errors, axis=1) & self._ledger.trusted(points)
        hit[first[proved]] = True
        return hit

    def _hit_along_axes(self, start: Floats, conditions: Conditions) -> Bools:
        """Bounds of single coordinates that can be crossed by changing that coordinate only, all of them at once.

        Such a ray can meet the general rows, of which there are few in high dimension, and its own bounds; never
        others.
        """
        hit = np.zeros(len(conditions.rows), dtype=bool)
        values, errors = (part[0] for part in self._ledger.values(start[None], conditions))
        if not np.all(values > errors):
            return hit
        axis, coordinate, slope, general = self._split(conditions)
        enter = -values[axis] / slope
        normals = self._ledger.rows.normals[conditions.rows[general]]
        sideways = normals[:, coordinate] * conditions.signs[general, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            blocked = values[general, None] / -(sideways * np.sign(enter))
            leave = np.where(blocked > 0, blocked, np.inf).min(axis=0, initial=np.inf)
        step = 0.5 * (np.abs(enter) + np.minimum(leave, 2.0 * np.abs(enter))) * np.sign(enter)
        moved = start[coordinate] + step
        low, high = self._ledger.trust_box
        rounding = 2 * gamma(self._dim + 6) * (np.abs(start).sum() + np.abs(step))
        others = values[general, None] + sideways * step
        slack = errors[general, None] + rounding + gamma(2) * np.abs(values[general, None])
        clear = np.all(others > upward(slack), axis=0)
        passed = values[axis] + slope * step < -upward(errors[axis] + rounding + gamma(2) * np.abs(values[axis]))
        hit[axis] = clear & passed & (moved >= low[coordinate]) & (moved <= high[coordinate])
        return hit

    def _idle_bounds(self, conditions: Conditions) -> Bools:
        """Bounds of single coordinates that no point of the cell comes near, as some general row is negative there.

        The largest value of a row over the domain's box, less what it loses when one coordinate is held at its worse
        bound, is an interval evaluation for all bounds at once.
        """
        axis, coordinate, slope, general = self._split(conditions)
        low, high = self._ledger.box
        rows = self._ledger.rows[conditions.rows[general]].signed(conditions.signs[general])
        most = rows.offsets + np.maximum(rows.normals * low, rows.normals * high).sum(axis=1)
        extent = np.maximum(np.abs(low), np.abs(high))
        rounding = 2 * gamma(self._dim + 6) * (np.abs(rows.normals) @ extent + np.abs(rows.offsets))
        loss = rows.normals[:, coordinate] * np.sign(slope) * (high - low)[coordinate]
        empty = most[:, None] - loss < -upward(rows.errors + rounding)[:, None]
        idle = np.zeros(len(conditions.rows), dtype=bool)
        idle[axis] = np.any(empty, axis=0)
        return idle

    def _split(self, conditions: Conditions) -> tuple[Indices, Indices, Floats, Indices]:
        """Positions of conditions on single coordinates, those coordinates, the slopes, and positions of the others."""
        split = self._ledger.rows.split
        place = np.full(len(self._ledger.rows), -1)
        place[conditions.rows] = np.arange(len(conditions.rows))
        axis, general = place[split.axis], place[split.general]
        asked = axis >= 0
        slope = split.slope[asked] * conditions.signs[axis[asked]]
        return axis[asked], split.coordinate[asked], slope, general[general >= 0]
