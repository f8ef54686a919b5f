"""Which breaks of a stage cut a parent cell (paper, Algorithm 2, the intersecting subset of hyperplanes).

The sign of a break at the parent's point is known, so one side is settled and only the other is asked for. Most
answers come from an interval evaluation or from a point on the way to the border; a linear program is asked for the
rest, and then proved.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpz

from affinelens.arithmetic import ExactMatrix, gamma, upward
from affinelens.array_types import Bools, Floats, Signs
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.proofs import Ledger

# Bounding the parent takes 2 d programs, which pays up to about this dimension.
_TIGHT_BOX_UP_TO = 8
_SHORT_OF_THE_BORDER = 1.0 - 1e-6
# Values of breaks at points that are looked at together.
_VALUES_AT_ONCE = 1 << 20


def signs_beside_center(parent: Parent) -> tuple[Signs, Bools]:
    """Sign of each break just beside the parent's point, and which breaks pass through the point itself.

    A break that is zero there takes the sign of its first non-zero coefficient, as if the point had been moved by
    infinitesimals of decreasing order along the axes; it is 0 only if it vanishes identically.
    """
    values, errors = parent.breaks.values(np.zeros((1, parent.dim)))
    signs = np.where(values[0] > 0, 1, -1).astype(np.int8)
    ties = np.zeros(len(signs), dtype=bool)
    undecided = ~(np.abs(values[0]) > errors[0])
    if not parent.center_is_inside:
        undecided[:] = True
    parent.tally.by_rounding_bound += int(np.count_nonzero(~undecided))
    if undecided.any():
        point = ExactMatrix.from_fractions([[v] for v in [*parent.cell.inside.rational(), Fraction(1)]])
        exact_values = (parent.exact_breaks.numerators * point.numerators).entries()
        for i in np.flatnonzero(undecided).tolist():
            parent.tally.by_exact_arithmetic += 1
            first = next((a for a in [exact_values[i], *parent.exact_breaks.row(i)[:-1]] if a), fmpz(0))
            signs[i] = (first > 0) - (first < 0)
            ties[i] = not exact_values[i] and bool(first)
    return signs, ties


def cutting_breaks(parent: Parent, signs: Signs, ties: Bools) -> Bools:
    """Which breaks change sign inside the parent, given their signs at its point."""
    return ties | _Filter(parent, signs, ties).cuts()


def positive_on_box(rows: LocalRows, low: Floats, high: Floats) -> Bools:
    """Which rows an interval evaluation proves positive all over a box."""
    least = np.where(rows.normals > 0, rows.normals * low, rows.normals * high).sum(axis=1)
    extent = np.maximum(np.abs(low), np.abs(high))
    rounding = 2 * gamma(len(low) + 4) * (np.abs(rows.normals) @ extent + np.abs(rows.offsets))
    proved: Bools = rows.offsets + least > upward(rows.errors + rounding)
    return proved


class _Filter:
    """Open questions about the breaks of one parent, answered from cheap to dear."""

    def __init__(self, parent: Parent, signs: Signs, ties: Bools) -> None:
        self._parent = parent
        self._signs = signs
        self._breaks = parent.breaks.signed(signs)
        self._open = (signs != 0) & ~ties
        self._cuts = np.zeros(len(signs), dtype=bool)

    def cuts(self) -> Bools:
        parent = self._parent
        ledger = Ledger(parent, np.arange(len(self._breaks)))
        self._close_positive_on(*parent.outer_box)
        self._look_toward(self._lowest_corners(*parent.outer_box))
        if np.count_nonzero(self._open) > 2 * parent.dim and parent.dim <= _TIGHT_BOX_UP_TO:
            low, high, touched = self._bounding_box(ledger)
            self._close_positive_on(low, high)
            self._look_toward(touched)
        for i in np.flatnonzero(self._open).tolist():
            self._cuts[i] = self._reaches_other_side(ledger, i)
        return self._cuts

    def _close_positive_on(self, low: Floats, high: Floats) -> None:
        """Close the questions of breaks that an interval evaluation proves positive all over a box."""
        proved = self._open & positive_on_box(self._breaks, low, high)
        self._parent.tally.by_rounding_bound += int(np.count_nonzero(proved))
        self._open &= ~proved

    def _lowest_corners(self, low: Floats, high: Floats) -> Floats:
        """For each open break the corner of the box where it is least."""
        return np.where(self._breaks.normals[self._open] > 0, low, high)

    def _look_toward(self, places: Floats) -> None:
        """Look for points of the parent, on the way from its center to given places, where a break is negative."""
        if not (self._parent.center_is_inside and self._open.any() and len(places)):
            return
        facets = self._parent.facets
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = places @ facets.normals.T
            leave = np.where(slopes < 0, facets.offsets / -slopes, np.inf).min(axis=1, initial=np.inf)
        points = places * (np.minimum(leave, 1.0) * _SHORT_OF_THE_BORDER)[:, None]
        some = max(1, _VALUES_AT_ONCE // max(len(facets), len(self._breaks)))
        for first in range(0, len(points), some):
            self._parent.solver.checkpoint()
            values, errors = facets.values(points[first : first + some])
            inside = np.all(values > errors, axis=1)
            values, errors = self._breaks.values(points[first : first + some][inside])
            found = np.any(values < -errors, axis=0) & self._open
            self._parent.tally.by_rounding_bound += int(np.count_nonzero(found))
            self._cuts |= found
            self._open &= ~found
            if not self._open.any():
                return

    def _bounding_box(self, ledger: Ledger) -> tuple[Floats, Floats, Floats]:
        """A proven bounding box of the parent, and the places where its sides are touched."""
        parent = self._parent
        low, high = (side.copy() for side in parent.outer_box)
        touched = []
        for k in range(parent.dim):
            for side in (1.0, -1.0):
                cost = np.zeros(parent.dim)
                cost[k] = side
                lowest = ledger.least(cost, parent.inside)
                if lowest is None:
                    continue
                touched.append(lowest.point)
                bound = parent.facets.combination_bound(-lowest.multipliers, low, high, linear=cost)
                if side > 0:
                    low[k] = max(low[k], bound)
                else:
                    high[k] = min(high[k], -bound)
        return low, high, np.array(touched).reshape(len(touched), parent.dim)

    def _reaches_other_side(self, ledger: Ledger, index: int) -> bool:
        """Whether one break, positive at the center, is negative somewhere in the parent."""
        parent = self._parent
        lowest = ledger.least(self._breaks.normals[index], parent.inside)
        if lowest is not None:
            rows: LocalRows = parent.facets.joined(self._breaks[np.array([index])])
            if rows.combination_bound(np.append(-lowest.multipliers, 1.0), *parent.outer_box) >= 0:
                parent.tally.by_rounding_bound += 1
                return False
            self._look_toward(lowest.point[None])
            if self._cuts[index]:
                return True
        opposite = [(ledger.own_first + index, -int(self._signs[index]))]
        return ledger.find(parent.inside.joined(opposite)) is not None
