"""Affine functions seen from a point inside a cell, with every rounding accounted for.

Row i is ``w -> normal_i @ w + offsets[i]``, where w is the displacement from a center and the normal has length about
1. For every w in the trust box (the domain, enlarged on all sides) the true function, divided by the same positive
number, differs from that by at most ``errors[i]``. Whoever evaluates or combines rows adds only the rounding of its
own arithmetic; each function here does so and answers with something proved, or not at all.

In high dimension most rows are bounds of single coordinates. Those are kept as (coordinate, slope) instead of as
normals full of zeros: the *axis* rows. The others are the *general* rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.array_types import Floats, Indices
from affinelens.network.enclosure import Enclosure


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows around a center: ``general`` and ``axis`` are positions, ``normals`` belong to the general rows only."""

    normals: Floats
    offsets: Floats
    errors: Floats
    general: Indices
    axis: Indices
    coordinate: Indices
    slope: Floats

    @classmethod
    def around(cls, form: Enclosure, center: Floats) -> LocalRows:
        """Re-center and normalise affine functions of the domain's coordinates, as general rows."""
        assert form.reach is not None
        weights, constants = form.rows[:, :-1], form.rows[:, -1]
        largest = np.abs(weights).max(axis=1, initial=0.0)
        safe = np.where(largest > 0, largest, 1.0)
        lengths = safe * np.sqrt(((weights / safe[:, None]) ** 2).sum(axis=1))
        lengths = np.where(largest > 0, lengths, 1.0)
        normals = weights / lengths[:, None]
        offsets = (weights @ center + constants) / lengths
        rounding = gamma(len(center) + 1) * (np.abs(weights) @ np.abs(center) + np.abs(constants))
        reach = form.reach[:-1, 0] + np.abs(center)
        normalising = 2 * UNIT_ROUNDOFF * (np.abs(normals) @ reach + np.abs(offsets))
        errors = upward(upward(form.error[:, 0] + rounding) / lengths + normalising)
        none = np.zeros(0, dtype=np.int64)
        return cls(normals, offsets, errors, np.arange(len(offsets)), none, none, np.zeros(0))

    @classmethod
    def bounds(cls, coordinate: Indices, slope: Floats, limits: Floats, center: Floats) -> LocalRows:
        """Axis rows ``slope * x_coordinate + limit`` with slopes +1 or -1 and limits known to one rounding."""
        place = slope * center[coordinate]
        errors = upward(3 * UNIT_ROUNDOFF * (np.abs(place) + np.abs(limits)))
        none = np.zeros((0, len(center)))
        everywhere = np.arange(len(limits))
        return cls(none, place + limits, errors, everywhere[:0], everywhere, coordinate, slope)

    @property
    def dim(self) -> int:
        return int(self.normals.shape[1])

    def __len__(self) -> int:
        return len(self.offsets)

    def joined(self, other: LocalRows) -> LocalRows:
        """These rows, then the others."""
        count = len(self)
        return LocalRows(
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.offsets, other.offsets]),
            np.concatenate([self.errors, other.errors]),
            np.concatenate([self.general, other.general + count]),
            np.concatenate([self.axis, other.axis + count]),
            np.concatenate([self.coordinate, other.coordinate]),
            np.concatenate([self.slope, other.slope]),
        )

    def moved(self, places: Indices) -> LocalRows:
        """The same rows in another order: row i goes to ``places[i]``."""
        offsets, errors = np.empty_like(self.offsets), np.empty_like(self.errors)
        offsets[places], errors[places] = self.offsets, self.errors
        general, axis = places[self.general], places[self.axis]
        return LocalRows(self.normals, offsets, errors, general, axis, self.coordinate, self.slope)

    def __getitem__(self, chosen: Indices) -> LocalRows:
        """Some of the general rows, by position in a set that has no other."""
        assert not len(self.axis)
        normals, offsets, errors = self.normals[chosen], self.offsets[chosen], self.errors[chosen]
        return LocalRows(normals, offsets, errors, np.arange(len(offsets)), self.axis, self.coordinate, self.slope)

    def signed(self, signs: NDArray[np.int8]) -> LocalRows:
        """Rows turned so that the side named by ``signs`` is the positive one."""
        normals = self.normals * signs[self.general, None]
        slope = self.slope * signs[self.axis]
        return LocalRows(normals, self.offsets * signs, self.errors, self.general, self.axis, self.coordinate, slope)

    def general_only(self) -> LocalRows:
        """The general rows, in order."""
        none = self.axis[:0]
        return LocalRows(
            self.normals, self.offsets[self.general], self.errors[self.general], np.arange(len(self.general)),
            none, none, self.slope[:0],
        )  # fmt: skip

    def dense(self, chosen: Indices) -> Floats:
        """Normals of any rows, with all their zeros."""
        if not len(self.axis):
            return self.normals[chosen]
        place = np.full(len(self), -1)
        place[self.general] = np.arange(len(self.general))
        normals = np.zeros((len(chosen), self.dim))
        is_general = place[chosen] >= 0
        normals[is_general] = self.normals[place[chosen[is_general]]]
        place[self.axis] = np.arange(len(self.axis))
        on_axis = np.flatnonzero(~is_general)
        entry = place[chosen[on_axis]]
        normals[on_axis, self.coordinate[entry]] = self.slope[entry]
        return normals

    def slopes(self, directions: Floats) -> Floats:
        """How fast each row changes along directions (one a row); shape (directions, rows)."""
        if not len(self.axis):
            return directions @ self.normals.T
        slopes = np.empty((len(directions), len(self)))
        slopes[:, self.general] = directions @ self.normals.T
        slopes[:, self.axis] = directions[:, self.coordinate] * self.slope
        return slopes

    def values(self, points: Floats) -> tuple[Floats, Floats]:
        """Values at points (one a row) and a bound on their distance from the true values; shape (points, rows)."""
        values = self.slopes(points) + self.offsets
        travelled = np.abs(points).sum(axis=1)
        rounding = gamma(self.dim + 3) * (travelled[:, None] + np.abs(self.offsets))
        return values, upward(self.errors + rounding)

    def combination_bound(self, weights: Floats, low: Floats, high: Floats, linear: Floats | None = None) -> float:
        """A proven lower bound of ``sum weights_i row_i(w) + linear @ w`` over ``low <= w <= high``.

        This is the safe dual bound of Neumaier and Shcherbina: whatever the multipliers leave over is charged to the
        box.
        """
        size = np.abs(weights)
        used = np.flatnonzero(weights[self.general])
        normals = self.normals[used]
        slope = weights[self.general[used]] @ normals
        slope_size = size[self.general[used]] @ np.abs(normals)
        if len(self.axis):
            np.add.at(slope, self.coordinate, weights[self.axis] * self.slope)
            np.add.at(slope_size, self.coordinate, size[self.axis])
        if linear is not None:
            slope = slope + linear
            slope_size = slope_size + np.abs(linear)
        terms = int(np.count_nonzero(weights)) + 3
        extent = np.maximum(np.abs(low), np.abs(high))
        least = np.where(slope > 0, slope * low, slope * high).sum()
        start = weights @ self.offsets
        loss = (
            size @ self.errors
            + gamma(terms) * (size @ np.abs(self.offsets))
            + (gamma(terms) * slope_size + gamma(len(low) + 2) * np.abs(slope)) @ extent
            + 2 * UNIT_ROUNDOFF * (abs(start) + abs(least))
        )
        return float(start + least - upward(float(loss)))
