"""A parent cell and the stage that is about to cut it: the rows of both, in float64 and exactly."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Indices, Pattern, Signs
from affinelens.engine.linear_program.conditions import Conditions
from affinelens.engine.linear_program.coordinate_bounds import Room, Sides
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.problem import Cell, Problem, Witness
from affinelens.network.activation import Activation


class Parent:
    """Facets (turned so that the cell is on their positive side) and breaks, as functions around the cell's point.

    Of the facets, those that are bounds of single coordinates and kept apart are ``bounds``, the others ``facets``.
    ``breaks`` are others than the next stage's only where a cell is looked at that is not to be cut.
    """

    def __init__(self, problem: Problem, cell: Cell, scale: float | None = None, breaks: Indices | None = None) -> None:
        self.problem = problem
        self.solver = problem.solver
        self.tally = problem.tally
        self.cell = cell
        self.center = cell.inside.point
        self.bounds, general = problem.split(cell.facets)
        self.facet_numbers: Indices = cell.facets[general]
        self.facet_signs: Signs = cell.signs[general]
        self.break_numbers: Indices = problem.hyperplanes.of_stage(cell.depth) if breaks is None else breaks
        forms = problem.forms(cell.pattern, cell.depth)
        self.facets: LocalRows = problem.rows(forms, self.facet_numbers, self.center).signed(self.facet_signs)
        self.breaks: LocalRows = problem.rows(forms, self.break_numbers, self.center)
        self.scale = self._margin if scale is None else scale

    @property
    def _margin(self) -> float:
        """A length typical of the cell: its margin at the center."""
        place, _ = self.bounds.around(self.center)
        margin = float(np.concatenate([self.facets.offsets, np.abs(place)]).min(initial=np.inf))
        return margin if np.isfinite(margin) and margin > 0 else 1.0

    @property
    def dim(self) -> int:
        return self.problem.dim

    @property
    def activation(self) -> Activation:
        return self.problem.network.stages[self.cell.depth].activation

    @property
    def center_is_inside(self) -> bool:
        """Whether the float64 center is an interior point, not merely the rounding of a rational one."""
        return self.cell.inside.exact is None

    @property
    def is_last(self) -> bool:
        """Whether this stage is the network's last."""
        return self.cell.depth + 1 == len(self.problem.network.stages)

    @cached_property
    def room(self) -> Room:
        """What the bounds leave of the domain's box."""
        return self.bounds.room(self.problem.box, self.center)

    @cached_property
    def outer_box(self) -> Sides:
        """A box of displacements from the center that contains the domain."""
        return Room(*self.problem.box, self.center).around

    @cached_property
    def inside(self) -> Conditions:
        """The condition of being in the parent, for any ledger of it."""
        return Conditions.all_positive(len(self.facets))

    @cached_property
    def _exact_forms(self) -> list[ExactMatrix]:
        problem = self.problem
        forms = problem.network.exact_forms(problem.frame.chart, self.cell.pattern, self.cell.depth)
        return forms[: len(problem.network.stages)]

    @cached_property
    def exact_breaks(self) -> ExactMatrix:
        return self.problem.exact_rows(self._exact_forms, self.break_numbers)

    @cached_property
    def exact_facets(self) -> ExactMatrix:
        rows = self.problem.exact_rows(self._exact_forms, self.facet_numbers)
        return rows.scaled_rows(ExactMatrix.from_floats(self.facet_signs.astype(np.float64)))

    def child(self, pattern: Pattern, numbers: Indices, signs: Signs, witness: Witness) -> Cell:
        """A cell of the next stage: this stage's pattern there, its facets and their sides, and a point inside it."""
        kind = self.problem.network.pattern_type
        whole = np.concatenate([self.cell.pattern.astype(kind), pattern.astype(kind)])
        order = np.argsort(numbers)
        return Cell(self.cell.depth + 1, whole, numbers[order], signs[order], witness)
