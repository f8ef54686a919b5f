"""One case of a property: a witness for it, found at points or in cells, and its part of the unsafe set."""

from __future__ import annotations

from collections.abc import Iterator

from affinelens.domain import Point
from affinelens.domain.vnnlib.property import Case
from affinelens.network import Network
from affinelens.verify.condition import ALWAYS, Condition, with_condition
from affinelens.verify.relaxed_cells import Cells
from affinelens.verify.tallied_walks import TalliedWalks
from affinelens.verify.unsafe_set import UnsafePart
from affinelens.verify.witness import Judge, Witness
from affinelens.verify.witness_search import promising
from affinelens.walk import Status

# How many cells on which the relaxed condition holds are found before they are looked at.
_CELLS_AT_FIRST, _CELLS_FACTOR = 1, 64


class CaseSearch:
    """What there is to find in case number ``number`` (from 0)."""

    def __init__(self, network: Network, case: Case, number: int, judge: Judge, walks: TalliedWalks) -> None:
        self._network = network
        self._case = case
        self._number = number
        self._judge = judge
        self._walks = walks

    @property
    def _is_open(self) -> bool:
        """Whether the condition can hold at all, on more than one point."""
        return bool(self._case.condition) and not isinstance(self._case.domain, Point)

    def found_quickly(self) -> Witness | None:
        """A witness from evaluating the network at some points."""
        domain = self._case.domain
        if isinstance(domain, Point):
            witness = self._judge.at_input(domain.exact)
            return None if witness is None else self._judge.checked(witness)
        return self._judge.best(promising(self._network, self._case, self._walks.deadline)) if self._is_open else None

    @property
    def _condition(self) -> Condition:
        """The condition, no conjunction of which is empty."""
        return [conjunction or (ALWAYS,) for conjunction in self._case.condition]

    def walked(self) -> Witness | None:
        """A witness from the cells on which the relaxed condition holds."""
        if not self._is_open:
            return None
        network, clauses = with_condition(self._network, self._condition, relaxed=True)
        most: int | None = _CELLS_AT_FIRST
        while True:
            outcome = self._walks.walk(network, self._case.domain.frame, clauses, most=most)
            if outcome is None:
                return None
            cells = Cells(network, self._case.domain.frame, outcome, self._condition, clauses)
            for index in cells.candidates:
                self._walks.deadline.check()
                witness = self._in_cell(cells, index)
                if witness is not None:
                    return witness
            if outcome.status is not Status.REGION_LIMIT:
                return None
            most = most * _CELLS_FACTOR if most is not None and most < _CELLS_FACTOR**3 else None

    def _in_cell(self, cells: Cells, index: int) -> Witness | None:
        """A witness in a cell: its middle if floats agree there, or else the deepest point."""
        middle = self._judge.best([cells.point(index)])
        if middle is not None and middle.agreement:
            return middle
        deepest = cells.deepest_point(index)
        found = None if deepest is None else self._judge.best([deepest])
        return found if found is not None and (middle is None or found.agreement) else middle

    def unsafe_parts(self) -> Iterator[UnsafePart]:
        """All cells on which the condition holds; nothing where it can only hold at single points."""
        if not self._is_open:
            return
        network, clauses = with_condition(self._network, self._condition, relaxed=False)
        outcome = self._walks.walk(network, self._case.domain.frame, clauses, vertices=True)
        if outcome is not None:
            yield UnsafePart(self._number, network, self._case.domain, outcome, clauses)
