"""The switching units' pre-activations as affine functions of the domain's coordinates and of each other's outputs.

Everything between two switching units is linear on the domain, so a unit's pre-activation is ``F [t; 1] + M y``, where
y are the outputs of the switching units before it. Its row is found backwards: a unit's *cotangent* c is carried
through the transposed maps down to the input, leaving an entry of M at every switching unit that it meets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, gamma, upward
from affinelens.array_types import Floats, Indices
from affinelens.deadline import NEVER, Deadline
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import LinearMap
from affinelens.network.stage import AffineSum
from affinelens.restrict.cotangents import Cotangents, weighed
from affinelens.restrict.restricted_network import RestrictedNetwork

# Cotangents are carried back for this many units at a time.
_ROWS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class RestrictedRows:
    """The pre-activations of a stage's switching units, or the outputs: ``fixed [t; 1] + sum_k maps[k] y_k``.

    Stage k of ``maps`` counts switching stages only. The true functions differ by at most ``error`` on the domain.
    """

    fixed: Floats
    maps: dict[int, Floats]
    error: Floats


def restricted_rows(
    restricted: RestrictedNetwork, chart: ExactMatrix, reach: Floats, deadline: Deadline = NEVER
) -> list[RestrictedRows]:
    """The rows of all switching stages; the chart's coordinates are bounded by ``reach``, which ends in 1."""
    backward, stages = _RowCotangents(restricted, Enclosure.affine(chart, reach), deadline), restricted.network.stages
    return [backward.rows(stages[left.stage].linear, left.units, left.stage) for left in restricted.stages]


def restricted_outputs(restricted: RestrictedNetwork, chart: ExactMatrix, reach: Floats) -> RestrictedRows:
    """The rows of the network's outputs, as :func:`restricted_rows`."""
    network = restricted.network
    backward = _RowCotangents(restricted, Enclosure.affine(chart, reach), NEVER)
    return backward.rows(network.output, np.arange(network.output_size), len(network.stages))


class _RowCotangents(Cotangents):
    kind = np.float64
    roundoff = UNIT_ROUNDOFF

    def __init__(self, restricted: RestrictedNetwork, chart: Enclosure, deadline: Deadline) -> None:
        super().__init__(restricted, upward(chart.magnitude[:, 0] + chart.error[:, 0]))
        self._restricted = restricted
        self._chart = chart
        self._deadline = deadline
        self._position = {stage.stage: index for index, stage in enumerate(restricted.stages)}

    def apply_transposed(
        self, part: LinearMap, transposed: LinearMap, cotangent: Floats, largest: Floats
    ) -> tuple[Floats, Floats]:
        error = np.zeros(cotangent.shape[1])
        if transposed.roundings:
            error = gamma(transposed.roundings) * weighed(cotangent, part.apply_absolute(largest[:, None])[:, 0])
            error = np.where(cotangent.any(axis=0), upward(error), 0.0)  # nothing that rounds is called exact
        return transposed.apply(cotangent), error

    def rows(self, linear: AffineSum, entries: Indices, depth: int) -> RestrictedRows:
        """Rows of some entries of an affine sum, which may read all stages before ``depth``."""
        with np.errstate(over="ignore", invalid="ignore"):  # a bound that overflows proves nothing
            parts = [
                self._block(linear, entries[start : start + _ROWS_AT_ONCE], depth)
                for start in range(0, len(entries), _ROWS_AT_ONCE)
            ]
        maps = {k: np.concatenate([part.maps[k] for part in parts]) for k in parts[0].maps}
        return RestrictedRows(
            np.concatenate([part.fixed for part in parts]), maps, np.concatenate([part.error for part in parts])
        )

    def _block(self, linear: AffineSum, entries: Indices, depth: int) -> RestrictedRows:
        self._deadline.check()
        count = len(entries)
        cotangent = np.zeros((linear.size, count))
        cotangent[entries, np.arange(count)] = 1.0
        carried = self.carried(count, depth + 1)
        self.pull(linear, cotangent, carried)
        maps: dict[int, Floats] = {}
        for below in range(depth - 1, -1, -1):
            self._deadline.check()
            arrived = carried.cotangents[below + 1]
            carried.cotangents[below + 1] = None
            if arrived is None:
                continue
            restricted = self._restricted.all_stages[below]
            if below in self._position:
                maps[self._position[below]] = np.ascontiguousarray(arrived[restricted.choices].T)
                arrived[restricted.choices] = 0.0
            behind = self.through(below, arrived, restricted.pattern, carried)
            self.pull(self.network.stages[below].linear, behind, carried)
        fixed = np.zeros((count, self._chart.rows.shape[1]))
        at_input = carried.cotangents[0]
        if at_input is not None:
            fixed += at_input.T @ self._chart.rows
            size = self._chart.error[:, 0] + gamma(len(at_input)) * self._chart.magnitude[:, 0]
            carried.error += weighed(at_input, size)
        fixed[:, -1] += carried.constant
        carried.error += 4 * UNIT_ROUNDOFF * (np.abs(fixed[:, -1]) + np.abs(carried.constant))
        is_selection = ~fixed.any(axis=1)
        for matrix in maps.values():
            is_selection &= np.isin(matrix, (0.0, 1.0)).all(axis=1)
        exact = is_selection & (carried.error == 0.0)  # of other rows an error may have underflowed
        return RestrictedRows(fixed, maps, np.where(exact, 0.0, upward(carried.error)))
