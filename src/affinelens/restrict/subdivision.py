"""A domain in subdomains: between hyperplanes of first-stage units, small enough that little switches in one.

The cost of a cell grows with the square of the number of units that can switch, and on a subdomain fewer can.
Hyperplanes of the first stage go straight through the domain and are borders of regions anyway, so that no region is
divided: those of all subdomains together are those of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import fraction, stack_rows
from affinelens.array_types import Floats, Indices
from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.domain.numbers import outward
from affinelens.domain.polytope import exact_ranges
from affinelens.network import Network
from affinelens.network.adjoint import Adjoint
from affinelens.restrict.affine_forms import Form, sum_form
from affinelens.restrict.enclosing_box import EnclosingBox, rationals
from affinelens.restrict.stage_bounds import StageBounds, bound_by_bisection, bound_stages

Report = Callable[[int, int], None]

_MOST_SUBDOMAINS = 512
# A subdomain that cannot be cut is bounded box by box, of which so many are for the whole domain.
_MOST_BOXES = 64
# A subdomain in which more units than this can switch is cut.
_MANY_SWITCHING = 1024
# Halving a domain in many dimensions changes little.
_MOST_DIMENSIONS = 4
# Points that tell how evenly a hyperplane divides a subdomain: as many spread over it, and close to its corners.
_POINTS = 128
_CLOSE = 0.2
# Of the hyperplanes that divide a subdomain most evenly, so many are looked at closely.
_CANDIDATES = 32
# A cut leaves at least this share on either side.
_LEAST_SHARE = 0.05
_ROUND = 2.0**16
_SINGULAR = 1e-9
_MOST_CORNERS = 1 << 16
_SEED = 0


@dataclass(frozen=True, eq=False)
class Subdomain:
    """What lies on the given sides of some breaks of the first stage, and a box around it.

    The frame's rows are those of the domain, then one for each of ``sides``, in that order.
    """

    frame: Frame
    sides: Mapping[int, int]
    box: EnclosingBox


def bound_subdomains(
    network: Network, frame: Frame, deadline: Deadline = NEVER, report: Report = lambda finished, waiting: None
) -> list[tuple[Subdomain, list[StageBounds]]]:
    """A domain in as many subdomains as it takes for little to switch in each, with bounds of all stages there.

    How many are finished, and how many are waiting, is reported now and then.
    """
    cutter = _Cutter(network, frame)
    finished: list[tuple[Subdomain, list[StageBounds]]] = []
    waiting = [Subdomain(frame, {}, EnclosingBox(frame.lower, frame.upper))]
    while waiting:
        report(len(finished), len(waiting))
        subdomain = waiting.pop(0)
        at_most = len(finished) + len(waiting) + 2
        bounds = bound_stages(
            network, frame.chart, subdomain.box, subdomain.sides, deadline, most_switching=_MANY_SWITCHING
        )
        if bounds is None and at_most <= _MOST_SUBDOMAINS:
            deadline.check()
            halves = cutter.halves(subdomain)
            if halves is not None:
                waiting += halves
                continue
        if bounds is None:
            most = max(_MOST_BOXES // at_most, 1)
            bounds = bound_by_bisection(network, frame.chart, subdomain.box, subdomain.sides, deadline, most=most)
        finished.append((subdomain, bounds))
    return finished


class _Cutter:
    """Cuts subdomains in two along hyperplanes of the network's first stage."""

    def __init__(self, network: Network, frame: Frame) -> None:
        self._network = network
        self._whole = frame
        self._adjoint = Adjoint(network, frame.chart)
        self._rng = np.random.default_rng(_SEED)
        first = [stage.activation for stage in network.stages[:1]]
        self._can_cut = frame.dim <= _MOST_DIMENSIONS and not any(a.grouped for a in first)

    @cached_property
    def _rows(self) -> Floats:
        """The first stage's breaks as functions ``[w | b]`` of the frame's coordinates, about."""
        stage, frame = self._network.stages[0], self._whole
        breaks = stage.activation.breaks
        rows = sum_form(stage.linear, [Form.of_chart(frame.chart)]).main.astype(np.float64)[breaks.plus]
        rows[:, -1] -= breaks.threshold
        return rows

    def halves(self, subdomain: Subdomain) -> tuple[Subdomain, Subdomain] | None:
        """What lies below and above some break that divides a subdomain well, or None if none is found."""
        if not self._can_cut:
            return None
        points = self._points_in(subdomain.frame)
        best = self._best_break(points, np.array(list(subdomain.sides), dtype=np.int64))
        if best is None:
            return None
        above = self._rows[best] @ np.append(points, np.ones((len(points), 1)), axis=1).T > 0
        row = self._adjoint.break_function(0, best, np.zeros(0, dtype=np.int64))
        negative = ExactMatrix(-row.numerators, row.denominator)
        below = self._beyond(subdomain, best, -1, negative, points[~above])
        rest = self._beyond(subdomain, best, 1, row, points[above])
        return None if below is None or rest is None else (below, rest)

    def _points_in(self, frame: Frame) -> Floats:
        """Points of a frame's domain, spread over it and close to its corners, where many hyperplanes may meet."""
        corners = _corners(frame)
        if len(corners) <= frame.dim:
            return corners[:0]
        weights = [self._rng.dirichlet(np.full(len(corners), a), _POINTS) for a in (1.0, _CLOSE)]
        points: Floats = np.concatenate(weights) @ corners
        return points

    def _best_break(self, points: Floats, used: Indices) -> int | None:
        """The break that leaves subdomains with the fewest hyperplanes, among those that divide points most evenly."""
        above = self._rows[:, :-1] @ points.T + self._rows[:, -1:] > 0
        share = above.mean(axis=1)
        crossing = np.flatnonzero((share > 0) & (share < 1) & ~np.isin(np.arange(len(share)), used))
        above, share = above[crossing], share[crossing]
        evenness = np.minimum(share, 1 - share)
        order = np.argsort(-evenness, kind="stable")[:_CANDIDATES]
        order = order[evenness[order] >= _LEAST_SHARE]
        if not len(order):
            return None
        costs = []
        for b in order.tolist():
            here, there = above[:, above[b]].mean(axis=1), above[:, ~above[b]].mean(axis=1)
            costs.append(sum(int(((side > 0) & (side < 1)).sum()) ** 2 for side in (here, there)))
        best = int(crossing[order[np.argmin(costs)]])
        return int(np.flatnonzero((self._rows == self._rows[best]).all(axis=1))[0])

    def _beyond(
        self, subdomain: Subdomain, index: int, side: int, row: ExactMatrix, points: Floats
    ) -> Subdomain | None:
        """Where a row is positive in a subdomain; None unless the middle of points proves that it is somewhere."""
        rows = stack_rows([subdomain.frame.rows, row])
        middle = ExactMatrix.from_floats(np.append(points.mean(axis=0), 1.0))
        if not all(value > 0 for value in (rows.numerators * middle.numerators).entries()):
            return None
        frame = part_of(subdomain.frame, rows)
        straight = EnclosingBox(frame.lower, frame.upper)
        slanted = EnclosingBox.along(frame, self._directions(points))
        return Subdomain(frame, {**subdomain.sides, index: side}, min(straight, slanted, key=lambda box: box.volume))

    def _directions(self, points: Floats) -> Floats:
        """The axes along which points are spread out most and least, in short numbers."""
        axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
        return np.round(axes * _ROUND) / _ROUND


