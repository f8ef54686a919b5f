"""A quick search for witnesses: many points evaluated at once in float64, the best of them to be confirmed exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from affinelens.domain.property import Case, Constraint
from affinelens.network import Network

Floats = NDArray[np.float64]
_POINTS = 20_000
# Values that may be computed at once, so that large networks are tried at few points.
_MOST_VALUES = 1 << 24
_ROUNDS = 6
_BEST = 32
# How many points that look like witnesses are looked at exactly.
_CONFIRMED = 8


def promising(network: Network, case: Case) -> list[list[Fraction]]:
    """Coordinates of the domain's frame at which the condition seems to hold, the safest first.

    Half of the points have some coordinates at their bounds; then the best are moved at random, less and less.
    """
    frame = case.domain.frame
    generator = np.random.default_rng(0)
    low, high = frame.lower, frame.upper
    count = max(16, min(_POINTS, _MOST_VALUES // (network.units + network.input_size + network.output_size)))
    points = generator.uniform(low, high, (count, frame.dim))
    side = generator.integers(0, 4, points.shape)
    at_bounds = np.where(side == 0, low, np.where(side == 1, high, points))
    points[::2] = at_bounds[::2]
    margins = _margins(network, case, points)
    for halvings in range(1, _ROUNDS + 1):
        best = np.argsort(-margins, kind="stable")[:_BEST]
        if margins[best[0]] > 0:
            break
        moves = generator.normal(size=(max(16, count // 8), frame.dim)) * (high - low) / 2**halvings
        near = np.clip(points[generator.choice(best, len(moves))] + moves, low, high)
        points, margins = np.concatenate([points[best], near]), np.concatenate([margins[best], _margins(network, case, near)])
    best = np.argsort(-margins, kind="stable")[:_CONFIRMED]
    return [[Fraction(t) for t in points[i].tolist()] for i in best if margins[i] >= 0]


def _margins(network: Network, case: Case, points: Floats) -> Floats:
    """By how much the condition seems to hold: the least slack of the best conjunction; domain constraints count too."""
    x = case.domain.frame.to_inputs(points)
    with np.errstate(all="ignore"):
        y = network(x)
        inside = (points @ case.domain.frame.rows.to_floats()[:, :-1].T + case.domain.frame.rows.to_floats()[:, -1]).min(axis=1)
        best = np.full(len(points), -np.inf)
        for conjunction in case.condition:
            best = np.maximum(best, _least(conjunction, x, y))
    best[inside < 0] = -np.inf
    return np.nan_to_num(best, nan=-np.inf, posinf=np.inf, neginf=-np.inf)


def _least(conjunction: Sequence[Constraint], x: Floats, y: Floats) -> Floats:
    least = np.full(len(x), np.inf)
    for constraint in conjunction:
        value = np.full(len(x), float(constraint.constant))
        for terms, values in ((constraint.inputs, x), (constraint.outputs, y)):
            for index, coefficient in terms:
                value = value + float(coefficient) * values[:, index]
        least = np.minimum(least, value)
    return least
