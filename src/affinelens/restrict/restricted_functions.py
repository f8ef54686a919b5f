"""The units that can switch on a domain as functions of its coordinates: in float64 with proven errors, and exactly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from affinelens.array_types import Bools, Floats, Indices
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import Dense
from affinelens.restrict.exact_breaks import ExactBreaks
from affinelens.restrict.restricted_network import RestrictedNetwork
from affinelens.restrict.restricted_rows import RestrictedRows, restricted_outputs, restricted_rows
from affinelens.restrict.zero_functions import ZeroFunctions


class RestrictedFunctions:
    """The functions of a restricted network's units, and of the outputs; stages have its numbers."""

    def __init__(self, restricted: RestrictedNetwork) -> None:
        frame = restricted.frame
        self.restricted = restricted
        self.exact = ExactBreaks(restricted, frame.chart)
        self.reach = np.append(np.maximum(np.abs(frame.lower), np.abs(frame.upper)), 1.0)
        self._chart = frame.chart
        self._rows = restricted_rows(restricted, frame.chart, self.reach)

    @property
    def rows(self) -> list[RestrictedRows]:
        """The pre-activations of every switching stage."""
        return self._rows

    @cached_property
    def outputs(self) -> RestrictedRows:
        """The network's outputs."""
        return restricted_outputs(self.restricted, self._chart, self.reach)

    def over_domain(self) -> Passage:
        """A passage of functions of the domain's coordinates; choices are one array a stage."""
        size = len(self.reach)
        one = np.zeros((1, size))
        one[0, -1] = 1.0
        return Passage(
            self.restricted, self._rows, Enclosure(np.eye(size), np.zeros((size, 1)), one, self.reach[:, None])
        )

    def at(self, points: Floats) -> Passage:
        """A passage of values at points of the domain, a row each; choices have a column a point."""
        homogeneous = np.hstack([points, np.ones((len(points), 1))]).T
        return Passage(self.restricted, self._rows, Enclosure.values(homogeneous))


class Passage:
    """What passes through the switching units, stage by stage: the next one's breaks, then what they choose."""

    def __init__(self, restricted: RestrictedNetwork, rows: Sequence[RestrictedRows], coordinates: Enclosure) -> None:
        self._restricted = restricted
        self._rows = rows
        self._coordinates = coordinates
        self._outputs: list[Enclosure] = []
        self._zero = ZeroFunctions(restricted, rows, columns=coordinates.reach is None)
        self._pre_activation = coordinates

    def breaks(self) -> tuple[Enclosure, Bools]:
        """The next stage's breaks, and which of them are known to be the zero function."""
        stage = len(self._outputs)
        rows, breaks = self._rows[stage], self._restricted.stages[stage].activation.breaks
        total = Dense(rows.fixed).propagate(self._coordinates)
        for source, weight in rows.maps.items():
            total = total + Dense(weight).propagate(self._outputs[source])
        self._pre_activation, is_zero = (
            total.replaced(total.rows, total.error + rows.error[:, None]),
            self._zero.units(),
        )
        without = (breaks.threshold == 0.0).reshape(-1, *(1,) * (is_zero.ndim - 1))
        paired = (breaks.minus >= 0).reshape(without.shape)
        vanish = is_zero[breaks.plus] & without & np.where(paired, is_zero[breaks.minus], True)
        return self._pre_activation.differences(breaks.plus, breaks.minus, breaks.threshold), vanish

    def choose(self, chosen: Indices) -> None:
        """Go on with the stage's outputs on the given pieces."""
        activation = self._restricted.stages[len(self._outputs)].activation
        self._outputs.append(activation.select(self._pre_activation, chosen))
        self._zero.choose(chosen)
