"""HiGHS as an oracle: points and multipliers that others then prove or discard.

Every program is solved from scratch, so that an answer depends on nothing but the program: small ones take less time
that way than the bookkeeping of a warm start, and results do not depend on the order in which cells are visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import highspy
import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats

_INFINITY = highspy.kHighsInf
_ROWWISE = int(highspy.MatrixFormat.kRowwise)
_MINIMISE = int(highspy.ObjSense.kMinimize)
# A program that takes more steps than this for each of its rows and variables is going in circles.
_STEPS_PER_CONSTRAINT = 100
_NEWTON_STEPS = 12
_NEWTON_ACCURACY = 1e-6


@dataclass(frozen=True)
class Ball:
    """A ball inside (radius > 0) or the least violated point of (radius <= 0) a set of rows, and their multipliers.

    ``roomiest`` is, where a box counts too, the point of the box that is farthest inside the rows alone.
    """

    point: Floats
    radius: float
    multipliers: Floats
    roomiest: Floats | None = None


@lru_cache(maxsize=1024)
def _template(count: int, variables: int) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats, NDArray[np.int32]]:
    """What all programs of one size share: row starts, column numbers, upper bounds of rows, kinds of variables."""
    starts = np.arange(count, dtype=np.int32) * variables
    columns = np.tile(np.arange(variables, dtype=np.int32), count)
    return starts, columns, np.full(count, _INFINITY), np.zeros(variables, dtype=np.int32)


class Solver:
    """One HiGHS instance, reused for every program; counts what it solves.

    ``checkpoint`` is called before each program, and may raise to stop a long search.
    """

    def __init__(self, checkpoint: Callable[[], None] = lambda: None) -> None:
        self.checkpoint = checkpoint
        self._highs = highspy.Highs()
        self._highs.silent()
        options: dict[str, bool | int | float | str] = {
            "presolve": "off",
            "solver": "simplex",
            "parallel": "off",
            "threads": 1,
            "primal_feasibility_tolerance": 1e-10,
            "dual_feasibility_tolerance": 1e-10,
            "random_seed": 0,
        }
        for name, value in options.items():
            self._highs.setOptionValue(name, value)
        self.solved = 0

    def begin(self, programs: int = 1) -> None:
        """Announce programs, whoever is going to solve them."""
        self.checkpoint()
        self.solved += programs

    def minimise(
        self, cost: Floats, normals: Floats, offsets: Floats, low: Floats, high: Floats, scale: float
    ) -> Ball | None:
        """A minimiser of ``cost @ w`` over ``normals @ w + offsets >= 0`` in a box, in units of ``scale``."""
        found = self._solve(cost, normals, -offsets / scale, low / scale, high / scale)
        if found is None:
            return None
        point, multipliers = found
        return Ball(point * scale, 0.0, multipliers)

    def largest_ball(self, normals: Floats, offsets: Floats, low: Floats, high: Floats, scale: float) -> Ball | None:
        """Chebyshev center: the largest t with ``normals @ w + offsets >= t`` in a box, in units of ``scale``."""
        dimension = normals.shape[1]
        rows = np.empty((len(offsets), dimension + 1))
        rows[:, :-1] = normals
        rows[:, -1] = -1.0
        cost = np.zeros(dimension + 1)
        cost[-1] = -1.0
        bound = 4.0 * float(np.abs(np.concatenate([low, high])).sum() + np.abs(offsets).max(initial=0.0)) / scale + 1.0
        found = self._solve(
            cost, rows, -offsets / scale, np.append(low / scale, -bound), np.append(high / scale, bound)
        )
        if found is None:
            return None
        point, multipliers = found
        return Ball(point[:-1] * scale, float(point[-1]) * scale, multipliers)

    def largest_ball_in_box(
        self, normals: Floats, offsets: Floats, low: Floats, high: Floats, scale: float
    ) -> Ball | None:
        """Chebyshev center where the box counts too: the ball must fit inside ``low <= w <= high``.

        With the box shrunk by s on all sides, the best margin f(s) of the rows is concave and decreasing, and the
        radius sought is the s with f(s) = s. Newton's method from s = 0 gets there in a few programs whose box is
        only bounds on variables, where 2 d extra rows would make each of them slow in hundreds of dimensions.
        """
        half = 0.5 * float((high - low).min())
        if not len(offsets):
            return Ball(0.5 * (low + high), half, np.zeros(0))
        ball = self.largest_ball(normals, offsets, low, high, scale)
        if ball is None or ball.radius <= 0:
            return ball
        roomiest = ball.point
        best = Ball(ball.point, 0.0, ball.multipliers, roomiest)
        shrink = 0.0
        for _ in range(_NEWTON_STEPS):
            slope = -float(np.abs(ball.multipliers @ normals).sum())
            following = min((ball.radius - slope * shrink) / (1.0 - slope), half)
            if abs(following - shrink) <= _NEWTON_ACCURACY * following:
                break
            shrink = following
            ball = self.largest_ball(normals, offsets, low + shrink, high - shrink, scale)
            if ball is None:
                break
            if min(ball.radius, shrink) > best.radius:
                best = Ball(ball.point, min(ball.radius, shrink), ball.multipliers, roomiest)
        return best

    def _solve(
        self, cost: Floats, rows: Floats, lower: Floats, low: Floats, high: Floats
    ) -> tuple[Floats, Floats] | None:
        """The minimiser and the rows' multipliers; None if there is none, or HiGHS cannot take the numbers.

        It does not return from a program with a number that is none.
        """
        self.begin()
        if not all(np.isfinite(part).all() for part in (cost, rows, lower, low, high)):
            return None
        count, variables = rows.shape
        starts, columns, no_upper, continuous = _template(count, variables)
        taken = self._highs.passModel(
            variables, count, rows.size, _ROWWISE, _MINIMISE, 0.0,
            cost, low, high, lower, no_upper, starts, columns, rows.ravel(), continuous,
        )  # fmt: skip
        if taken == highspy.HighsStatus.kError:
            return None
        self._highs.setOptionValue("simplex_iteration_limit", _STEPS_PER_CONSTRAINT * (count + variables))
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution = self._highs.getSolution()
        point = np.array(solution.col_value)
        multipliers = np.maximum(np.array(solution.row_dual), 0.0) if count else np.zeros(0)
        return point, multipliers
