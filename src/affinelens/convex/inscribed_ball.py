"""The largest ball in each of many cells given by halfspaces.

Its center t and radius r solve a linear program: the largest r with ``(w_i t + b_i) / |w_i| >= r`` for every halfspace.
Seen from a point p of the cell all slacks are non-negative, so a simplex method can start there: every slack is a
function ``s_i + n_i (t - p) - r``, and variables are exchanged until r cannot grow. What comes out is only a guess. The
distances of t from the halfspaces prove how large r is at least, and the multipliers of the last exchange how large at
most; the gap between the two covers all rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from affinelens.array_types import Floats, Indices
from affinelens.kernels.compilation import entry, kernel
from affinelens.kernels.exchange import exchange

_ROUNDING = 2.0**-53
# Where the exchange stops looking for better; only how wide the proven gap is depends on it.
_FLAT = 1e-13
_EXCHANGES_A_VARIABLE = 50


class Balls(NamedTuple):
    """Centers, radii and how far each radius may be off."""

    centers: Floats
    radii: Floats
    errors: Floats


class _Scratch(NamedTuple):
    """``table[i]`` is row i's variable as a function of the column variables, with its constant last; then r's."""

    table: Floats
    normal: Floats
    in_row: Indices
    in_column: Indices
    multiplier: Floats


def inscribed_balls(rows: Floats, errors: Floats, ends: Indices, points: Floats, lower: Floats, upper: Floats) -> Balls:
    """The largest balls in cells.

    Args:
        rows: All cells' halfspaces ``[w | b]`` with ``w t + b >= 0``, one cell after another.
        errors: How far a row's value may be off between ``lower`` and ``upper``.
        ends: Where in ``rows`` each cell ends.
        points: A point of each cell.
        lower: A corner of a box that contains all cells.
        upper: The opposite corner.
    """
    count, dim = points.shape
    most = int(np.diff(ends, prepend=0).max(initial=0))
    scratch = _Scratch(
        np.empty((most + 1, dim + 2)), np.empty((most, dim + 3)), np.empty(most + 1, np.int64),
        np.empty(dim + 1, np.int64), np.empty(most),
    )  # fmt: skip
    balls = Balls(np.empty((count, dim)), np.empty(count), np.empty(count))
    across = float(np.sqrt(((upper - lower) ** 2).sum()))
    inscribe(rows, errors, ends, points, steepest_slope(lower, upper), across, scratch, balls)
    return balls


def steepest_slope(lower: Floats, upper: Floats) -> float:
    """The largest slope of an affine function that is between -1 and 1 on a box; infinite if float64 has none."""
    half = (upper - lower) / 2
    with np.errstate(over="ignore", divide="ignore"):
        return float(np.sqrt((half**-2.0).sum()))


@entry
def inscribe(
    rows: Any, errors: Any, ends: Any, points: Any, steepest: float, across: float, scratch: _Scratch, balls: Balls
) -> None:
    d = points.shape[1]
    begin = 0
    for cell in range(len(ends)):
        end = ends[cell]
        center = balls.centers[cell]
        for k in range(d):
            center[k] = points[cell, k]
        _normalise(rows[begin:end], errors[begin:end], steepest, scratch, d)
        _climb(scratch, center, end - begin, d)
        _prove(scratch, balls, cell, points[cell], across, end - begin, d)
        begin = end


@kernel
def _normalise(rows: Any, errors: Any, steepest: float, scratch: _Scratch, d: int) -> None:
    """Unit normals and offsets; then how far the two may be off, the first relative to 1."""
    for i in range(len(rows)):
        length = 0.0
        for k in range(d):
            length = max(length, abs(rows[i, k]))
        total = 0.0
        for k in range(d):
            total += (rows[i, k] / length) ** 2
        length *= np.sqrt(total)
        for k in range(d + 1):
            scratch.normal[i, k] = rows[i, k] / length
        scratch.normal[i, d + 1] = errors[i] * steepest / length + (d + 4) * _ROUNDING
        scratch.normal[i, d + 2] = errors[i] / length


@kernel
def _climb(scratch: _Scratch, center: Any, m: int, d: int) -> None:
    """Move a point of the cell to the center of the largest ball, and keep the multipliers that say so."""
    table, normal, in_row, in_column = scratch.table, scratch.normal, scratch.in_row, scratch.in_column
    for i in range(m):
        in_row[i] = d + 1 + i
        slack = normal[i, d]
        for k in range(d):
            table[i, k] = normal[i, k]
            slack += normal[i, k] * center[k]
        table[i, d] = -1.0
        table[i, d + 1] = max(slack, 0.0)
    for j in range(d + 1):
        in_column[j] = j
        table[m, j] = 0.0
    table[m, d] = 1.0
    table[m, d + 1] = 0.0
    for _ in range(_EXCHANGES_A_VARIABLE * (m + d)):
        column = _best_column(table, in_column, m, d)
        if column < 0:
            break
        row = _blocking_row(table, in_row, column, m, d)
        if row < 0:
            break
        exchange(table, row, column, m + 1, d + 2)
        in_row[row], in_column[column] = in_column[column], in_row[row]
    for i in range(m):
        if in_row[i] < d:
            center[in_row[i]] += table[i, d + 1]
        scratch.multiplier[i] = 0.0
    for j in range(d + 1):
        if in_column[j] > d:
            scratch.multiplier[in_column[j] - d - 1] = max(-table[m, j], 0.0)


@kernel
def _best_column(table: Any, in_column: Any, m: int, d: int) -> int:
    """The variable with which r grows fastest; slacks can only grow, coordinates go either way."""
    best, steepest = -1, _FLAT
    for j in range(d + 1):
        slope = table[m, j] if in_column[j] > d else abs(table[m, j])
        if slope > steepest:
            best, steepest = j, slope
    return best


@kernel
def _blocking_row(table: Any, in_row: Any, column: int, m: int, d: int) -> int:
    """The slack that is first used up as a column's variable changes in the better direction."""
    side = 1.0 if table[m, column] > 0.0 else -1.0
    found, nearest, fastest = -1, np.inf, 0.0
    for i in range(m):
        fall = -side * table[i, column]
        if in_row[i] > d and fall > _FLAT:
            ratio = table[i, d + 1] / fall
            if ratio < nearest or (ratio == nearest and fall > fastest):
                found, nearest, fastest = i, ratio, fall
    return found


