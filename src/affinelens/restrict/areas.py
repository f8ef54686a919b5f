"""A domain in areas: convex parts between hyperplanes of first-stage units, small enough that little switches in one.

The cost of a cell grows with the square of the number of units that can switch, and on a part of the domain fewer can.
Hyperplanes of the first stage go straight through the domain and are borders of regions anyway, so that no region is
divided: those of all areas together are those of the domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from flint import fmpq
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import fraction, stack_rows
from affinelens.domain import Frame
from affinelens.domain.numbers import outward
from affinelens.domain.polytope import exact_ranges
from affinelens.network import Network, PiecewiseLinear
from affinelens.network.adjoint import Adjoint
from affinelens.restrict.bounds import StageBounds, bound_stages, domain_form
from affinelens.restrict.forms import sum_form
from affinelens.restrict.parts import bound_by_parts

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_MOST_AREAS = 512
# An area in which more units than this can switch is cut.
_MANY_SWITCHING = 1024
# Halving a domain in many dimensions changes little.
_MOST_DIMENSIONS = 4
# Points that tell how evenly a hyperplane divides a patch: drawn, and at least needed.
_POINTS = 512
_FEWEST_POINTS = 32
# Of the hyperplanes that divide a patch most evenly, so many are looked at closely.
_CANDIDATES = 48
# A cut leaves at least this share on either side.
_LEAST_SHARE = 0.05
_SEED = 0


@dataclass(frozen=True, eq=False)
class Area:
    """A part of a domain, with the sides of the first stage's breaks that bound it.

    The frame's rows are those of the domain, then one for each of ``sides``, in that order.
    """

    frame: Frame
    sides: Mapping[int, int]


def bound_areas(network: Network, frame: Frame) -> list[tuple[Area, list[StageBounds]]]:
    """A domain in as many areas as it takes for little to switch in each, with bounds of all stages there."""
    cutter = _Cutter(network, frame)
    finished: list[tuple[Area, list[StageBounds]]] = []
    waiting = [Area(frame, {})]
    while waiting:
        area = waiting.pop(0)
        at_most = len(finished) + len(waiting) + 2
        bounds = bound_stages(network, area.frame, area.sides, most_switching=_MANY_SWITCHING)
        if bounds is None and at_most <= _MOST_AREAS:
            halves = cutter.halves(area)
            if halves is not None:
                waiting += halves
                continue
        if bounds is None:
            bounds = bound_by_parts(network, area.frame, area.sides, most=max(_MOST_AREAS // at_most, 1))
        finished.append((area, bounds))
    return finished


class _Cutter:
    """Cuts parts of a domain in two along hyperplanes of the network's first stage."""

    def __init__(self, network: Network, frame: Frame) -> None:
        self._network = network
        self._whole = frame
        self._adjoint = Adjoint(network, frame.chart)
        self._rng = np.random.default_rng(_SEED)
        first = [stage.activation for stage in network.stages[:1]]
        self._can_cut = frame.dim <= _MOST_DIMENSIONS and all(isinstance(a, PiecewiseLinear) for a in first)

    @cached_property
    def _rows(self) -> Floats:
        """The first stage's breaks as functions ``[w | b]`` of the frame's coordinates, about."""
        stage, frame = self._network.stages[0], self._whole
        breaks = stage.activation.breaks
        form = sum_form(stage.linear, [domain_form(frame)]).main.astype(np.float64)[breaks.plus]
        middle, reach = (frame.lower + frame.upper) / 2, (frame.upper - frame.lower) / 2
        weights = form[:, :-1] / reach
        return np.column_stack([weights, form[:, -1] - breaks.threshold - weights @ middle])

    def halves(self, area: Area) -> tuple[Area, Area] | None:
        """The parts of an area below and above some break that divides it well, or None if none is found."""
        if not self._can_cut:
            return None
        points = self._points_in(area.frame)
        if len(points) < _FEWEST_POINTS:
            return None
        best = self._best_break(points, np.array(list(area.sides), dtype=np.int64))
        if best is None:
            return None
        above = self._rows[best] @ np.append(points, np.ones((len(points), 1)), axis=1).T > 0
        row = self._exact_row(best)
        negative = ExactMatrix(-row.numerators, row.denominator)
        below = _part(area, best, -1, negative, points[~above])
        rest = _part(area, best, 1, row, points[above])
        return None if below is None or rest is None else (below, rest)

    def _points_in(self, frame: Frame) -> Floats:
        """Points spread over a frame's domain."""
        points = frame.lower + self._rng.random((_POINTS, frame.dim)) * (frame.upper - frame.lower)
        rows = frame.rows.to_floats()
        inside = (points @ rows[:, :-1].T + rows[:, -1] > 0).all(axis=1)
        return points[inside]

    def _best_break(self, points: Floats, used: Indices) -> int | None:
        """The break that leaves the smallest parts, among those that divide points most evenly."""
        values = self._rows[:, :-1] @ points.T + self._rows[:, -1:]
        share = np.mean(values > 0, axis=1)
        evenness = np.minimum(share, 1 - share)
        evenness[used] = 0.0
        order = np.argsort(-evenness, kind="stable")[:_CANDIDATES]
        order = order[evenness[order] >= max(evenness[order[0]] / 2, _LEAST_SHARE)] if len(order) else order
        if not len(order):
            return None
        steepness = np.abs(self._whole.chart.to_floats()[:, :-1]).max(axis=0)
        sizes = []
        for b in order.tolist():
            above = values[b] > 0
            sizes.append(sum(len(p) * float(np.ptp(p, axis=0) @ steepness) for p in (points[above], points[~above])))
        best = int(order[np.argmin(sizes)])
        return int(np.flatnonzero((self._rows == self._rows[best]).all(axis=1))[0])

    def _exact_row(self, index: int) -> ExactMatrix:
        stage = self._network.stages[0]
        breaks = stage.activation.breaks
        weights = np.zeros((stage.linear.size, 1))
        weights[breaks.plus[index]] = 1.0
        row = self._adjoint.rows(stage.linear, weights, np.zeros(0, dtype=np.int64), 0)
        constant = np.append(np.zeros(row.shape[1] - 1), breaks.threshold[index])
        return row - ExactMatrix.from_floats(constant[None, :])


def _part(area: Area, index: int, side: int, row: ExactMatrix, points: Floats) -> Area | None:
    """The part of an area where a row is positive; None unless the middle of some points proves that there is one."""
    rows = stack_rows([area.frame.rows, row])
    middle = ExactMatrix.from_floats(np.append(points.mean(axis=0), 1.0))
    if not all(value > 0 for value in (rows.numerators * middle.numerators).entries()):
        return None
    low, high = exact_ranges(rows, (_rationals(area.frame.lower), _rationals(area.frame.upper)))
    frame = replace(
        area.frame,
        rows=rows,
        constraints=(*area.frame.constraints, -1),
        lower=np.array([outward(fraction(value), down=True) for value in low]),
        upper=np.array([outward(fraction(value), down=False) for value in high]),
        irredundant=False,
    )
    return Area(frame, {**area.sides, index: side})


def _rationals(values: Floats) -> list[fmpq]:
    return [fmpq(*value.as_integer_ratio()) for value in values.tolist()]