def part_of(frame: Frame, rows: ExactMatrix) -> Frame:
    """The frame of a part of its domain: the frame's rows and, behind them, others; somewhere all are positive."""
    low, high = exact_ranges(rows, (rationals(frame.lower), rationals(frame.upper)))
    return replace(
        frame,
        rows=rows,
        constraints=(*frame.constraints, *[-1] * (rows.shape[0] - frame.rows.shape[0])),
        lower=np.array([outward(fraction(value), down=True) for value in low]),
        upper=np.array([outward(fraction(value), down=False) for value in high]),
        irredundant=False,
    )


def _corners(frame: Frame) -> Floats:
    """The vertices of a frame's domain, about; none if it has too many sides to look for them."""
    rows = frame.rows.to_floats()
    if comb(len(rows), frame.dim) > _MOST_CORNERS:
        return np.zeros((0, frame.dim))
    rows = rows / np.abs(rows[:, :-1]).max(axis=1, keepdims=True)
    chosen = rows[np.array(list(combinations(range(len(rows)), frame.dim)))]
    weights = chosen[:, :, :-1]
    regular = np.abs(np.linalg.det(weights)) > _SINGULAR
    points = np.linalg.solve(weights[regular], -chosen[regular][:, :, -1:])[:, :, 0]
    width = (frame.upper - frame.lower).max()
    corners: Floats = points[(points @ rows[:, :-1].T + rows[:, -1] >= -_SINGULAR * width).all(axis=1)]
    return corners
