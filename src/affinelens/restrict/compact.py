"""The switching units' pre-activations as affine functions of the domain's coordinates and of each other's outputs.

Everything between two switching units is linear on the domain, so a unit's pre-activation is ``F [t; 1] + M y``, where
y are the outputs of the switching units before it. Its row is found backwards: a unit's *cotangent* c is carried
through the transposed maps down to the input, leaving an entry of M at every switching unit that it meets.

Rounding is bounded without letting it pile up. If the cotangent behind a map A is computed as ``A^T c + r``, the row is
off by ``r . v`` on the true values v that A is applied to; summed over all maps this is the whole error. As ``|r| <=
gamma |A^T| |c|``, each map adds at most ``gamma |c| . (|A| |v|)``, where |v| is bounded by what is proved of the
domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, gamma, upward
from affinelens.network import MaxGroups, PiecewiseLinear
from affinelens.network.canonical import AffineSum
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import Chain, LinearMap, Sum
from affinelens.restrict.kept import Kept, KeptStage

Floats = NDArray[np.float64]
# Cotangents are carried back for this many units at a time.
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class CompactRows:
    """The pre-activations of one stage's switching units: ``fixed [t; 1] + sum_k maps[k] y_k``.

    Stage k of ``maps`` counts switching stages only. The true functions differ by at most ``error`` on the domain.
    """

    fixed: Floats
    maps: dict[int, Floats]
    error: Floats


def compact_rows(kept: Kept, chart: ExactMatrix, reach: Floats) -> list[CompactRows]:
    """The rows of all switching stages; the chart's coordinates are bounded by ``reach``, which ends in 1."""
    backward = _Backward(kept, Enclosure.affine(chart, reach))
    return [backward.rows(index) for index in range(len(kept.stages))]


