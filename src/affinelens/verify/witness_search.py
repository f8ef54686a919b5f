"""A quick search for witnesses: many points evaluated at once in float64, the best of them to be confirmed exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from affinelens.array_types import Floats
from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Box
from affinelens.domain.vnnlib.property import Case, Constraint
from affinelens.network import Network

_POINTS = 16_384
# Points evaluated together: as many as keep a layer's values in a processor's cache.
_AT_ONCE = 1024
# Values that may be computed at once, so that large networks are tried at few points.
_MOST_VALUES = 1 << 22
_ROUNDS = 6
_BEST = 32
# How many points that look like witnesses are looked at exactly.
_CONFIRMED = 8


def promising(network: Network, case: Case, deadline: Deadline = NEVER) -> list[list[Fraction]]:
    """Coordinates of the domain's frame at which the condition seems to hold, the safest first.

    Half of the points have some coordinates at their bounds; then the best are moved at random, less and less.
    """
    frame = case.domain.frame
    generator = np.random.default_rng(0)
    low, high = np.nextafter(frame.lower, np.inf), np.nextafter(frame.upper, -np.inf)  # bounds may be rounded outward
    count = max(16, min(_POINTS, _MOST_VALUES // (network.units + network.input_size + network.output_size)))
    points = generator.uniform(low, high, (count, frame.dim))
    side = generator.integers(0, 4, points.shape)
    at_bounds = np.where(side == 0, low, np.where(side == 1, high, points))
    points[::2] = at_bounds[::2]
    margins = _margins(network, case, points, deadline)
    for halvings in range(1, _ROUNDS + 1):
        best = np.argsort(-margins, kind="stable")[:_BEST]
        if margins[best[0]] > 0:
            break
        moves = generator.normal(size=(max(16, count // 8), frame.dim)) * (high - low) / 2**halvings
        near = np.clip(points[generator.choice(best, len(moves))] + moves, low, high)
        margins = np.concatenate([margins[best], _margins(network, case, near, deadline)])
        points = np.concatenate([points[best], near])
    best = np.argsort(-margins, kind="stable")[:_CONFIRMED]
    return [[Fraction(t) for t in points[i].tolist()] for i in best if margins[i] >= 0]


def _margins(network: Network, case: Case, points: Floats, deadline: Deadline) -> Floats:
    """By how much the condition seems to hold: the least slack of the best conjunction; minus infinity outside."""
    frame = case.domain.frame
    margins = np.full(len(points), -np.inf)
    with np.errstate(all="ignore"):
        for start in range(0, len(points), _AT_ONCE):
            deadline.check()
            part = slice(start, start + _AT_ONCE)
            x = frame.to_inputs(points[part])
            y = network(x)
            for conjunction in case.condition:
                margins[part] = np.fmax(margins[part], _least(conjunction, x, y))
    if not isinstance(case.domain, Box):
        rows = frame.rows.to_floats()
        margins[(points @ rows[:, :-1].T + rows[:, -1]).min(axis=1) < 0] = -np.inf
    return margins


def _least(conjunction: Sequence[Constraint], x: Floats, y: Floats) -> Floats:
    least = np.full(len(x), np.inf)
    for constraint in conjunction:
        value = np.full(len(x), float(constraint.constant))
        for terms, values in ((constraint.inputs, x), (constraint.outputs, y)):
            for index, coefficient in terms:
                value = value + float(coefficient) * values[:, index]
        least = np.minimum(least, value)
    return least
