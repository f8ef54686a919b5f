"""One hyperplane on one path in extended precision: between float64 and rational arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, upward
from affinelens.network.linear_map import LinearMap
from affinelens.restrict.backward import Backward, weighed
from affinelens.restrict.forms import MAIN_ROUNDOFF, Extended, Form, applied
from affinelens.restrict.kept import Kept

Floats = NDArray[np.float64]
Pattern = NDArray[np.integer[Any]]


class AccurateRows(Backward):
    """Affine functions of a chart's coordinates, which lie in [-1, 1], with a bound on their error there.

    As the pattern is known, nothing is left open on the way back, and roundings are some thousand times smaller than
    those of float64.
    """

    kind = np.longdouble
    roundoff = MAIN_ROUNDOFF

    def __init__(self, kept: Kept, chart: ExactMatrix) -> None:
        self._chart = Form.of_chart(chart)
        inputs = np.abs(self._chart.main).sum(axis=1).astype(np.float64)
        super().__init__(kept, upward(inputs + self._chart.error))

    def apply_transposed(
        self, part: LinearMap, transposed: LinearMap, cotangent: Extended, largest: Floats
    ) -> tuple[Extended, Floats]:
        behind, rounding = applied(transposed, cotangent)
        return behind, np.full(cotangent.shape[1], float(rounding @ largest))

    def break_row(self, stage: int, index: int, pattern: Pattern) -> tuple[Extended, float]:
        """A break's function ``[w | b]`` where the pattern of earlier stages holds, and its error on the domain."""
        here = self.network.stages[stage]
        breaks = here.activation.breaks
        cotangent = np.zeros((here.linear.size, 1), dtype=np.longdouble)
        cotangent[breaks.plus[index]] = 1.0
        if breaks.minus[index] >= 0:
            cotangent[breaks.minus[index]] = -1.0
        carried = self.carried(1, stage + 1)
        self.pull(here.linear, cotangent, carried)
        for below in range(stage - 1, -1, -1):
            arrived = carried.cotangents[below + 1]
            if arrived is not None and arrived.any():
                part = self.network.stage_pattern(pattern, below).astype(np.int64)
                self.pull(self.network.stages[below].linear, self.through(below, arrived, part, carried), carried)
        row = np.zeros(self._chart.main.shape[1], dtype=np.longdouble)
        at_input = carried.cotangents[0]
        if at_input is not None:
            row += (at_input * self._chart.main).sum(axis=0)
            size = self._chart.error + (len(at_input) + 2) * 2 * MAIN_ROUNDOFF * self.largest[0]
            carried.error += weighed(at_input, size)
        constant, threshold = carried.constant[0], breaks.threshold[index]
        row[-1] += constant - threshold
        carried.error += 8 * MAIN_ROUNDOFF * float(abs(row[-1]) + abs(constant) + abs(threshold))
        return row, float(upward(carried.error)[0])