@kernel
def _prove(scratch: _Scratch, balls: Balls, cell: int, point: Any, across: float, m: int, d: int) -> None:
    """The radius at the center, and how far the largest one can be from it."""
    normal, multiplier, center = scratch.normal, scratch.multiplier, balls.centers[cell]
    radius, surely, weight, bound = np.inf, np.inf, 0.0, 0.0
    for i in range(m):
        slack, size, reference = normal[i, d], abs(normal[i, d]), normal[i, d]
        for k in range(d):
            slack += normal[i, k] * center[k]
            reference += normal[i, k] * point[k]
            size += abs(normal[i, k]) * max(abs(center[k]), abs(point[k]))
        tilt = normal[i, d + 1]
        off = 2.0 * (normal[i, d + 2] + (d + 4) * _ROUNDING * size + tilt * (abs(slack) + abs(reference)))
        radius = min(radius, slack)
        surely = min(surely, slack - off)
        weight += multiplier[i]
        bound += multiplier[i] * (reference + off + 2.0 * tilt * across)
    residual = 0.0
    for k in range(d):
        lean = 0.0
        for i in range(m):
            lean += multiplier[i] * normal[i, k]
        residual += lean * lean
    radius = max(radius, 0.0)
    balls.radii[cell] = radius
    if not weight > 0.0:
        balls.errors[cell] = np.inf
        return
    most = (bound + np.sqrt(residual) * across) / weight
    most += (m + d + 8) * _ROUNDING * (abs(bound) / weight + across)
    balls.errors[cell] = max(most - radius, radius - max(surely, 0.0), 0.0)
