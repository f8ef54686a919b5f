"""Hyperplanes on one path in extended precision: between float64 and rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from affinelens.arithmetic import ExactMatrix, gamma, upward
from affinelens.array_types import Floats, Pattern
from affinelens.network.linear_map import LinearMap
from affinelens.restrict.affine_forms import MAIN_ROUNDOFF, Extended, Form, extended_product, lost_bits, rounding_share
from affinelens.restrict.cotangents import Cotangents, weighed
from affinelens.restrict.restricted_network import RestrictedNetwork


def _rounding_weights(part: LinearMap, transposed: LinearMap, largest: Floats) -> tuple[Floats, float]:
    """What a rounding of a cotangent's product with ``transposed`` comes to on values that are at most so large.

    It is at most the first, times the cotangent's absolute entries, and the second, times the largest of them.
    """
    whole = upward(part.apply_absolute(largest[:, None])[:, 0])
    weights = rounding_share(transposed) * whole
    if transposed.halves is None:
        return upward(weights), 0.0
    rest = transposed.halves[1].transposed().apply_absolute(largest[:, None])[:, 0]
    rounded = gamma(transposed.roundings)
    return upward(weights + rounded * upward(rest)), float(upward(rounded * lost_bits(transposed) * whole.sum()))


class ExtendedRows(Cotangents):
    """Affine functions of a chart's coordinates, which lie in [-1, 1], with a bound on their error there.

    As the pattern is known, nothing is left open on the way back, and roundings are some thousand times smaller than
    those of float64.
    """

    kind = np.longdouble
    roundoff = MAIN_ROUNDOFF

    def __init__(self, restricted: RestrictedNetwork, chart: ExactMatrix) -> None:
        self._chart = Form.of_chart(chart)
        inputs = np.abs(self._chart.main).sum(axis=1).astype(np.float64)
        super().__init__(restricted, upward(inputs + self._chart.error))
        self._weights: dict[tuple[int, int], tuple[Floats, float]] = {}

    def apply_transposed(
        self, part: LinearMap, transposed: LinearMap, cotangent: Extended, largest: Floats
    ) -> tuple[Extended, Floats]:
        place = id(part), id(largest)  # a map may be applied at several places
        if place not in self._weights:
            self._weights[place] = _rounding_weights(part, transposed, largest)
        weights, total = self._weights[place]
        size = np.abs(cotangent).astype(np.float64)
        return extended_product(transposed, cotangent), upward(weights @ size + total * size.max(axis=0))

    def break_rows(self, breaks: Sequence[tuple[int, int]], pattern: Pattern) -> list[tuple[Extended, float]]:
        """Functions ``[w | b]`` of breaks, by stage and number, where the pattern holds; and their errors there."""
        deepest = max(stage for stage, _ in breaks)
        carried = self.carried(len(breaks), deepest + 2)
        for stage in range(deepest, -1, -1):
            cotangent = self._starting(stage, breaks)
            arrived = carried.cotangents[stage + 1]
            if arrived is not None and arrived.any():
                pieces = self.network.stage_pattern(pattern, stage).astype(np.int64)
                behind = self.through(stage, arrived, pieces, carried)
                cotangent = behind if cotangent is None else behind + cotangent  # no column has both
            if cotangent is not None:
                self.pull(self.network.stages[stage].linear, cotangent, carried)
        rows = np.zeros((len(breaks), self._chart.main.shape[1]), dtype=np.longdouble)
        at_input = carried.cotangents[0]
        if at_input is not None:
            rows += at_input.T @ self._chart.main
            size = self._chart.error + (len(at_input) + 2) * 2 * MAIN_ROUNDOFF * self.largest[0]
            carried.error += weighed(at_input, size)
        thresholds = np.array([self.network.stages[k].activation.breaks.threshold[index] for k, index in breaks])
        rows[:, -1] += carried.constant - thresholds
        size = np.abs(rows[:, -1]) + np.abs(carried.constant) + np.abs(thresholds)
        errors = upward(carried.error + 8 * MAIN_ROUNDOFF * size.astype(np.float64))
        return list(zip(rows, errors.tolist(), strict=True))

    def _starting(self, stage: int, breaks: Sequence[tuple[int, int]]) -> Extended | None:
        """The cotangent of those breaks that belong to a stage, a column each, or None if there are none."""
        columns = [column for column, (k, _) in enumerate(breaks) if k == stage]
        if not columns:
            return None
        linear, table = self.network.stages[stage].linear, self.network.stages[stage].activation.breaks
        cotangent = np.zeros((linear.size, len(breaks)), dtype=np.longdouble)
        cotangent[:, columns] = table.weights(np.array([breaks[column][1] for column in columns]), linear.size)
        return cotangent
