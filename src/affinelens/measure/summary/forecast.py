"""How many regions to expect, before walking them: an order of magnitude from lines through the domain, and a bound.

Lines along coordinate i of the domain's box, scaled to length 1, meet r_i borders of regions on average. Random
hyperplanes with these rates, and no preferred direction otherwise, would make ``sum_k kappa_k e_k(r) / 2^k`` cells of
the box, where e_k is the elementary symmetric polynomial and kappa_k the volume of the unit ball of dimension k.
Networks are not that random: this is rough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lgamma, log, log10, pi

import numpy as np

from affinelens.array_types import Floats
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict import RestrictedNetwork

# Lines are drawn along this many coordinates at most and looked at in this many steps; in all this many, or fewer where
# they would take more than this many values of units.
_COORDINATES = 16
_STEPS = 32
_LINES = 32
_VALUES = 1 << 25
# Points that tell how much of its box the domain fills.
_POINTS = 1024
# Points are evaluated together as long as no stage has more numbers than this.
_NUMBERS_AT_ONCE = 1 << 22
_SEED = 0


@dataclass(frozen=True)
class Forecast:
    """Powers of ten: how many regions lines through the domain suggest and, if only one stage switches, how many there
    are at most."""

    regions: float
    bound: float | None


def forecast(network: Network, frame: Frame, restricted: RestrictedNetwork | None = None) -> Forecast:
    """What the number of regions may be; the restricted network gives a bound, if it is known."""
    rng = np.random.default_rng(_SEED)
    regions = max(_expected_cells(_rates(network, frame, rng)) + log10(_filled(frame, rng)), 0.0)
    if restricted is None or len(restricted.stages) > 1:
        return Forecast(regions, None)
    bound = cells_at_most([len(restricted.breaks)], frame.dim)
    return Forecast(min(regions, bound), bound)


def _rates(network: Network, frame: Frame, rng: np.random.Generator) -> Floats:
    """How many choices change along lines in the directions of the coordinates."""
    count = min(frame.dim, _COORDINATES)
    affordable = _VALUES // (_STEPS * max(network.units, 1))
    lines = max(min(_LINES, affordable) // count, 1)
    rates = np.zeros(count)
    for index, axis in enumerate(rng.permutation(frame.dim)[:count].tolist()):
        for start in rng.random((lines, frame.dim)):
            places = np.tile(start, (_STEPS + 1, 1))
            places[:, axis] = np.linspace(0.0, 1.0, _STEPS + 1)
            rates[index] += _changes(network, frame, places) / lines
    return np.resize(rates, frame.dim)


def _changes(network: Network, frame: Frame, places: Floats) -> int:
    """How often a choice differs between one place in the unit cube and the next."""
    columns = frame.to_inputs(frame.lower + places * (frame.upper - frame.lower)).T
    widest = max([frame.inputs, *(stage.activation.size_in for stage in network.stages)])
    at_once = max(2, _NUMBERS_AT_ONCE // widest)
    changes = 0
    for first in range(0, columns.shape[1] - 1, at_once - 1):
        values = [columns[:, first : first + at_once]]
        for stage in network.stages:
            z = stage.linear.apply(values)
            changes += int(np.count_nonzero(np.diff(stage.activation.pieces_at(z), axis=1)))
            values.append(stage.activation.apply(z))
    return changes


def _filled(frame: Frame, rng: np.random.Generator) -> float:
    """About how much of its box the domain fills, never nothing."""
    points = frame.lower + rng.random((_POINTS, frame.dim)) * (frame.upper - frame.lower)
    rows = frame.rows.to_floats()
    inside = np.all(points @ rows[:, :-1].T + rows[:, -1] >= 0, axis=1)
    return max(float(inside.mean()), 1 / _POINTS)


def _expected_cells(rates: Floats) -> float:
    """The power of ten of ``sum_k kappa_k e_k(rates) / 2^k``."""
    symmetric = np.full(len(rates) + 1, -np.inf)
    symmetric[0] = 0.0
    with np.errstate(divide="ignore"):
        for half in np.log(rates / 2).tolist():
            symmetric[1:] = np.logaddexp(symmetric[1:], symmetric[:-1] + half)
    balls = [k / 2 * log(pi) - lgamma(k / 2 + 1) for k in range(len(symmetric))]
    return float(np.logaddexp.reduce(symmetric + balls)) / log(10)


def cells_at_most(hyperplanes: Sequence[int], dim: int) -> float:
    """The power of ten of the product over stages of ``sum_{i <= dim} C(hyperplanes, i)``: there are no more regions.

    Each cell of one stage is cut by at most all hyperplanes of the next, and no arrangement has more cells.
    """
    return sum(_arrangement_at_most(count, dim) for count in hyperplanes)


def _arrangement_at_most(count: int, dim: int) -> float:
    logs = [lgamma(count + 1) - lgamma(k + 1) - lgamma(count - k + 1) for k in range(min(dim, count) + 1)]
    return float(np.logaddexp.reduce(logs)) / log(10)
