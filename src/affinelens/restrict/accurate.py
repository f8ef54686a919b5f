"""One hyperplane on one path in extended precision: between float64 and rational arithmetic.

As in :mod:`affinelens.restrict.compact` a cotangent is carried back to the input and leaves an error at every map that
rounds; here nothing is left open, because the pattern is known, and roundings are some thousand times smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, upward
from affinelens.network import MaxGroups, PiecewiseLinear
from affinelens.network.canonical import AffineSum
from affinelens.network.linear_map import Chain, LinearMap, Sum
from affinelens.restrict.forms import MAIN_ROUNDOFF, Extended, Form, applied
from affinelens.restrict.kept import Kept

Floats = NDArray[np.float64]
Pattern = NDArray[np.integer[Any]]


class AccurateRows:
    """Affine functions of a chart's coordinates, which lie in [-1, 1], with a bound on their error there."""

    def __init__(self, kept: Kept, chart: ExactMatrix) -> None:
        self._network = kept.network
        self._bounds = kept.bounds
        self._chart = Form.of_chart(chart)
        inputs = np.abs(self._chart.main).sum(axis=1).astype(np.float64)
        self._largest = [upward(inputs + self._chart.error), *(bounds.output for bounds in kept.bounds)]
        self._transposed: dict[int, LinearMap] = {}

    def break_row(self, stage: int, index: int, pattern: Pattern) -> tuple[Extended, float]:
        """A break's function ``[w | b]`` where the pattern of earlier stages holds, and its error on the domain."""
        here = self._network.stages[stage]
        breaks = here.activation.breaks
        cotangent = np.zeros((here.linear.size, 1), dtype=np.longdouble)
        cotangent[breaks.plus[index]] = 1.0
        if breaks.minus[index] >= 0:
            cotangent[breaks.minus[index]] = -1.0
        carried = _Carried(stage + 1)
        self._pull(here.linear, cotangent, carried)
        for below in range(stage - 1, -1, -1):
            arrived = carried.cotangents[below + 1]
            if arrived is not None and arrived.any():
                part = self._network.stage_pattern(pattern, below).astype(np.int64)
                self._pull(self._network.stages[below].linear, self._through(below, arrived, part, carried), carried)
        row = np.zeros(self._chart.main.shape[1], dtype=np.longdouble)
        at_input = carried.cotangents[0]
        if at_input is not None:
            row += (at_input * self._chart.main).sum(axis=0)
            size = np.abs(at_input[:, 0]).astype(np.float64)
            carried.error += float(size @ (self._chart.error + (len(size) + 2) * 2 * MAIN_ROUNDOFF * self._largest[0]))
        row[-1] += carried.constant - breaks.threshold[index]
        carried.error += 8 * MAIN_ROUNDOFF * float(np.abs(row[-1]) + np.abs(carried.constant) + breaks.threshold[index])
        return row, float(upward(carried.error))

    def _pull(self, linear: AffineSum, cotangent: Extended, carried: _Carried) -> None:
        for k, part in linear.sources:
            behind = self._behind(part, cotangent, self._largest[k], carried)
            carried.add(k, behind, self._largest[k])
        if linear.bias is not None:
            bias, rounding = applied(linear.bias, np.ones((1, 1), dtype=np.longdouble))
            carried.add_constant(cotangent, bias[:, 0], rounding)

    def _behind(self, part: LinearMap, cotangent: Extended, largest: Floats, carried: _Carried) -> Extended:
        """The cotangent behind a map that is applied to values of at most the given sizes."""
        if isinstance(part, Sum):
            total = self._behind(part.maps[0], cotangent, largest, carried)
            for other in part.maps[1:]:
                total = total + self._behind(other, cotangent, largest, carried)
                carried.error += MAIN_ROUNDOFF * float(np.abs(total[:, 0]).astype(np.float64) @ largest)
            return total
        if isinstance(part, Chain):
            sizes = [largest]
            for step in part.maps[:-1]:
                sizes.append(upward(step.apply_absolute(sizes[-1][:, None])[:, 0]))
            for step, size in zip(reversed(part.maps), reversed(sizes), strict=True):
                cotangent = self._behind(step, cotangent, size, carried)
            return cotangent
        if id(part) not in self._transposed:
            self._transposed[id(part)] = part.transposed()
        behind, rounding = applied(self._transposed[id(part)], cotangent)
        carried.error += float(upward(rounding) @ largest)
        return behind

    def _through(self, index: int, arrived: Extended, part: Pattern, carried: _Carried) -> Extended:
        activation = self._network.stages[index].activation
        if isinstance(activation, MaxGroups):
            behind = np.zeros((activation.size_in, 1), dtype=np.longdouble)
            behind[activation.starts[:-1] + part] = arrived
            return behind
        assert isinstance(activation, PiecewiseLinear)
        unit = np.arange(activation.size_in)
        slopes, offsets = activation.slopes[unit, part], activation.offsets[unit, part]
        if offsets.any():
            carried.add_constant(arrived, offsets.astype(np.longdouble), np.zeros(len(offsets)))
        rounded = ~np.isin(slopes, (-1.0, 0.0, 1.0))
        size = np.abs(slopes[rounded]) * self._bounds[index].pre_activation[rounded]
        carried.error += MAIN_ROUNDOFF * float(np.abs(arrived[rounded, 0]).astype(np.float64) @ size)
        return slopes[:, None] * arrived


class _Carried:
    """What is on its way back: cotangents by source, and the constant and the error left behind so far."""

    def __init__(self, sources: int) -> None:
        self.cotangents: list[Extended | None] = [None] * sources
        self.constant = np.longdouble(0.0)
        self.error = 0.0

    def add(self, source: int, cotangent: Extended, largest: Floats) -> None:
        present = self.cotangents[source]
        total = cotangent if present is None else present + cotangent
        if present is not None:
            self.error += MAIN_ROUNDOFF * float(np.abs(total[:, 0]).astype(np.float64) @ largest)
        self.cotangents[source] = total

    def add_constant(self, cotangent: Extended, values: Extended, errors: Floats) -> None:
        products = cotangent[:, 0] * values
        size = np.abs(cotangent[:, 0]).astype(np.float64)
        self.error += float(size @ errors) + (len(values) + 4) * MAIN_ROUNDOFF * float(np.abs(products).sum())
        self.constant = self.constant + products.sum()
        self.error += MAIN_ROUNDOFF * float(abs(self.constant))
