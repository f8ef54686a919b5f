"""How far inputs are from a boundary made of convex pieces, and the nearest point on it.

Distances are those among the inputs, also on a slice. A box around each piece gives a distance that the piece cannot
be nearer than; pieces are looked at one by one only while that leaves them a chance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import gamma
from affinelens.array_types import Floats, Indices
from affinelens.blocks import blocks
from affinelens.domain import Domain
from affinelens.errors import AffineLensError
from affinelens.measure.decision.nearest_point import NORMS, EuclideanNorm, MaximumNorm
from affinelens.short_text import counted, point_text

Norm = EuclideanNorm | MaximumNorm


@dataclass(frozen=True, eq=False)
class Distance:
    """One input's distance to the boundary, and the nearest point there, which lies on piece number ``piece``.

    The distance is off by at most ``error``, given the pieces' vertices in float64. Without any boundary in the domain
    it is infinite, the piece is -1 and the point not a number.
    """

    value: float
    point: Floats
    local_point: Floats
    piece: int
    error: float

    def __repr__(self) -> str:
        if self.piece < 0:
            return "Distance(inf: there is no boundary in the domain)"
        return f"Distance({self.value:.6g} to {point_text(self.point)}, error {self.error:.2g})"


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of several inputs, as columns of what :class:`Distance` has."""

    values: Floats
    points: Floats
    local_points: Floats
    pieces: Indices
    errors: Floats

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        if not len(self):
            return "Distances(of no inputs)"
        return f"Distances(of {counted(len(self), 'input')}, {self.values.min():.6g} to {self.values.max():.6g})"

    def __getitem__(self, index: int) -> Distance:
        return Distance(
            float(self.values[index]), self.points[index], self.local_points[index], int(self.pieces[index]),
            float(self.errors[index]),
        )  # fmt: skip


class BoundaryDistance:
    """Pieces in a domain's own coordinates, ready to be measured from."""

    def __init__(self, domain: Domain, vertices: Floats, offsets: Indices) -> None:
        self._domain = domain
        self._vertices = vertices
        self._offsets = offsets
        if len(vertices):
            low = np.minimum.reduceat(vertices, offsets[:-1], axis=0)
            high = np.maximum.reduceat(vertices, offsets[:-1], axis=0)
            self._middles, self._radii = low / 2 + high / 2, high / 2 - low / 2

    def of(self, coordinates: Floats, norm: str) -> Distances:
        """Distances of points given in the domain's own coordinates, a row each."""
        if norm not in NORMS:
            raise AffineLensError(f"norm must be one of {', '.join(map(repr, NORMS))}, but got {norm!r}")
        chosen: Norm = NORMS[norm]()
        metric = self._metric(chosen)
        count, dim = coordinates.shape
        values, errors, pieces = np.full(count, np.inf), np.zeros(count), np.full(count, -1)
        nearest = np.full((count, dim), np.nan)
        if len(self._vertices):
            for i, t in enumerate(coordinates):
                values[i], errors[i], pieces[i], nearest[i] = self._of_one(t, chosen, metric)
        return Distances(values, self._domain.frame.to_inputs(nearest), nearest, pieces, errors)

    def _metric(self, norm: Norm) -> Floats:
        """A matrix that makes of a step in coordinates one of the same size as that of the inputs."""
        if isinstance(norm, EuclideanNorm):
            return isometry(self._domain)
        linear = _linear_part(self._domain)
        return linear[linear.any(axis=1)]

    def _of_one(self, t: Floats, norm: Norm, metric: Floats) -> tuple[float, float, int, Floats]:
        slack = self._rounding(t, norm, metric)
        bounds = self._lower_bounds(t, norm, metric) - slack
        best, at_least, piece, weights = np.inf, np.inf, -1, np.zeros(0)
        while True:
            candidate = int(np.argmin(bounds))
            if bounds[candidate] >= best:
                break
            corners = self._vertices[self._offsets[candidate] : self._offsets[candidate + 1]]
            found = norm.nearest((corners - t) @ metric.T)
            at_least = min(at_least, found.at_least)
            if found.distance < best:
                best, piece, weights = found.distance, candidate, found.weights
            bounds[candidate] = np.inf
        corners = self._vertices[self._offsets[piece] : self._offsets[piece + 1]]
        return best, max(best - at_least, 0.0) + slack, piece, weights @ corners

    def _lower_bounds(self, t: Floats, norm: Norm, metric: Floats) -> Floats:
        """For each piece a distance that no point of the box around it is nearer than."""
        bounds = []
        for rows in blocks(len(self._middles), len(metric)):
            inner = np.abs((self._middles[rows] - t) @ metric.T) - self._radii[rows] @ np.abs(metric).T
            bounds.append(norm.size(np.maximum(inner, 0.0)))
        return np.concatenate(bounds)

    def _rounding(self, t: Floats, norm: Norm, metric: Floats) -> float:
        """How far rounding can put a distance off: every sum here has few terms of at most this size."""
        reach = np.maximum(np.abs(self._vertices).max(axis=0), np.abs(t))
        longest = int(np.diff(self._offsets).max())
        terms = 8 * (len(t) + len(metric) + longest + 4)
        return gamma(terms) * float(norm.size(np.abs(metric) @ reach))


def isometry(domain: Domain) -> Floats:
    """A square matrix that makes of a step in a domain's coordinates one as long as that of the inputs."""
    linear = _linear_part(domain)
    return np.eye(len(linear)) if domain.frame.is_plain else np.asarray(np.linalg.qr(linear).R)


def _linear_part(domain: Domain) -> Floats:
    return domain.frame.chart.to_floats()[:, :-1]
