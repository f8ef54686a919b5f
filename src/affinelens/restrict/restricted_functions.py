"""The units that can switch on a domain as functions of its coordinates: in float64 with proven errors, and exactly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from flint import fmpz

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Bools, Floats, Indices, Pattern
from affinelens.network.adjoint import Adjoint
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import Dense
from affinelens.restrict.restricted_network import RestrictedNetwork
from affinelens.restrict.restricted_rows import RestrictedRows, restricted_outputs, restricted_rows

_ROWS_KEPT = 4096


class ExactBreaks:
    """Functions of a chart's coordinates.

    Stages and breaks have the restricted network's numbers; patterns are of all the network's choices.
    """

    def __init__(self, restricted: RestrictedNetwork, chart: ExactMatrix) -> None:
        self._restricted = restricted
        self._adjoint = Adjoint(restricted.network, chart)
        self._rows: OrderedDict[bytes, list[fmpz]] = OrderedDict()
        self._dependencies: dict[tuple[int, int], Indices] = {}

    def row(self, stage: int, index: int, pattern: Pattern) -> list[fmpz]:
        """A break's function where the pattern of earlier stages holds: integers, a positive multiple of it."""
        key = self.key(stage, index, pattern)
        found = self._rows.get(key)
        if found is None:
            here = self._restricted.stages[stage]
            found = self._adjoint.break_row(here.stage, int(here.breaks[index]), pattern)
            self._rows[key] = found
            if len(self._rows) > _ROWS_KEPT:
                self._rows.popitem(last=False)
        return found

    def direct_row(self, stage: int, index: int, pattern: Pattern) -> ExactMatrix | None:
        """The function itself, where it is at hand."""
        here = self._restricted.stages[stage]
        return self._adjoint.direct_break_row(here.stage, int(here.breaks[index]), pattern)

    def key(self, stage: int, index: int, pattern: Pattern) -> bytes:
        """The break and what its function can depend on: the same row is met under many patterns."""
        if (stage, index) not in self._dependencies:
            self._dependencies[stage, index] = self._restricted.dependencies(stage, index)
        return stage.to_bytes(4) + index.to_bytes(4) + pattern[self._dependencies[stage, index]].tobytes()


class RestrictedFunctions:
    """The functions of a restricted network's units, and of the outputs; stages have its numbers.

    ``rows`` are the pre-activations of every switching stage.
    """

    def __init__(self, restricted: RestrictedNetwork) -> None:
        frame = restricted.frame
        self.restricted = restricted
        self.exact = ExactBreaks(restricted, frame.chart)
        self.reach = frame.reach
        self.rows = restricted_rows(restricted, frame.chart, self.reach)

    @cached_property
    def outputs(self) -> RestrictedRows:
        """The network's outputs."""
        return restricted_outputs(self.restricted, self.restricted.frame.chart, self.reach)

    def over_domain(self) -> Passage:
        """A passage of functions of the domain's coordinates; choices are one array a stage."""
        identity = np.eye(len(self.reach))
        coordinates = Enclosure(identity, np.zeros((len(identity), 1)), identity[-1:], self.reach[:, None])
        return Passage(self.restricted, self.rows, coordinates)

    def at(self, points: Floats) -> Passage:
        """A passage of values at points of the domain, a row each; choices have a column a point."""
        homogeneous = np.hstack([points, np.ones((len(points), 1))]).T
        return Passage(self.restricted, self.rows, Enclosure.values(homogeneous))


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
        self._pre_activation = total.replaced(total.rows, total.error + rows.error[:, None])
        is_zero = self._zero.units()
        shape = (-1, *(1,) * (is_zero.ndim - 1))
        others = is_zero[breaks.minus] | ~breaks.paired.reshape(shape)
        vanish = is_zero[breaks.plus] & others & (breaks.threshold == 0.0).reshape(shape)
        return self._pre_activation.differences(breaks.plus, breaks.minus, breaks.threshold), vanish

    def choose(self, chosen: Indices) -> None:
        """Go on with the stage's outputs on the given pieces."""
        activation = self._restricted.stages[len(self._outputs)].activation
        self._outputs.append(activation.select(self._pre_activation, chosen))
        self._zero.choose(chosen)


class ZeroFunctions:
    """Stage by stage: the next one's pre-activations, then what is left of them on the pieces chosen.

    With ``columns`` there are several patterns, a column each; otherwise one.
    """

    def __init__(self, restricted: RestrictedNetwork, rows: Sequence[RestrictedRows], *, columns: bool) -> None:
        self._restricted = restricted
        self._rows = rows
        self._shape = (-1, 1) if columns else (-1,)
        self._outputs: list[Bools] = []
        self._current: Bools = np.zeros(0, dtype=bool)

    def units(self) -> Bools:
        """Which of the next stage's pre-activations are known to be zero."""
        rows = self._rows[len(self._outputs)]
        zero: Bools = (rows.error == 0.0).reshape(self._shape)  # then it is a sum of outputs, exactly
        for source, weight in rows.maps.items():
            zero = zero & ~((weight != 0.0) @ ~self._outputs[source])
        self._current = zero
        return zero

    def choose(self, chosen: Indices) -> None:
        """Go on with the stage's outputs on the given pieces."""
        lines = self._restricted.stages[len(self._outputs)].activation.lines(chosen)
        flat = (lines.slopes == 0.0) | lines.taken(self._current)
        self._outputs.append(flat & (lines.offsets == 0.0))
