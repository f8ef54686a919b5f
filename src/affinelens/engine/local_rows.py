"""Affine functions seen from a point inside a cell, with every rounding accounted for.

Row i is ``w -> normals[i] @ w + offsets[i]``, where w is the displacement from ``centre`` and the normal has length
about 1. For every w in the trust box (the domain, enlarged on all sides) the true function, divided by the same
positive number, differs from that by at most ``errors[i]``. Whoever evaluates or combines rows adds only the rounding
of its own arithmetic; each function here does so and answers with something proved, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.network.enclosure import Enclosure

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class AxisSplit:
    """Positions of the rows that bound a single coordinate, with that coordinate and its slope, and of the others."""

    axis: Indices
    coordinate: Indices
    slope: Floats
    general: Indices


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows around a centre; see the module's text."""

    normals: Floats
    offsets: Floats
    errors: Floats

    @classmethod
    def around(cls, form: Enclosure, centre: Floats) -> LocalRows:
        """Re-centre and normalise affine functions of the domain's coordinates."""
        assert form.reach is not None
        weights, constants = form.rows[:, :-1], form.rows[:, -1]
        largest = np.abs(weights).max(axis=1, initial=0.0)
        safe = np.where(largest > 0, largest, 1.0)
        lengths = safe * np.sqrt(((weights / safe[:, None]) ** 2).sum(axis=1))
        lengths = np.where(largest > 0, lengths, 1.0)
        normals = weights / lengths[:, None]
        values = weights @ centre + constants
        offsets = values / lengths
        rounding = gamma(len(centre) + 1) * (np.abs(weights) @ np.abs(centre) + np.abs(constants))
        reach = form.reach[:-1, 0] + np.abs(centre)
        normalising = 2 * UNIT_ROUNDOFF * (np.abs(normals) @ reach + np.abs(offsets))
        errors = upward(upward(form.error[:, 0] + rounding) / lengths + normalising)
        return cls(normals, offsets, errors)

    def __len__(self) -> int:
        return len(self.offsets)

    def __getitem__(self, index: NDArray[np.int64] | slice) -> LocalRows:
        return LocalRows(self.normals[index], self.offsets[index], self.errors[index])

    @cached_property
    def split(self) -> AxisSplit:
        """Which rows bound a single coordinate."""
        single = np.count_nonzero(self.normals, axis=1) == 1
        axis = np.flatnonzero(single)
        coordinate = np.abs(self.normals[axis]).argmax(axis=1)
        return AxisSplit(axis, coordinate, self.normals[axis, coordinate], np.flatnonzero(~single))

    def joined(self, other: LocalRows) -> LocalRows:
        return LocalRows(
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.offsets, other.offsets]),
            np.concatenate([self.errors, other.errors]),
        )

    def signed(self, signs: NDArray[np.int8]) -> LocalRows:
        """Rows turned so that the side named by ``signs`` is the positive one."""
        return LocalRows(self.normals * signs[:, None], self.offsets * signs, self.errors)

    def values(self, points: Floats) -> tuple[Floats, Floats]:
        """Values at points (one a row) and a bound on their distance from the true values; shape (points, rows)."""
        values = points @ self.normals.T + self.offsets
        travelled = np.abs(points).sum(axis=1)
        rounding = gamma(self.normals.shape[1] + 3) * (travelled[:, None] + np.abs(self.offsets))
        return values, upward(self.errors + rounding)

    def combination_bound(self, weights: Floats, low: Floats, high: Floats, linear: Floats | None = None) -> float:
        """A proven lower bound of ``sum weights_i row_i(w) + linear @ w`` over ``low <= w <= high``.

        This is the safe dual bound of Neumaier and Shcherbina: whatever the multipliers leave over is charged to the
        box.
        """
        size = np.abs(weights)
        slope = weights @ self.normals
        slope_error = size @ np.abs(self.normals)
        if linear is not None:
            slope = slope + linear
            slope_error = slope_error + np.abs(linear)
        slope_error = gamma(len(weights) + 2) * slope_error
        extent = np.maximum(np.abs(low), np.abs(high))
        least = np.where(slope > 0, slope * low, slope * high).sum()
        start = weights @ self.offsets
        loss = (
            size @ self.errors
            + gamma(len(weights) + 1) * (size @ np.abs(self.offsets))
            + (slope_error + gamma(len(low) + 2) * np.abs(slope)) @ extent
            + 2 * UNIT_ROUNDOFF * (abs(start) + abs(least))
        )
        return float(start + least - upward(float(loss)))
