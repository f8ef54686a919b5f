"""Which bounds of single coordinates are facets of a cell in high dimension, where there are hundreds of them.

A bound is a facet if a point of the domain's box lies on it at which all rows of the network are strictly positive:
near it, inside the box's side, there are then such points in every direction. It is none if some combination of the
rows is negative all over that side.
"""

from __future__ import annotations

import numpy as np

from affinelens.arithmetic import gamma, upward
from affinelens.array_types import Bools, Floats
from affinelens.engine.linear_program.interior_point import look_inside, look_on_sides
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.parent_cell import Parent

# Multipliers of a point this close to the deepest one tell best which bounds are out of reach.
_DEPTH = 0.9


class BoundFacets:
    """The bounds among a parent's facets, in their order."""

    def __init__(self, parent: Parent) -> None:
        self._parent = parent
        self._coordinate, self._upper = parent.bounds.coordinate, parent.bounds.upper
        self._place, errors = parent.bounds.around(parent.center)
        self._low, self._high = (side.copy() for side in parent.outer_box)
        self._low[self._coordinate[~self._upper]] = self._place[~self._upper]
        self._high[self._coordinate[self._upper]] = self._place[self._upper]
        self._uncertainty = np.zeros(parent.dim)
        np.maximum.at(self._uncertainty, self._coordinate, errors)

    def decide(self, start: Floats, rows: LocalRows) -> tuple[Bools, Bools]:
        """Which bounds are facets of the cell where the rows are positive, and which are not; the rest stays open.

        ``start`` is a displacement inside the cell, from which most bounds can be reached along an axis.
        """
        none = np.zeros(len(self._coordinate), dtype=bool)
        if not len(rows):
            return ~none, none
        self._parent.solver.begin()
        everywhere, turned = np.arange(len(rows)), np.ones(len(rows), dtype=np.int8)
        box = self._low, self._high
        _, _, multipliers = look_inside(rows.normals, rows.offsets, everywhere, turned, *box, _DEPTH)
        idle = self._out_of_reach(multipliers, rows)
        facets = self._reached_along_axis(start, rows) & ~idle
        rest = np.flatnonzero(~(facets | idle))
        self._parent.solver.begin(len(rest))
        sides = 2 * self._coordinate[rest] + self._upper[rest]
        found, points = look_on_sides(rows.normals, rows.offsets, everywhere, turned, *box, sides)
        facets[rest[found]] = self._clear_of(rows, points[found])
        self._parent.tally.by_rounding_bound += int(np.count_nonzero(facets | idle))
        return facets, idle

    def _reached_along_axis(self, start: Floats, rows: LocalRows) -> Bools:
        """Bounds on which rows stay positive when one coordinate is moved there."""
        start = np.clip(start, self._low, self._high)
        steps = self._place - start[self._coordinate]
        values = (rows.normals @ start + rows.offsets)[:, None] + rows.normals[:, self._coordinate] * steps
        travelled = np.abs(start).sum() + np.abs(start[self._coordinate]) + 2 * np.abs(steps)
        rounding = gamma(rows.dim + 6) * (travelled + np.abs(rows.offsets)[:, None])
        proved: Bools = np.all(values > upward(self._errors(rows)[:, None] + rounding), axis=0)
        return proved

    def _clear_of(self, rows: LocalRows, points: Floats) -> Bools:
        """At which displacements, all of them on sides of the box, every row is positive."""
        points = np.clip(points, self._low, self._high)
        values = points @ rows.normals.T + rows.offsets
        rounding = gamma(rows.dim + 3) * (np.abs(points).sum(axis=1)[:, None] + np.abs(rows.offsets))
        proved: Bools = np.all(values > upward(self._errors(rows) + rounding), axis=1)
        return proved

    def _errors(self, rows: LocalRows) -> Floats:
        """Bounds on the rows' own errors, and on what they change when a point is moved to the exact sides."""
        return upward(rows.errors + np.abs(rows.normals) @ self._uncertainty)

    def _out_of_reach(self, multipliers: Floats, rows: LocalRows) -> Bools:
        """Bounds on which a combination of the rows is negative.

        Its largest value over the domain's box, less what it loses when one coordinate is held at its worse bound, is
        an interval evaluation for all bounds at once.
        """
        multipliers = np.maximum(multipliers, 0.0)
        low, high = self._parent.outer_box
        extent = np.maximum(np.abs(low), np.abs(high))
        normal, offset = multipliers @ rows.normals, multipliers @ rows.offsets
        size = multipliers @ np.abs(rows.normals)
        most = offset + np.maximum(normal * low, normal * high).sum()
        inward = np.where(self._upper, -1.0, 1.0)
        far = np.where(self._upper, low[self._coordinate], high[self._coordinate])
        width = np.maximum(np.abs(far - self._place) - self._uncertainty[self._coordinate], 0.0)
        loss = np.maximum(normal[self._coordinate] * inward, 0.0) * width
        terms = len(rows) + rows.dim + 8
        rounding = 4 * gamma(terms) * (size @ extent + multipliers @ np.abs(rows.offsets) + loss)
        proved: Bools = most - loss < -upward(multipliers @ rows.errors + rounding)
        return proved
