"""Cells on which a relaxed condition holds: what they mean for the condition itself, in rational arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from flint import fmpq, fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactProgram, Infeasible
from affinelens.arithmetic.rational import fraction
from affinelens.array_types import Bools
from affinelens.domain import Frame
from affinelens.domain.vnnlib.property import Constraint
from affinelens.network import Network
from affinelens.network.adjoint import Adjoint
from affinelens.restrict import Clauses
from affinelens.verify.condition import Condition
from affinelens.walk import Hyperplanes, Outcome


def constraint_signs(network: Network, outcome: Outcome) -> Bools:
    """Which constraints hold on each of a walk's regions; they are the units of the network's last stage."""
    return np.asarray(outcome.pieces(np.arange(*network.choice_offsets[-2:])) > 0)


def clauses_held(signs: Bools, clauses: Clauses) -> Bools:
    """For each region and clause, whether all of the clause's constraints hold."""
    return np.stack([signs[:, list(clause)].all(axis=1) for clause in clauses], axis=1)


class Cells:
    """The cells that a walk found, as exact polytopes in the frame's coordinates."""

    def __init__(
        self, network: Network, frame: Frame, outcome: Outcome, condition: Condition, clauses: Clauses
    ) -> None:
        self._network = network
        self._frame = frame
        self._outcome = outcome
        self._condition = condition
        self._hyperplanes = Hyperplanes(network, frame)
        self._adjoint = Adjoint(network, frame.chart)
        self._held = clauses_held(constraint_signs(network, outcome), clauses)

    @property
    def candidates(self) -> list[int]:
        """The cells on which the relaxed condition holds."""
        return np.flatnonzero(self._held.any(axis=1)).tolist()

    def point(self, index: int) -> list[Fraction]:
        """A cell's interior point."""
        stored = self._outcome.exact_point(index)
        return list(stored) if stored is not None else [Fraction(v) for v in self._outcome.points[index].tolist()]

    def deepest_point(self, index: int) -> list[Fraction] | None:
        """A point of the closed cell that satisfies the condition, as far from its border as can be; None if none does.

        What satisfies the condition satisfies the relaxed one, so the cell's own facets are all that bounds it.
        """
        pattern = self._outcome.pattern(index)
        facets = self._facets(index, pattern)
        for number in np.flatnonzero(self._held[index]).tolist():
            rows = [self._constraint_row(constraint, pattern) for constraint in self._condition[number]]
            strict = [constraint.strict for constraint in self._condition[number]]
            value, point = self._widest(facets, rows, [True] * len(rows))
            if value == 0 and any(strict):
                value, point = self._widest(facets, rows, strict)
                if value == 0:
                    continue
            if value is not None and value >= 0:
                return point
        return None

    def _facets(self, index: int, pattern: NDArray[np.unsignedinteger[Any]]) -> list[list[int]]:
        """The cell's facets as rows ``[a | b]`` with ``a t + b >= 0``, in integers."""
        facets = self._outcome.table.facets
        assert facets is not None
        own = slice(int(facets.offsets[index]), int(facets.offsets[index + 1]))
        rows = []
        for number, sign in zip(facets.numbers[own].tolist(), facets.signs[own].tolist(), strict=True):
            row = self._hyperplanes.exact_row(number, pattern, self._adjoint)
            rows.append([sign * int(n) for n in row])
        return rows

    def _constraint_row(self, constraint: Constraint, pattern: NDArray[np.unsignedinteger[Any]]) -> list[int]:
        """A constraint's left-hand side on the cell: a positive multiple of it, in integers."""
        network, width = self._network, self._frame.dim + 1
        row = [Fraction(0)] * (width - 1) + [constraint.constant]
        for i, coefficient in constraint.inputs:
            for k in range(width):
                row[k] += coefficient * self._frame.chart.entry(i, k)
        if constraint.outputs:
            used = np.zeros((network.output_size, len(constraint.outputs)))
            used[[j for j, _ in constraint.outputs], np.arange(len(constraint.outputs))] = 1.0
            forms = self._adjoint.outputs(pattern, used).to_fractions()
            for (_, coefficient), form in zip(constraint.outputs, forms, strict=True):
                row = [a + coefficient * b for a, b in zip(row, form, strict=True)]
        factor = lcm(*(a.denominator for a in row))
        return [int(a * factor) for a in row]

    def _widest(
        self, facets: Sequence[list[int]], rows: Sequence[list[int]], widened: Sequence[bool]
    ) -> tuple[fmpq | None, list[Fraction]]:
        """The largest slack, up to 1, that all widened constraints can have at once, and where; None if nowhere."""
        table = [[*row[:-1], 0, row[-1]] for row in facets]
        table += [
            [*row[:-1], -max(1, *map(abs, row)) if wide else 0, row[-1]]
            for row, wide in zip(rows, widened, strict=True)
        ]
        frame = self._frame
        matrix = fmpz_mat(len(table), frame.dim + 2, [fmpz(n) for row in table for n in row])
        low, high = (
            [*(fmpq(*v.as_integer_ratio()) for v in bound.tolist()), fmpq(side)]
            for bound, side in ((frame.lower, -1), (frame.upper, 1))
        )
        found = ExactProgram(matrix, low, high).maximise([fmpz(0)] * frame.dim + [fmpz(1)])
        if isinstance(found, Infeasible):
            return None, []
        return found.value, [fraction(v) for v in found.point[: frame.dim]]
