"""Which regions the decision boundary crosses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from affinelens.measure.corner_outputs import Corners, corner_outputs
from affinelens.regions import RegionSet

Bools = NDArray[np.bool_]


def crossed_regions(regions: RegionSet) -> Bools:
    """Whether a region's points are of different classes: whether no output is largest at all of its vertices.

    Of a single output, whether it takes both signs. Decided in float64, where values that may be equal count as equal:
    a boundary that cuts off less of a region than rounding could is not seen.
    """
    found = np.zeros(len(regions), dtype=np.bool_)
    for rows, corners in corner_outputs(regions):
        found[rows] = _takes_both_signs(corners) if corners.values.shape[1] == 1 else _has_no_winner(corners)
    return found


def _takes_both_signs(corners: Corners) -> Bools:
    values, off = corners.values[:, 0], corners.rounding[:, 0]
    above, below = (reduce.reduceat(values, corners.starts) for reduce in (np.maximum, np.minimum))
    both: Bools = (above > off) & (below < -off)
    return both


def _has_no_winner(corners: Corners) -> Bools:
    off = corners.rounding[corners.owner]
    best = (corners.values - off).max(axis=1, keepdims=True)
    may_win = np.logical_and.reduceat(corners.values + off >= best, corners.starts)
    none: Bools = np.logical_not(np.any(may_win, axis=1))
    return none