class _Backward:
    def __init__(self, kept: Kept, chart: Enclosure) -> None:
        self._kept = kept
        self._network = kept.network
        self._chart = chart
        self._position = {stage.stage: index for index, stage in enumerate(kept.stages)}
        self._largest = [chart.magnitude[:, 0] + chart.error[:, 0], *(bounds.output for bounds in kept.bounds)]

    def rows(self, index: int) -> CompactRows:
        stage = self._kept.stages[index]
        parts = [
            self._block(stage, slice(start, start + _ROWS_AT_ONCE))
            for start in range(0, len(stage.units), _ROWS_AT_ONCE)
        ]
        maps = {k: np.concatenate([part.maps[k] for part in parts]) for k in parts[0].maps}
        return CompactRows(
            np.concatenate([part.fixed for part in parts]), maps, np.concatenate([part.error for part in parts])
        )

    def _block(self, stage: KeptStage, part: slice) -> CompactRows:
        units = stage.units[part]
        count = len(units)
        cotangent = np.zeros((self._network.stages[stage.stage].activation.size_in, count))
        cotangent[units, np.arange(count)] = 1.0
        carried = _Carried(count, len(self._largest))
        self._pull(self._network.stages[stage.stage].linear, cotangent, carried)
        maps: dict[int, Floats] = {}
        for below in range(stage.stage - 1, -1, -1):
            arrived = carried.cotangents[below + 1]
            carried.cotangents[below + 1] = None
            if arrived is None:
                continue
            if below in self._position:
                maps[self._position[below]] = np.ascontiguousarray(arrived[self._kept.all_stages[below].choices].T)
            behind = self._through(below, arrived, carried)
            self._pull(self._network.stages[below].linear, behind, carried)
        fixed = np.zeros((count, self._chart.rows.shape[1]))
        at_input = carried.cotangents[0]
        if at_input is not None:
            fixed += at_input.T @ self._chart.rows
            size = np.abs(at_input)
            carried.error += size.T @ self._chart.error[:, 0]
            carried.error += gamma(len(at_input)) * (size.T @ self._chart.magnitude[:, 0])
        fixed[:, -1] += carried.constant
        carried.error += 4 * UNIT_ROUNDOFF * (np.abs(fixed[:, -1]) + np.abs(carried.constant))
        return CompactRows(fixed, maps, np.where(carried.error == 0.0, 0.0, upward(carried.error)))

    def _pull(self, linear: AffineSum, cotangent: Floats, carried: _Carried) -> None:
        """Carry a cotangent of an affine sum back to its sources."""
        for k, part in linear.sources:
            carried.add(k, self._behind(part, cotangent, self._largest[k], carried), self._largest[k])
        if linear.bias is not None:
            bias = linear.bias.propagate(Enclosure.values(np.ones((1, 1))))
            carried.add_constant(cotangent, bias.rows[:, 0], bias.error[:, 0])

    def _behind(self, part: LinearMap, cotangent: Floats, largest: Floats, carried: _Carried) -> Floats:
        """The cotangent behind a map that is applied to values of at most the given sizes."""
        if isinstance(part, Sum):
            total = self._behind(part.maps[0], cotangent, largest, carried)
            for other in part.maps[1:]:
                total = total + self._behind(other, cotangent, largest, carried)
                carried.error += UNIT_ROUNDOFF * (np.abs(total).T @ largest)
            return total
        if isinstance(part, Chain):
            sizes = [largest]
            for step in part.maps[:-1]:
                sizes.append(upward(step.apply_absolute(sizes[-1][:, None])[:, 0]))
            for step, size in zip(reversed(part.maps), reversed(sizes), strict=True):
                cotangent = self._behind(step, cotangent, size, carried)
            return cotangent
        transposed = part.transposed()
        if transposed.roundings:
            reached = part.apply_absolute(largest[:, None])[:, 0]
            carried.error += gamma(transposed.roundings) * (np.abs(cotangent).T @ reached)
        return transposed.apply(cotangent)

    def _through(self, index: int, arrived: Floats, carried: _Carried) -> Floats:
        """The cotangent of a stage's pre-activations, given that of its outputs; nothing passes switching units."""
        activation, kept = self._network.stages[index].activation, self._kept.all_stages[index]
        arrived[kept.choices] = 0.0
        if isinstance(activation, MaxGroups):
            behind = np.zeros((activation.size_in, arrived.shape[1]))
            behind[activation.starts[:-1] + kept.pattern] = arrived
            return behind
        assert isinstance(activation, PiecewiseLinear)
        unit = np.arange(activation.size_in)
        slopes, offsets = activation.slopes[unit, kept.pattern], activation.offsets[unit, kept.pattern]
        if offsets.any():
            carried.add_constant(arrived, offsets, np.zeros(len(offsets)))
        rounded = ~np.isin(slopes, (-1.0, 0.0, 1.0))
        if rounded.any():
            size = np.abs(slopes[rounded]) * self._kept.bounds[index].pre_activation[rounded]
            carried.error += UNIT_ROUNDOFF * (np.abs(arrived[rounded]).T @ size)
        return slopes[:, None] * arrived


class _Carried:
    """What is on its way back: cotangents by source, and the constants and errors left behind so far."""

    def __init__(self, count: int, sources: int) -> None:
        self.cotangents: list[Floats | None] = [None] * sources
        self.constant = np.zeros(count)
        self.error = np.zeros(count)

    def add(self, source: int, cotangent: Floats, largest: Floats) -> None:
        present = self.cotangents[source]
        if present is None:
            self.cotangents[source] = cotangent
            return
        total = present + cotangent
        self.error += UNIT_ROUNDOFF * (np.abs(total).T @ largest)
        self.cotangents[source] = total

    def add_constant(self, cotangent: Floats, values: Floats, errors: Floats) -> None:
        size = np.abs(cotangent)
        self.error += gamma(len(values) + 1) * (size.T @ np.abs(values)) + size.T @ errors
        self.constant = self.constant + cotangent.T @ values
        self.error += UNIT_ROUNDOFF * np.abs(self.constant)
