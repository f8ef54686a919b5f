"""Facets found by looking around from inside a cell: what a ray breaks first is a facet.

Each is proved by a point just beyond it at which all other conditions still hold by more than their error bounds.
Rays settle most facets of most cells; what they leave open is for linear programs.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import gamma, upward
from affinelens.engine.proofs import Conditions, Ledger, Witness

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
_RAYS_PER_DIMENSION = 8
_SHARES_TOWARD_ROOM = (0.5, 0.9, 0.99)
_CORNERS = 16
_CORNER_PAYS_FROM = 8
_CORNER_STEPS = (1e-2, 1e-4)
_TIGHT = 1e-7


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
        if not self._ledger.problem.box_mode:
            hit |= self._hit_along(start, conditions, self._directions, self._slopes)
        else:
            idle |= self._idle_bounds(conditions, self._general_rows(conditions))
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
        hit |= self._met_in_corners(conditions, asked & ~hit)
        for sliding in (False, True):
            against = self._against(np.flatnonzero(asked & ~hit), conditions)
            directions = self._slid(against) if sliding else against
            hit |= self._hit_along(start, conditions, directions, self._ledger.rows.slopes(directions))
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
        return self._ledger.rows.slopes(self._directions)

    @cached_property
    def _general_inverse(self) -> Floats:
        inverse: Floats = np.linalg.pinv(self._ledger.rows.normals).astype(np.float64)
        return inverse

    def _slid(self, directions: Floats) -> Floats:
        """Directions with their components along general rows taken out, so that those rows do not change.

        In high dimension what such a ray meets first is the row it was aimed at. A direction along a general row
        itself vanishes but for rounding, and then meets nothing that could be proved.
        """
        inverse = self._general_inverse
        return directions - (directions @ inverse) @ self._ledger.rows.normals

    def _hit_along(self, start: Floats, conditions: Conditions, directions: Floats, row_slopes: Floats) -> Bools:
        """Conditions met first by rays in the given directions, along which the ledger's rows have the given slopes."""
        hit = np.zeros(len(conditions.rows), dtype=bool)
        margins = self._ledger.values(start[None], conditions)[0][0]
        slopes = row_slopes[:, conditions.rows] * conditions.signs
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
        axis, entry, general, member = self._ledger.split(conditions)
        coordinate = self._ledger.rows.coordinate[entry]
        slope = self._ledger.rows.slope[entry] * conditions.signs[axis]
        enter = -values[axis] / slope
        sideways = self._ledger.rows.normals[member][:, coordinate] * conditions.signs[general, None]
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

    def _met_in_corners(self, conditions: Conditions, asked: Bools) -> Bools:
        """Bounds that meet in corners of the cell, many at a time: at a simple corner every tight condition is a facet.

        A linear program leads to the corner that is nearest to all bounds still in question.
        """
        axis, entry, _, _ = self._ledger.split(conditions)
        rows = self._ledger.rows
        coordinate, slope = rows.coordinate[entry], rows.slope[entry] * conditions.signs[axis]
        hit = np.zeros(len(conditions.rows), dtype=bool)
        for _ in range(_CORNERS):
            rest = (asked & ~hit)[axis]
            if np.count_nonzero(rest) < _CORNER_PAYS_FROM:
                break
            cost = np.zeros(self._dim)
            np.add.at(cost, coordinate[rest], slope[rest])
            corner = self._ledger.least(cost, conditions)
            if corner is None:
                break
            found = self._facets_at_corner(corner.point, conditions, asked & ~hit)
            hit |= found
            if np.count_nonzero(found) < _CORNER_PAYS_FROM:
                break
        return hit

    def _facets_at_corner(self, corner: Floats, conditions: Conditions, asked: Bools) -> Bools:
        """Step from a corner to points that are beyond one tight bound and inside all other conditions."""
        axis, entry, general, member = self._ledger.split(conditions)
        rows = self._ledger.rows
        hit = np.zeros(len(conditions.rows), dtype=bool)
        values = self._ledger.values(corner[None], conditions)[0][0]
        scale = self._ledger.scale
        tight = np.flatnonzero(values[axis] <= _TIGHT * scale)
        tight = tight[np.unique(rows.coordinate[entry[tight]], return_index=True)[1]]
        tight_general = np.flatnonzero(values[general] <= _TIGHT * scale)
        held = rows.coordinate[entry[tight]]
        free = np.setdiff1d(np.arange(self._dim), held)
        normals = rows.normals[member[tight_general]] * conditions.signs[general[tight_general], None]
        inverse = np.linalg.pinv(normals[:, free])
        inward = rows.slope[entry[tight]] * conditions.signs[axis[tight]]
        wanted = np.flatnonzero(asked[axis[tight]])
        loose = np.delete(values, np.concatenate([axis[tight], general[tight_general]]))
        reach = min(scale, float(loose.min(initial=scale)))
        for share in _CORNER_STEPS:
            step = share * reach
            moves = np.zeros((len(wanted), self._dim))
            moves[:, held] = step * inward
            moves[np.arange(len(wanted)), held[wanted]] *= -1.0
            moves[:, free] = (step - moves[:, held] @ normals[:, held].T) @ inverse.T
            points = corner + moves
            margins, errors = self._ledger.values(points, conditions)
            target = axis[tight[wanted]]
            margins[np.arange(len(wanted)), target] *= -1.0
            proved = np.all(margins > errors, axis=1) & self._ledger.trusted(points)
            hit[target[proved]] = True
            wanted = wanted[~proved]
            if not len(wanted):
                break
        return hit

    def _against(self, positions: Indices, conditions: Conditions) -> Floats:
        """Directions straight toward conditions."""
        return -self._ledger.rows.dense(conditions.rows[positions]) * conditions.signs[positions, None]

    def idle(self, conditions: Conditions) -> Bools:
        """More bounds that are no facets, by the combination that refuted the last one (only in high dimension)."""
        if not self._ledger.problem.box_mode:
            return np.zeros(len(conditions.rows), dtype=bool)
        rows = self._ledger.rows
        weights = np.zeros(len(rows))
        weights[rows.general] = self._ledger.refutation[rows.general]
        sides = np.zeros(len(rows))
        sides[conditions.rows] = conditions.signs
        if np.any((weights != 0) & (weights * sides <= 0)):
            return np.zeros(len(conditions.rows), dtype=bool)  # not a sum of rows that are positive in this cell
        size = np.abs(weights[rows.general])
        normal = weights[rows.general] @ rows.normals
        offset = weights @ rows.offsets
        rounding = gamma(len(size) + 1) * (size.sum() * self._extent.sum() + size @ np.abs(rows.offsets[rows.general]))
        error = np.abs(weights) @ rows.errors + rounding
        return self._idle_bounds(conditions, (normal[None], np.array([offset]), np.array([error])))

    @cached_property
    def _extent(self) -> Floats:
        low, high = self._ledger.box
        return np.maximum(np.abs(low), np.abs(high))

    def _general_rows(self, conditions: Conditions) -> tuple[Floats, Floats, Floats]:
        """Normals, offsets and errors of the conditions on general rows."""
        rows = self._ledger.rows
        _, _, general, member = self._ledger.split(conditions)
        signs, positions = conditions.signs[general], conditions.rows[general]
        return rows.normals[member] * signs[:, None], rows.offsets[positions] * signs, rows.errors[positions]

    def _idle_bounds(self, conditions: Conditions, rows: tuple[Floats, Floats, Floats]) -> Bools:
        """Bounds of single coordinates that no point of the cell comes near, as a given row is negative there.

        The largest value of a row over the domain's box, less what it loses when one coordinate is held at its worse
        bound, is an interval evaluation for all bounds at once.
        """
        normals, offsets, errors = rows
        axis, entry, _, _ = self._ledger.split(conditions)
        low, high = self._ledger.box
        most = offsets + np.maximum(normals * low, normals * high).sum(axis=1)
        rounding = 2 * gamma(self._dim + 6) * (np.abs(normals) @ self._extent + np.abs(offsets))
        coordinate = self._ledger.rows.coordinate[entry]
        inward = self._ledger.rows.slope[entry] * conditions.signs[axis]
        loss = normals[:, coordinate] * inward * (high - low)[coordinate]
        empty = most[:, None] - loss < -upward(errors + rounding)[:, None]
        idle = np.zeros(len(conditions.rows), dtype=bool)
        idle[axis] = np.any(empty, axis=0)
        return idle
