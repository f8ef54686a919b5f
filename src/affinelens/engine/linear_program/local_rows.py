"""Affine functions seen from a point inside a cell, with every rounding accounted for.

Row i is ``w -> normal_i @ w + offsets[i]``, where w is the displacement from a center and the normal has length about
1. For every w in the trust box (the domain, enlarged on all sides) the true function, divided by the same positive
number, differs from that by at most ``errors[i]``. Whoever evaluates or combines rows adds only the rounding of its
own arithmetic; each function here does so and answers with something proved, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.array_types import Floats, Indices, Signs
from affinelens.network.enclosure import Enclosure


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows around a center."""

    normals: Floats
    offsets: Floats
    errors: Floats

    @classmethod
    def around(cls, form: Enclosure, center: Floats) -> LocalRows:
        """Re-center and normalise affine functions of the domain's coordinates."""
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
        return cls(normals, offsets, errors)

    @property
    def dim(self) -> int:
        return int(self.normals.shape[1])

    def __len__(self) -> int:
        return len(self.offsets)

    def joined(self, other: LocalRows) -> LocalRows:
        """These rows, then the others."""
        return LocalRows(
            np.concatenate([self.normals, other.normals]),
            np.concatenate([self.offsets, other.offsets]),
            np.concatenate([self.errors, other.errors]),
        )

    def __getitem__(self, chosen: Indices) -> LocalRows:
        return LocalRows(self.normals[chosen], self.offsets[chosen], self.errors[chosen])

    def signed(self, signs: Signs) -> LocalRows:
        """Rows turned so that the side named by ``signs`` is the positive one."""
        return LocalRows(self.normals * signs[:, None], self.offsets * signs, self.errors)

    def values(self, points: Floats) -> tuple[Floats, Floats]:
        """Values at points (one a row) and a bound on their distance from the true values; shape (points, rows)."""
        values = points @ self.normals.T + self.offsets
        travelled = np.abs(points).sum(axis=1)
        rounding = gamma(self.dim + 3) * (travelled[:, None] + np.abs(self.offsets))
        return values, upward(self.errors + rounding)

    def combination_bound(self, weights: Floats, low: Floats, high: Floats, linear: Floats | None = None) -> float:
        """A proven lower bound of ``sum weights_i row_i(w) + linear @ w`` over ``low <= w <= high``.

        This is the safe dual bound of Neumaier and Shcherbina: whatever the multipliers leave over is charged to the
        box.
        """
        size = np.abs(weights)
        used = np.flatnonzero(weights)
        normals = self.normals[used]
        slope = weights[used] @ normals
        slope_size = size[used] @ np.abs(normals)
        if linear is not None:
            slope = slope + linear
            slope_size = slope_size + np.abs(linear)
        terms = len(used) + 3
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
