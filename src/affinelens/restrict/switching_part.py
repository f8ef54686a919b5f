"""The units that can switch on a domain as functions of its coordinates: in float64 with proven errors, and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from affinelens.domain import Frame
from affinelens.network import MaxGroups, PiecewiseLinear
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import Dense
from affinelens.restrict.compact import CompactRows, compact_outputs, compact_rows
from affinelens.restrict.exact_breaks import ExactBreaks
from affinelens.restrict.kept import Kept

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]


class SwitchingPart:
    """What is left of a network on a domain; stages are numbered as those kept."""

    def __init__(self, kept: Kept, frame: Frame) -> None:
        self.kept = kept
        self.exact = ExactBreaks(kept, frame.chart)
        self._reach = np.append(np.maximum(np.abs(frame.lower), np.abs(frame.upper)), 1.0)
        self._chart = frame.chart
        self._rows = compact_rows(kept, frame.chart, self._reach)

    @property
    def rows(self) -> list[CompactRows]:
        """The pre-activations of every switching stage."""
        return self._rows

    @cached_property
    def outputs(self) -> CompactRows:
        """The network's outputs."""
        return compact_outputs(self.kept, self._chart, self._reach)

    def functions(self) -> Passage:
        """A passage of functions of the domain's coordinates; choices are one array a stage."""
        size = len(self._reach)
        one = np.zeros((1, size))
        one[0, -1] = 1.0
        return Passage(self.kept, self._rows, Enclosure(np.eye(size), np.zeros((size, 1)), one, self._reach[:, None]))

    def values(self, points: Floats) -> Passage:
        """A passage of values at points of the domain, a row each; choices have a column a point."""
        homogeneous = np.hstack([points, np.ones((len(points), 1))]).T
        return Passage(self.kept, self._rows, Enclosure.values(homogeneous))


class Passage:
    """What passes through the switching units, stage by stage: the next one's breaks, then what they choose."""

    def __init__(self, kept: Kept, rows: Sequence[CompactRows], coordinates: Enclosure) -> None:
        self._kept = kept
        self._rows = rows
        self._coordinates = coordinates
        self._outputs: list[Enclosure] = []
        self._zero_outputs: list[Bools] = []
        self._pre_activation = coordinates
        self._zero: Bools = np.zeros(0, dtype=bool)

    def breaks(self) -> tuple[Enclosure, Bools]:
        """The next stage's breaks, and which of them are known to be the zero function."""
        stage = len(self._outputs)
        rows, breaks = self._rows[stage], self._kept.stages[stage].activation.breaks
        total = Dense(rows.fixed).propagate(self._coordinates)
        is_zero = rows.error == 0.0  # then it is a sum of outputs, exactly
        is_zero = is_zero if self._coordinates.reach is not None else is_zero[:, None]
        for source, weight in rows.maps.items():
            total = total + Dense(weight).propagate(self._outputs[source])
            is_zero = is_zero & ~((weight != 0.0) @ ~self._zero_outputs[source])
        self._pre_activation, self._zero = total.replaced(total.rows, total.error + rows.error[:, None]), is_zero
        without = (breaks.threshold == 0.0).reshape(-1, *(1,) * (is_zero.ndim - 1))
        paired = (breaks.minus >= 0).reshape(without.shape)
        vanish = is_zero[breaks.plus] & without & np.where(paired, is_zero[breaks.minus], True)
        return self._pre_activation.differences(breaks.plus, breaks.minus, breaks.threshold), vanish

    def choose(self, chosen: Indices) -> None:
        """Go on with the stage's outputs on the given pieces."""
        activation = self._kept.stages[len(self._outputs)].activation
        self._outputs.append(activation.select(self._pre_activation, chosen))
        if isinstance(activation, MaxGroups):
            winners = activation.starts[:-1].reshape(-1, *(1,) * (chosen.ndim - 1)) + chosen
            zero = np.broadcast_to(self._zero, (len(self._zero), *chosen.shape[1:]))
            self._zero_outputs.append(np.take_along_axis(zero, winners, axis=0))
            return
        assert isinstance(activation, PiecewiseLinear)
        unit = np.arange(activation.size_in).reshape(-1, *(1,) * (chosen.ndim - 1))
        flat = (activation.slopes[unit, chosen] == 0.0) | self._zero
        self._zero_outputs.append(flat & (activation.offsets[unit, chosen] == 0.0))
