"""Points deep inside a few rows on a box of many dimensions, or multipliers that say there is none; others prove it.

The program is: the largest t with ``row_i(w) >= t`` for every row, over ``low <= w <= high``. Any non-negative
multipliers of the rows, of sum 1, bound t from above by the largest value of their combination on the box. A
primal-dual interior-point method (Mehrotra's, from a strictly feasible start) keeps a point inside the box and such
multipliers at every step, so it can stop as soon as one of the two has answered. A step costs a few products of the
rows with a vector and one system with an unknown a row, and in high dimension there are far fewer rows than
coordinates.

An answer depends on the program alone, not on what was asked before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from affinelens.array_types import Bools, Floats, Indices, Signs
from affinelens.kernels.compilation import array_entry, array_kernel

INSIDE, EMPTY, UNDECIDED = 1, -1, 0
# How deep a point to look for: inside, before looking on sides; and on a side, where any point will do.
_DEPTH_BEFORE_SIDES = 0.5
_DEPTH_ON_SIDES = 0.1
# How much of the point and of the multipliers found inside a look on a side starts from; the rest is the neutral start.
_KEPT_FOR_SIDES = 0.99
# How far below its first point's least row, as a share of the gap to its bound, the margin starts.
_ROOM_AT_START = 0.1
_MOST_STEPS = 60
# Short of the border by this share of the way, and with a gap below this share of the rows' length, nothing moves.
_SHORT_OF_THE_BORDER = 0.99
_NO_GAP = 1e-15


@cache
def prepare() -> None:
    """Have the kernels compiled or loaded before a clock runs, by both questions about one row on a segment."""
    row, side = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int8)
    program = np.ones((1, 1)), np.zeros(1), row, side, -np.ones(1), np.ones(1)
    look_inside(*program)
    look_on_sides(*program, row)


def look_inside(
    normals: Floats, offsets: Floats, rows: Indices, signs: Signs, low: Floats, high: Floats, depth: float = 0.5
) -> tuple[int, Floats, Floats]:
    """A point of the box far on the stated side of each chosen row, or multipliers of a combination negative there.

    The point's margin is at least ``depth`` times the largest there is. The first answer says which of the two was
    found, if any. Nothing of it is proved.
    """
    verdict, point, multipliers = _look_inside(normals, offsets, rows, signs, low, high, depth)
    return int(verdict), point, multipliers


def look_on_sides(
    normals: Floats, offsets: Floats, rows: Indices, signs: Signs, low: Floats, high: Floats, sides: Indices
) -> tuple[Bools, Floats]:
    """For each of some sides of the box a point of it on the stated side of each chosen row, and whether there is one.

    Sides 2 k and 2 k + 1 are where coordinate k is lowest and highest. Nothing of it is proved.
    """
    found, points = _look_on_sides(normals, offsets, rows, signs, low, high, sides)
    return found, points


@array_entry
def _look_inside(normals: Any, offsets: Any, rows: Any, signs: Any, low: Any, high: Any, depth: Any) -> Any:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    scaled, start, length = _on_unit_box(normals, offsets, rows, signs, middle, half)
    origin, equal = np.zeros(len(low)), np.full(len(rows), 1.0 / len(rows))
    verdict, point, multipliers = _deepest(scaled, start, depth, origin, equal)
    return verdict, middle + half * point, multipliers / length


@array_entry
def _look_on_sides(normals: Any, offsets: Any, rows: Any, signs: Any, low: Any, high: Any, sides: Any) -> Any:
    half, middle = 0.5 * (high - low), 0.5 * (high + low)
    scaled, start, _ = _on_unit_box(normals, offsets, rows, signs, middle, half)
    origin, equal = np.zeros(len(low)), np.full(len(rows), 1.0 / len(rows))
    _, inside, weight = _deepest(scaled, start, _DEPTH_BEFORE_SIDES, origin, equal)
    inside, weight = _KEPT_FOR_SIDES * inside, _KEPT_FOR_SIDES * weight + (1.0 - _KEPT_FOR_SIDES) * equal
    found = np.zeros(len(sides), dtype=np.bool_)
    points = np.empty((len(sides), len(low)))
    for index in range(len(sides)):
        k, upper = sides[index] // 2, sides[index] % 2
        column = scaled[:, k].copy()
        scaled[:, k] = 0.0
        moved = start + column if upper else start - column
        verdict, point, _ = _deepest(scaled, moved, _DEPTH_ON_SIDES, inside, weight)
        scaled[:, k] = column
        found[index] = verdict == INSIDE
        points[index] = middle + half * point
        points[index, k] = high[k] if upper else low[k]
    return found, points


@array_kernel
def _on_unit_box(normals: Any, offsets: Any, rows: Any, signs: Any, middle: Any, half: Any) -> Any:
    """Rows, turned to the stated sides, as functions of y in [-1, 1]^dim, of length 1; and their lengths before."""
    count, dim = len(rows), len(half)
    scaled = np.empty((count, dim))
    start = np.empty(count)
    length = np.empty(count)
    for i in range(count):
        normal = normals[rows[i]]
        square, value = 0.0, offsets[rows[i]]
        for j in range(dim):
            entry = normal[j] * half[j]
            scaled[i, j] = entry
            square += entry * entry
            value += normal[j] * middle[j]
        length[i] = np.sqrt(square) if square > 0 else 1.0
        factor = signs[i] / length[i]
        start[i] = value * factor
        for j in range(dim):
            scaled[i, j] *= factor
    return scaled, start, length


@array_kernel
def _deepest(rows: Any, offsets: Any, depth: Any, first: Any, first_weight: Any) -> Any:
    """Answer for unit rows on the box [-1, 1]^dim, from a first point inside it and first multipliers of sum 1.

    The point is y, its distances from the box are ``up`` and ``down``; ``slack`` is what each row exceeds the margin
    by. Multipliers are ``weight`` of the rows, ``pull_up`` and ``pull_down`` of the box; with ``combined`` the rows'
    combination, ``pull_up - pull_down = combined``.
    """
    count, dim = rows.shape
    y, weight = first.copy(), first_weight.copy()
    combined = _combination(rows, weight)
    slack = offsets.copy()
    bound = _dot(weight, offsets)
    for i in range(count):
        slack[i] += _dot(rows[i], y)
    for j in range(dim):
        bound += abs(combined[j])
    margin = slack.min() - _ROOM_AT_START * (bound - slack.min())
    slack -= margin
    centering = _dot(slack, weight) / (count + 2 * dim)
    pull_up = np.maximum(combined, 0.0) + centering
    pull_down = np.maximum(-combined, 0.0) + centering
    up, down = 1.0 - y, 1.0 + y
    system = np.empty((count, count))
    steps_weight, steps_y, steps_slack = np.empty(count), np.empty(dim), np.empty(count)
    steps_up, steps_down = np.empty(dim), np.empty(dim)
    goal_slack, goal_up, goal_down = np.empty(count), np.empty(dim), np.empty(dim)
    free, carried = np.empty(dim), np.empty(dim)
    for _ in range(_MOST_STEPS):
        combined = _combination(rows, weight)
        bound = _dot(weight, offsets)
        for j in range(dim):
            bound += abs(combined[j])
        if bound < 0:
            return EMPTY, y, weight
        if margin > depth * bound:
            return INSIDE, y, weight
        complementarity = _dot(slack, weight)
        for j in range(dim):
            complementarity += up[j] * pull_up[j] + down[j] * pull_down[j]
            free[j] = 1.0 / (pull_up[j] / up[j] + pull_down[j] / down[j])
        if not bound - margin > _NO_GAP:
            break
        average = complementarity / (count + 2 * dim)
        _normal_equations(rows, free, slack, weight, system)
        if not _factorise(system):
            break
        ones = np.ones(count)
        _solve(system, ones)
        step_primal = step_dual = 0.0
        step_margin = 0.0
        for corrector in range(2):
            if corrector == 0:
                for i in range(count):
                    goal_slack[i] = -slack[i] * weight[i]
                for j in range(dim):
                    goal_up[j] = -up[j] * pull_up[j]
                    goal_down[j] = -down[j] * pull_down[j]
            else:
                ahead = 0.0
                for i in range(count):
                    ahead += (slack[i] + step_primal * steps_slack[i]) * (weight[i] + step_dual * steps_weight[i])
                for j in range(dim):
                    move = step_primal * steps_y[j]
                    ahead += (up[j] - move) * (pull_up[j] + step_dual * steps_up[j])
                    ahead += (down[j] + move) * (pull_down[j] + step_dual * steps_down[j])
                target = average * (ahead / complementarity) ** 3
                for i in range(count):
                    goal_slack[i] = target - slack[i] * weight[i] - steps_slack[i] * steps_weight[i]
                for j in range(dim):
                    goal_up[j] = target - up[j] * pull_up[j] + steps_y[j] * steps_up[j]
                    goal_down[j] = target - down[j] * pull_down[j] - steps_y[j] * steps_down[j]
            for j in range(dim):
                carried[j] = free[j] * (goal_down[j] / down[j] - goal_up[j] / up[j])
            for i in range(count):
                steps_weight[i] = goal_slack[i] / weight[i] - _dot(rows[i], carried)
            _solve(system, steps_weight)
            step_margin = -steps_weight.sum() / ones.sum()
            steps_weight += step_margin * ones
            moved = _combination(rows, steps_weight)
            step_primal = step_dual = 1.0
            for j in range(dim):
                move = free[j] * moved[j] + carried[j]
                steps_y[j] = move
                steps_up[j] = (goal_up[j] + pull_up[j] * move) / up[j]
                steps_down[j] = (goal_down[j] - pull_down[j] * move) / down[j]
                step_primal = _longest(step_primal, up[j], -move)
                step_primal = _longest(step_primal, down[j], move)
                step_dual = _longest(step_dual, pull_up[j], steps_up[j])
                step_dual = _longest(step_dual, pull_down[j], steps_down[j])
            for i in range(count):
                steps_slack[i] = _dot(rows[i], steps_y) - step_margin
                step_primal = _longest(step_primal, slack[i], steps_slack[i])
                step_dual = _longest(step_dual, weight[i], steps_weight[i])
        step_primal *= _SHORT_OF_THE_BORDER
        step_dual *= _SHORT_OF_THE_BORDER
        margin += step_primal * step_margin
        for j in range(dim):
            y[j] += step_primal * steps_y[j]
            up[j], down[j] = 1.0 - y[j], 1.0 + y[j]
            pull_up[j] += step_dual * steps_up[j]
            pull_down[j] += step_dual * steps_down[j]
        for i in range(count):
            slack[i] = _dot(rows[i], y) + offsets[i] - margin
            weight[i] += step_dual * steps_weight[i]
    return UNDECIDED, y, weight


@array_kernel
def _dot(left: Any, right: Any) -> Any:
    total = 0.0
    for j in range(len(left)):
        total += left[j] * right[j]
    return total


@array_kernel
def _combination(rows: Any, weight: Any) -> Any:
    total = np.zeros(rows.shape[1])
    for i in range(rows.shape[0]):
        factor = weight[i]
        for j in range(rows.shape[1]):
            total[j] += factor * rows[i, j]
    return total


@array_kernel
def _longest(step: Any, value: Any, change: Any) -> Any:
    """The share of a change, at most ``step``, after which a value is not yet negative."""
    return min(step, -value / change) if change < 0 else step


@array_kernel
def _normal_equations(rows: Any, free: Any, slack: Any, weight: Any, system: Any) -> Any:
    count, dim = rows.shape
    product = np.empty(dim)
    for i in range(count):
        for j in range(dim):
            product[j] = rows[i, j] * free[j]
        for k in range(i + 1):
            system[i, k] = _dot(product, rows[k])
        system[i, i] += slack[i] / weight[i]


@array_kernel
def _factorise(system: Any) -> Any:
    """Cholesky's factor, in the lower half; False if the matrix is not positive definite in floating point."""
    count = len(system)
    for i in range(count):
        for k in range(i + 1):
            total = system[i, k]
            for j in range(k):
                total -= system[i, j] * system[k, j]
            if i > k:
                system[i, k] = total / system[k, k]
            elif total > 0:
                system[i, i] = np.sqrt(total)
            else:
                return False
    return True


@array_kernel
def _solve(system: Any, right: Any) -> Any:
    """Solve in place, given the factor."""
    count = len(right)
    for i in range(count):
        total = right[i]
        for j in range(i):
            total -= system[i, j] * right[j]
        right[i] = total / system[i, i]
    for i in range(count - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, count):
            total -= system[j, i] * right[j]
        right[i] = total / system[i, i]
