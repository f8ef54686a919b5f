"""The point of a convex hull that is nearest to the origin, with a proof of how much nearer another could be.

The proof is a direction g: every point of the hull is at least ``min(V @ g) / |g|`` from the origin, where ``|g|`` is
the dual norm. So it does not matter how the point and the direction were found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from affinelens.arithmetic.highs import Solver
from affinelens.array_types import Floats
from affinelens.measure.geometry.lengths import lengths


@dataclass(frozen=True, eq=False)
class Nearest:
    """The nearest point is ``weights @ V``, at this distance; no point of the hull is nearer than ``at_least``."""

    weights: Floats
    distance: float
    at_least: float


class EuclideanNorm:
    """Nearest points by Wolfe's algorithm, which goes from face to face of the hull, always nearer to the origin."""

    name = "l2"

    def size(self, rows: Floats) -> Floats:
        """The norm of each row."""
        return lengths(rows)

    def nearest(self, hull: Floats) -> Nearest:
        """The point nearest to the origin in the hull of the rows."""
        scale = float(np.abs(hull).max()) or 1.0
        hull = hull / scale
        chosen = [int(np.argmin(self.size(hull)))]
        weights = np.ones(1)
        point = hull[chosen[0]]
        while point.any():
            candidate = int(np.argmin(hull @ point))
            if candidate in chosen:
                break
            chosen_now, weights_now = _drawn_in(hull, [*chosen, candidate], np.append(weights, 0.0))
            nearer = weights_now @ hull[chosen_now]
            if not nearer @ nearer < point @ point:
                break
            chosen, weights, point = chosen_now, weights_now, nearer
        every = np.zeros(len(hull))
        every[chosen] = weights
        distance = float(self.size(point))
        at_least = float((hull @ point).min()) / distance if distance else 0.0
        return Nearest(every, distance * scale, at_least * scale)


def _drawn_in(hull: Floats, chosen: list[int], weights: Floats) -> tuple[list[int], Floats]:
    """Move to the point nearest to the origin among affine combinations of some rows.

    A row that gets in the way, because its weight would become negative, is dropped.
    """
    while len(chosen) > 1:
        corners = hull[chosen]
        steps = np.linalg.lstsq((corners[1:] - corners[0]).T, -corners[0], rcond=None)[0]
        wanted = np.concatenate([[1.0 - steps.sum()], steps])
        if (wanted > 0).all():
            return chosen, wanted
        falling = np.flatnonzero(wanted <= 0)
        shares = weights[falling] / (weights[falling] - wanted[falling])
        first = falling[np.argmin(shares)]
        moved = weights + shares.min() * (wanted - weights)
        left = np.arange(len(chosen)) != first
        chosen, weights = [c for c, stays in zip(chosen, left.tolist(), strict=True) if stays], moved[left]
        weights = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    return chosen, weights


class MaximumNorm:
    """Nearest points by a linear program over the rows' weights."""

    name = "linf"

    @cached_property
    def _solver(self) -> Solver:
        return Solver()

    def size(self, rows: Floats) -> Floats:
        """The norm of each row."""
        size: Floats = np.abs(rows).max(axis=-1)
        return size

    def nearest(self, hull: Floats) -> Nearest:
        """The point nearest to the origin in the hull of the rows."""
        corner = int(np.argmin(self.size(hull)))
        weights, direction = np.zeros(len(hull)), np.zeros(hull.shape[1])
        weights[corner] = 1.0
        scale = float(np.abs(hull).max())
        if scale and len(hull) > 1:
            found = self._solved(hull / scale)
            if found is not None and self.size(found[0] @ hull) <= self.size(hull[corner]):
                weights, direction = found
        if not direction.any():
            point = weights @ hull
            entry = int(np.argmax(np.abs(point)))
            direction[entry] = np.sign(point[entry])
        size = float(np.abs(direction).sum())
        at_least = float((hull @ direction).min()) / size if size else 0.0
        return Nearest(weights, float(self.size(weights @ hull)), at_least)

    def _solved(self, hull: Floats) -> tuple[Floats, Floats] | None:
        """Weights of the nearest point, and the direction that proves it: the smallest s with ``-s <= w @ V <= s``."""
        count, width = hull.shape
        rows = np.block([[-hull.T, np.ones((width, 1))], [hull.T, np.ones((width, 1))]])
        sums = np.append(np.ones(count), 0.0)
        rows = np.vstack([rows, sums, -sums])
        offsets = np.concatenate([np.zeros(2 * width), [-1.0, 1.0]])
        cost = np.append(np.zeros(count), 1.0)
        ball = self._solver.minimise(cost, rows, offsets, np.zeros(count + 1), np.ones(count + 1), 1.0)
        if ball is None:
            return None
        weights = np.maximum(ball.point[:count], 0.0)
        if not weights.any():
            return None
        return weights / weights.sum(), ball.multipliers[:width] - ball.multipliers[width : 2 * width]


NORMS = {norm.name: norm for norm in (EuclideanNorm, MaximumNorm)}
