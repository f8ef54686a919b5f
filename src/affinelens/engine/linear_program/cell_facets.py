"""Which of the hyperplanes that bound a cell are facets of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from affinelens.array_types import Indices
from affinelens.engine.linear_program.bound_facets import BoundFacets
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Cell, Problem, Witness
from affinelens.engine.linear_program.proofs import Ledger
from affinelens.engine.linear_program.rays import Rays


def facets_among(parent: Parent, ledger: Ledger) -> Indices:
    """The numbers of a cell's facets among what bounds it, given its ledger: beyond one, all others hold somewhere."""
    inside, shot = parent.inside, np.zeros(len(parent.facets), dtype=bool)
    if not parent.problem.box_mode:
        shot = Rays(ledger).facets(parent.cell.inside, inside)
    others = [i for i in range(len(shot)) if shot[i] or ledger.find(inside.flipped(i)) is not None]
    rows = parent.facets[np.array(others, dtype=np.int64)]
    found, idle = np.zeros((2, len(parent.bounds)), dtype=bool)
    if len(parent.bounds):
        found, idle = BoundFacets(parent).decide(np.zeros(parent.dim), rows)
    for entry in np.flatnonzero(~(found | idle)).tolist():
        found[entry] = ledger.find(replace(inside, beyond=entry)) is not None
    return np.sort(np.concatenate([parent.facet_numbers[others], parent.bounds.numbers[found]]))


def root_cell(problem: Problem) -> Cell:
    """The domain as a cell: its Chebyshev center and its irredundant constraints."""
    lower, upper = problem.box
    count = problem.hyperplanes.domain_count
    pattern, signs = np.zeros(0, dtype=problem.network.pattern_type), np.ones(count, dtype=np.int8)
    outline = Cell(0, pattern, np.arange(count), signs, Witness(0.5 * (lower + upper)))
    parent = Parent(problem, outline, scale=float((upper - lower).max()))
    ledger = Ledger(parent, np.zeros(0, dtype=np.int64))
    inside = ledger.find(parent.inside)
    assert inside is not None  # the frame is full-dimensional
    if problem.frame.irredundant:
        return replace(outline, inside=inside)
    beyond_others = [parent.inside.flipped(i) for i in range(len(parent.facets))]
    beyond_bounds = [replace(parent.inside, beyond=i) for i in range(len(parent.bounds))]
    asked = zip([*parent.facet_numbers, *parent.bounds.numbers], [*beyond_others, *beyond_bounds], strict=True)
    facets = np.sort([number for number, beyond in asked if ledger.find(beyond) is not None])
    return replace(outline, facets=facets, signs=signs[facets], inside=inside)
