"""A network's functions one at a time, carried back to the input in rational arithmetic.

Where a pattern holds, a unit's pre-activation is an affine function of the coordinates. Carrying all units forward
costs a matrix a stage; carrying one unit back through the transposed maps costs a vector a stage.
"""

from __future__ import annotations

import numpy as np
from flint import fmpz, fmpz_mat

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats, Pattern
from affinelens.network.canonical import Network
from affinelens.network.linear_map import LinearMap, Select
from affinelens.network.stage import AffineSum


class Adjoint:
    """Exact affine functions of a chart's coordinates, a few at a time."""

    def __init__(self, network: Network, chart: ExactMatrix) -> None:
        self._network = network
        self._chart = chart
        self._transposed: dict[int, LinearMap] = {}
        self._biases: dict[int, ExactMatrix] = {}
        self._tables: dict[int, ExactMatrix] = {}

    def break_row(self, stage: int, index: int, pattern: Pattern) -> list[fmpz]:
        """A break's function where the pattern of earlier stages holds: integers, a positive multiple of it."""
        direct = self.direct_break_row(stage, index, pattern)
        return (self.break_function(stage, index, pattern) if direct is None else direct).row(0)

    def break_function(self, stage: int, index: int, pattern: Pattern) -> ExactMatrix:
        """A break's function where the pattern of earlier stages holds, as one row."""
        linear, breaks = self._network.stages[stage].linear, self._network.stages[stage].activation.breaks
        function = self.rows(linear, breaks.weights(np.array([index]), linear.size), pattern, stage)
        return function - self._constant(float(breaks.threshold[index]))

    def direct_break_row(self, stage: int, index: int, pattern: Pattern) -> ExactMatrix | None:
        """A break's function where it is at hand: units that depend on the input only, and selections of those."""
        breaks = self._network.stages[stage].activation.breaks
        plus, minus = (self._direct_row(stage, int(unit[index]), pattern) for unit in (breaks.plus, breaks.minus))
        return None if plus is None or minus is None else plus - minus - self._constant(breaks.threshold[index])

    def _direct_row(self, stage: int, unit: int, pattern: Pattern) -> ExactMatrix | None:
        """A unit's row, if it is at hand; that of unit -1 is zero."""
        if unit < 0:
            return self._constant(0.0)
        linear = self._network.stages[stage].linear
        if all(k == 0 for k, _ in linear.sources):
            if stage not in self._tables:
                one = self._constant(1.0)
                self._tables[stage] = linear.propagate_exact([self._chart], one)
            table = self._tables[stage]
            return ExactMatrix(fmpz_mat(1, table.shape[1], table.row(unit)), table.denominator)
        source, selection = linear.sources[0]
        if len(linear.sources) > 1 or linear.bias is not None or not isinstance(selection, Select):
            return None
        taken = int(selection.indices[unit])
        if taken < 0:
            return self._constant(0.0)
        activation = self._network.stages[source - 1].activation
        piece = int(self._network.stage_pattern(pattern, source - 1)[taken])
        behind, slope, offset = activation.line(taken, piece)
        row = self._direct_row(source - 1, behind, pattern)
        if row is None or (slope, offset) == (1.0, 0.0):
            return row
        return row.scaled_rows(ExactMatrix.from_floats(np.array([slope]))) + self._constant(offset)

    def _constant(self, value: float) -> ExactMatrix:
        """A function that is the given constant."""
        return ExactMatrix.from_floats(np.append(np.zeros(self._chart.shape[1] - 1), value)[None, :])

    def jacobian(self, pattern: Pattern) -> tuple[ExactMatrix, ExactMatrix]:
        """``J`` and ``c`` with network output ``J x + c`` where the pattern holds; x is the input itself."""
        network = self._network
        at_input, constant = self._carried_back(
            network.output, np.eye(network.output_size), pattern, len(network.stages)
        )
        return at_input.transposed(), constant.transposed()

    def outputs(self, pattern: Pattern, weights: Floats | None = None) -> ExactMatrix:
        """The outputs, or combinations of them with a column of weights each, as functions ``[W | b]``."""
        network = self._network
        every = np.eye(network.output_size) if weights is None else weights
        return self.rows(network.output, every, pattern, len(network.stages))

    def rows(self, linear: AffineSum, weights: Floats, pattern: Pattern, depth: int) -> ExactMatrix:
        """Combinations of an affine sum's entries, a column of weights each, as functions ``[W | b]``."""
        at_input, constant = self._carried_back(linear, weights, pattern, depth)
        return constant.transposed() @ self._constant(1.0) + at_input.transposed() @ self._chart

    def _carried_back(
        self, linear: AffineSum, weights: Floats, pattern: Pattern, depth: int
    ) -> tuple[ExactMatrix, ExactMatrix]:
        """The weights that inputs have in combinations of an affine sum's entries, and the constants beside them."""
        count = weights.shape[1]
        carried: list[ExactMatrix | None] = [None] * (depth + 1)
        constant = self._pull(linear, ExactMatrix.from_floats(weights), carried, ExactMatrix.zeros(1, count))
        for index in range(depth - 1, -1, -1):
            arrived = carried[index + 1]
            if arrived is None or not any(arrived.numerators.entries()):
                continue
            activation = self._network.stages[index].activation
            pieces = self._network.stage_pattern(pattern, index).astype(np.int64)
            offsets = activation.lines(pieces).offsets
            if offsets.any():
                constant = constant + ExactMatrix.from_floats(offsets[None, :]) @ arrived
            behind = activation.give_back_exact(arrived, pieces)
            constant = self._pull(self._network.stages[index].linear, behind, carried, constant)
        at_input = carried[0]
        return ExactMatrix.zeros(self._network.input_size, count) if at_input is None else at_input, constant

    def _pull(
        self, linear: AffineSum, cotangent: ExactMatrix, carried: list[ExactMatrix | None], constant: ExactMatrix
    ) -> ExactMatrix:
        """Carry weights of an affine sum back to its sources; returns the constants with its bias added."""
        for k, part in linear.sources:
            behind = self._transpose_of(part).apply_exact(cotangent)
            present = carried[k]
            carried[k] = behind if present is None else present + behind
        if linear.bias is None:
            return constant
        if id(linear.bias) not in self._biases:
            one = ExactMatrix.from_floats(np.ones((1, 1)))
            self._biases[id(linear.bias)] = linear.bias.apply_exact(one).transposed()
        return constant + self._biases[id(linear.bias)] @ cotangent

    def _transpose_of(self, part: LinearMap) -> LinearMap:
        if id(part) not in self._transposed:
            self._transposed[id(part)] = part.transposed()
        return self._transposed[id(part)]
