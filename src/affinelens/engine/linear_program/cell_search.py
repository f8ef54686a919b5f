"""Algorithm 2 of the paper: all cells into which one stage cuts one parent cell.

In order: filter the breaks that cut the parent; merge those that are the same hyperplane there; start from the cell at
the parent's interior point; then, breadth first, decide for each cell which rows are facets (that is redundancy
removal) and cross every facet that belongs to this stage (Theorem 2: this reaches all cells). No verdict rests on a
tolerance. In high dimension, where a cell has hundreds of facets, cells are found cut by cut instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cache
from itertools import islice

import numpy as np

from affinelens.array_types import Bools, Indices, Pattern
from affinelens.engine.linear_program.break_filter import cutting_breaks, signs_beside_center
from affinelens.engine.linear_program.coinciding_breaks import Arrangement
from affinelens.engine.linear_program.conditions import Conditions
from affinelens.engine.linear_program.cut_by_cut import cells_cut_by_cut
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Cell, Problem, Witness
from affinelens.engine.linear_program.proofs import Ledger
from affinelens.engine.linear_program.rays import Rays
from affinelens.engine.linear_program.search_state import Key, Search, Step, does_not_fit


def sub_cells(problem: Problem, cell: Cell, search: Search | None = None, *, facets: bool = True) -> Iterator[Step]:
    """Every cell of the next stage inside a cell, the one at its interior point first; or those still to come.

    Their order depends on the cell and its point alone, not on rounding, so it is the same on every machine. With
    ``facets`` off, cells of the last stage come without facets, which saves deciding them.
    """
    search = Search() if search is None else search
    parent = Parent(problem, cell)
    if problem.box_mode:
        yield from cells_cut_by_cut(parent, search, facets=facets)
        return
    signs, ties = signs_beside_center(parent)
    cutting = np.flatnonzero(cutting_breaks(parent, signs, ties))
    start = parent.activation.pattern_from_signs(signs)
    if len(cutting):
        arrangement = Arrangement(parent, cutting)
        yield from _Walk(parent, arrangement, start, facets or not parent.is_last).steps(search)
        return
    search.require_choices(())
    if not search.received:
        yield Step(parent.child(start, cell.facets, cell.signs, cell.inside))


class _Walk:
    """Breadth-first search over the cells of one parent.

    A cell is known by the pieces of the *live* choices, those that change somewhere in the parent. Rows of the ledger
    are the parent's facets, then the distinct cutting hyperplanes.

    The state of the search are the cells that wait for their turn. If every choice has a single unit, those that had
    theirs can be forgotten: cells come by the number of hyperplanes between them and the first one, which crossing a
    facet changes by one. So what lies across a facet had its turn if that is nearer to the first, and if it is farther,
    it waits or is new. Cells of maxima are unions of such, and are kept.
    """

    def __init__(self, parent: Parent, arrangement: Arrangement, start: Pattern, want_facets: bool) -> None:
        self._parent = parent
        self._arrangement = arrangement
        self._start = start
        self._want_facets = want_facets
        self._ledger = Ledger(parent, arrangement.breaks)
        self._rays = Rays(self._ledger)
        self._live = arrangement.live
        self._sides = cache(arrangement.sides)
        self._own_first = self._ledger.own_first
        self._breaking_on = self._positions_by_row()
        self._binary = parent.activation.pieces == 2
        self._forgets = self._binary or not parent.activation.grouped
        self._first: Key = tuple(self._start[self._live].tolist())
        self._given: frozenset[Key] = frozenset()
        self._found: set[Key] = set()
        self._met: dict[Key, Witness] = {}

    def steps(self, search: Search) -> Iterator[Step]:
        """The cells from where a search stands."""
        queue, choices = self._taken_up(search), tuple(self._live)
        begins = not search.received
        while queue:
            key = queue[0]
            conditions = self._conditions(key)
            inside = self._interior(key, conditions)
            facets = self._facets(key, inside, conditions)
            opened = self._opened(key, conditions.rows[facets])
            queue.popleft()
            queue.extend(opened)
            cell = self._cell(key, conditions, facets, inside)
            if self._forgets:
                yield Step(cell, choices, opened, closes=not begins)
            else:
                yield Step(cell, choices, (key, *opened) if begins else opened)
            begins = False

    def _taken_up(self, search: Search) -> deque[Key]:
        """The cells that wait for their turn."""
        if not search.received:
            self._found = {self._first}
            return deque([self._first])
        search.require_choices(self._live)
        self._found = set(search.keys)
        had_turn = 0 if self._forgets else search.received
        if had_turn > len(search.keys):
            raise does_not_fit()
        waiting = deque(islice(search.keys, had_turn, None))
        self._given = frozenset(waiting)
        return waiting

    def _opened(self, key: Key, facets: Indices) -> tuple[Key, ...]:
        """The cells across a cell's facets that were not met before."""
        opened = []
        for row in facets.tolist():
            if row >= self._own_first:
                neighbor = self._across(key, row)
                if neighbor not in self._found and not (self._forgets and self._is_nearer(neighbor, key, row)):
                    self._found.add(neighbor)
                    opened.append(neighbor)
        return tuple(opened)

    def _is_nearer(self, neighbor: Key, key: Key, row: int) -> bool:
        """Whether fewer hyperplanes lie between a neighbor across a row and the first cell than between the two."""
        first = self._first
        return any(abs(neighbor[i] - first[i]) < abs(key[i] - first[i]) for i in self._breaking_on[row])

    def _interior(self, key: Key, conditions: Conditions) -> Witness:
        witness = self._met.pop(key, None) or self._ledger.find(conditions)
        if witness is None:
            if key in self._given:
                raise does_not_fit()
            raise AssertionError("a cell beyond a proved facet has no interior; please report this as a bug")
        return witness

    def _cell(self, key: Key, conditions: Conditions, facets: Bools, inside: Witness) -> Cell:
        pattern = self._start.copy()
        pattern[self._live] = key
        listed = facets if self._want_facets else np.zeros_like(facets)
        numbers, signs = self._ledger.named(conditions.rows[listed], conditions.signs[listed])
        return self._parent.child(pattern, numbers, signs, inside)

    def _conditions(self, key: Key) -> Conditions:
        """The parent's facets and the sides of hyperplanes that define a cell, in the one order of rows.

        So a point is the same whether it was found for the cell itself or beyond a facet of a neighbor.
        """
        sides: dict[int, int] = {}
        for choice, piece in zip(self._live, key, strict=True):
            sides.update(self._sides(choice, piece))
        return self._parent.inside.joined(sorted(sides.items()))

    def _positions_by_row(self) -> dict[int, list[int]]:
        """For each hyperplane's row the positions in a key of the choices that break on it."""
        choices = self._parent.activation.breaks.choice
        position = {choice: i for i, choice in enumerate(self._live)}
        found: dict[int, dict[int, None]] = {}
        for index, (row, _) in self._arrangement.side_of.items():
            found.setdefault(row, {})[position[int(choices[index])]] = None
        return {row: list(positions) for row, positions in found.items()}

    def _across(self, key: Key, row: int) -> Key:
        """The key on the other side of a facet: every choice that breaks on that hyperplane changes."""
        changed = list(key)
        for position in self._breaking_on[row]:
            choice, piece = self._live[position], key[position]
            if self._binary:
                changed[position] = 1 - piece
            elif any(row == own for own, _ in self._sides(choice, piece)):
                changed[position] = self._next_piece(choice, piece, row)
        return tuple(changed)

    def _next_piece(self, choice: int, piece: int, row: int) -> int:
        """The piece of a choice beyond a row that bounds the one it is on."""
        here = dict(self._sides(choice, piece))[row]

        def sign_beyond(index: int) -> int | None:
            own, turned = self._arrangement.side_of.get(index, (-1, 1))
            return -here * turned if own == row else None

        return self._parent.activation.piece_beyond(choice, piece, sign_beyond)

    def _facets(self, key: Key, inside: Witness, conditions: Conditions) -> Bools:
        """Which of a cell's conditions are facets of it."""
        facets = self._rays.facets(inside, conditions)
        asked = range(0 if self._want_facets else self._own_first, len(facets))
        decided = int(np.count_nonzero(facets[asked.start :]))
        self._parent.tally.by_rounding_bound += decided
        for position in asked:
            if not facets[position]:
                facets[position] = self._is_facet(key, conditions, position)
        facets[: asked.start] = False
        return facets

    def _is_facet(self, key: Key, conditions: Conditions, position: int) -> bool:
        """Whether there is a point beyond one condition where all the others still hold."""
        row = int(conditions.rows[position])
        flipped = conditions.flipped(position)
        if self._ledger.known_empty(flipped, [(row, int(flipped.signs[position]))]):
            return False
        neighbor = self._neighbor(key, row, flipped)
        if neighbor in self._found:
            self._parent.tally.by_reuse += 1
            return True
        witness = self._ledger.find(flipped)
        if witness is not None and neighbor is not None:
            self._met[neighbor] = witness
        return witness is not None

    def _neighbor(self, key: Key, row: int, flipped: Conditions) -> Key | None:
        """The cell that has exactly the flipped conditions, if that is what lies across a row."""
        if row < self._own_first:
            return None
        across = self._across(key, row)
        return across if self._binary or flipped.same_as(self._conditions(across)) else None
