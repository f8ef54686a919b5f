"""A parent cell and the stage that is about to cut it: the rows of both, in float64 and exactly."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.highs import Solver
from affinelens.arithmetic.rational import stack_rows
from affinelens.array_types import Floats, Indices, Pattern
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.problem import Cell, Problem
from affinelens.engine.linear_program.proofs import Conditions, Ledger, Tally, outward_box
from affinelens.network.activation import Activation


class Parent:
    """Facets (turned so that the cell is on their positive side) and breaks, as functions around the cell's point."""

    def __init__(self, problem: Problem, solver: Solver, tally: Tally, cell: Cell) -> None:
        self.problem = problem
        self.tally = tally
        self.cell = cell
        self.activation: Activation = problem.network.stages[cell.depth].activation
        self.break_numbers: Indices = problem.hyperplanes.of_stage(cell.depth)
        self.solver = solver
        forms = problem.forms(cell.pattern, cell.depth)
        self.facets: LocalRows = problem.rows(forms, cell.facets, cell.point).signed(cell.signs)
        self.breaks: LocalRows = problem.rows(forms, self.break_numbers, cell.point)

    @property
    def dim(self) -> int:
        return self.problem.dim

    @property
    def center_is_inside(self) -> bool:
        """Whether the float64 center is an interior point, not merely the rounding of a rational one."""
        return self.cell.exact_point is None

    @property
    def is_last(self) -> bool:
        """Whether this stage is the network's last."""
        return self.cell.depth + 1 == len(self.problem.network.stages)

    @cached_property
    def outer_box(self) -> tuple[Floats, Floats]:
        """A box of displacements from the center that contains the domain."""
        frame = self.problem.frame
        return outward_box(frame.lower, frame.upper, self.cell.point)

    def extended(self, pattern: Pattern) -> Pattern:
        """The cell's pattern followed by this stage's."""
        kind = self.problem.network.pattern_type
        return np.concatenate([self.cell.pattern.astype(kind), pattern.astype(kind)])

    @cached_property
    def inside(self) -> Conditions:
        """The condition of being in the parent, for any ledger of it."""
        return Conditions.all_positive(len(self.facets))

    @cached_property
    def _exact_forms(self) -> list[ExactMatrix]:
        return self.problem.network.exact_forms(self.problem.frame.chart, self.cell.pattern, self.cell.depth)

    @cached_property
    def exact_breaks(self) -> ExactMatrix:
        return self.problem.exact_rows(self._exact_forms, self.break_numbers)

    @cached_property
    def _exact_facets(self) -> ExactMatrix:
        rows = self.problem.exact_rows(self._exact_forms, self.cell.facets)
        return rows.scaled_rows(ExactMatrix.from_floats(self.cell.signs.astype(np.float64)))

    @cached_property
    def _scale(self) -> float:
        """A length typical of the cell: its margin at the center."""
        margin = float(self.facets.offsets.min(initial=np.inf))
        return margin if np.isfinite(margin) and margin > 0 else 1.0

    def ledger(self, breaks: Indices) -> Ledger:
        """A ledger of the parent's facets followed by some of the stage's breaks."""

        def exact() -> ExactMatrix:
            return stack_rows([self._exact_facets, self.exact_breaks.rows(breaks.tolist())])

        domain_facets = int(np.count_nonzero(self.problem.hyperplanes.of_domain(self.cell.facets)))
        rows = self.facets.joined(self.breaks[breaks])
        return Ledger(
            self.problem, self.solver, self.tally, self.cell.point, self._scale, rows, exact,
            len(self.facets), domain_facets,
        )  # fmt: skip
