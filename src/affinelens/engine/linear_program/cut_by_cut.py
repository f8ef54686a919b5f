"""All cells into which one stage cuts one parent cell, in high dimension: one choice after the other, depth first.

A node of the tree is a cell of the choices decided so far, with an interior point. The point settles one piece of the
next choice; the others are asked for, and those that are not empty are the node's children. So every leaf is a cell,
none is missed and none comes twice, and no facet is needed on the way: a cell in hundreds of dimensions has more
facets than its parent has cells. Choices that rarely change come first, where few nodes are asked about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from affinelens.array_types import Bools, Indices, Signs
from affinelens.engine.linear_program.bound_facets import BoundFacets
from affinelens.engine.linear_program.box_ledger import BoxLedger, Side
from affinelens.engine.linear_program.break_filter import positive_on_box, signs_beside_center
from affinelens.engine.linear_program.coinciding_breaks import Arrangement, merge_breaks
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Cell
from affinelens.engine.linear_program.proofs import Witness
from affinelens.network import Activation


def cells_cut_by_cut(parent: Parent, *, facets: bool) -> Iterator[Cell]:
    """Every cell of the next stage inside a parent, the one at its interior point first.

    With ``facets`` off, and before the last stage, a cell's facets are among the hyperplanes listed with it, but not
    all of those need be facets; cells of the last stage then come without any.
    """
    signs, ties = signs_beside_center(parent)
    turned = parent.breaks.signed(signs)
    fixed = (signs == 0) | (~ties & positive_on_box(turned, *parent.outer_box))
    parent.tally.by_rounding_bound += int(np.count_nonzero(fixed & (signs != 0)))
    yield from _Tree(parent, signs, ties, np.flatnonzero(~fixed), facets).cells()


@dataclass(frozen=True, slots=True)
class _Choice:
    """A choice that may change inside the parent, and its pieces with the sides of rows on which each holds."""

    number: int
    pieces: list[tuple[int, list[Side]]]


@dataclass(frozen=True, slots=True)
class _Node:
    """A cell of the first few choices.

    ``sides`` bound it; ``positive`` and ``negative`` are bit masks of all rows whose side is known all over it, and
    ``at_witness`` holds the signs of rows at its interior point, 0 where unknown.
    """

    taken: tuple[int, ...]
    sides: tuple[Side, ...]
    positive: int
    negative: int
    witness: Witness
    at_witness: Signs


class _Tree:
    def __init__(self, parent: Parent, signs: Signs, ties: Bools, open_breaks: Indices, facets: bool) -> None:
        self._parent = parent
        self._want_facets = facets and parent.is_last
        self._start = parent.activation.pattern_from_signs(signs)
        arrangement = merge_breaks(parent, open_breaks)
        self._classes = np.array(arrangement.classes, dtype=np.int64)
        self._ledger = BoxLedger(parent, self._classes)
        self._inside = tuple((row, 1) for row in range(self._ledger.own_first))
        own = np.where(ties, 0, signs)[self._classes]
        self._at_center = np.concatenate([np.ones(self._ledger.own_first, dtype=np.int8), own.astype(np.int8)])
        row_of = self._rows_by_break(arrangement)
        self._choices = self._ordered(_choices(parent.activation, row_of, signs))

    def cells(self) -> Iterator[Cell]:
        cell = self._parent.cell
        stack = [_Node((), self._inside, *_masks(self._inside), Witness(cell.point, cell.exact_point), self._at_center)]
        while stack:
            node = stack.pop()
            if len(node.taken) == len(self._choices):
                yield self._cell(node)
            else:
                stack.extend(reversed(self._children(node)))

    def _rows_by_break(self, arrangement: Arrangement) -> dict[int, Side]:
        """The row that each open break lies on, and whether it is turned there.

        The one break of a binary choice is asked about when its turn comes. A piece with several breaks is asked about
        as a whole, so those that do not cut the parent must be known: one of them may touch the parent along a facet,
        and would pass for it.
        """
        rows = {
            index: (self._ledger.own_first + number, arrangement.orientation[index])
            for index, number in arrangement.class_of.items()
        }
        if self._parent.activation.pieces <= 2:
            return rows
        cutting = {row for row in {row for row, _ in rows.values()} if self._cuts(row)}
        return {index: side for index, side in rows.items() if side[0] in cutting}

    def _cuts(self, row: int) -> bool:
        sign = int(self._at_center[row])
        return sign == 0 or self._ledger.find([*self._inside, (row, -sign)]) is not None

    def _ordered(self, choices: list[_Choice]) -> list[_Choice]:
        """The choices least likely to change first: those whose rows pass the box's middle at the greatest distance."""
        rows = self._ledger.rows
        low, high = self._parent.outer_box
        distance = np.abs(rows.normals @ (0.5 * (low + high)) + rows.offsets)
        distance /= np.abs(rows.normals) @ (0.5 * (high - low))
        nearest = [min(distance[row] for _, sides in choice.pieces for row, _ in sides) for choice in choices]
        return [choices[i] for i in np.argsort(-np.array(nearest), kind="stable").tolist()]

    def _children(self, node: _Node) -> list[_Node]:
        """The node once more for each piece of the next choice that is not empty, the witness's own piece first."""
        found: list[tuple[int, list[Side], Witness | None]] = []
        asked: list[tuple[int, list[Side]]] = []
        for piece, sides in self._choices[len(node.taken)].pieces:
            undecided = _undecided(node, sides)
            if undecided is None:
                continue
            if all(node.at_witness[row] == sign for row, sign in undecided):
                found.append((piece, undecided, None))
            else:
                asked.append((piece, undecided))
        if not (found and not found[0][1]):  # a piece that holds all over the node leaves nothing to ask for
            for piece, undecided in asked:
                witness = self._witness(node, undecided)
                if witness is not None:
                    found.append((piece, undecided, witness))
        if not found:
            raise AssertionError("no piece of a choice meets a cell with an interior; please report this as a bug")
        return [self._child(node, piece, sides, witness, len(found) == 1) for piece, sides, witness in found]

    def _witness(self, node: _Node, asked: list[Side]) -> Witness | None:
        positive, negative = _with_sides(node, asked)
        if self._ledger.known_empty(positive, negative, asked):
            return None
        return self._ledger.find([*node.sides, *asked])

    def _child(self, node: _Node, piece: int, sides: list[Side], witness: Witness | None, alone: bool) -> _Node:
        """A node's part on one piece; a piece that is alone is the whole node, and its sides bound nothing."""
        at_witness = node.at_witness
        if witness is None:
            witness = node.witness
        elif witness.exact is not None:
            at_witness = np.zeros_like(at_witness)
        else:
            at_witness = self._ledger.signs_at(witness.point)
        bounding = node.sides if alone else (*node.sides, *sides)
        return _Node((*node.taken, piece), bounding, *_with_sides(node, sides), witness, at_witness)

    def _cell(self, node: _Node) -> Cell:
        parent = self._parent
        pattern = self._start.copy()
        pattern[[choice.number for choice in self._choices]] = node.taken
        rows, signs = self._listed(node)
        numbers = np.concatenate([parent.cell.facets, parent.break_numbers[self._classes]])[rows]
        inherited = rows < len(parent.facets)
        signs[inherited] *= parent.cell.signs[rows[inherited]]
        order = np.argsort(numbers)
        return Cell(
            parent.cell.depth + 1, parent.extended(pattern), numbers[order], signs[order],
            node.witness.point, node.witness.exact,
        )  # fmt: skip

    def _listed(self, node: _Node) -> tuple[Indices, Signs]:
        """What to list with a cell: its facets, or all rows that bound it, or at the very end none, if nobody asks.

        Rows have their numbers in the full ledger.
        """
        if self._parent.is_last and not self._want_facets:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)
        sides, bounds = list(node.sides), np.arange(len(self._parent.facets.axis))
        if self._want_facets:
            sides = self._facets(sides)
            bounds = np.flatnonzero(self._bound_facets(node, sides))
        rows = [*self._parent.facets.axis[bounds], *(self._ledger.full_row(row) for row, _ in sides)]
        signs = [*[1] * len(bounds), *(sign for _, sign in sides)]
        return np.array(rows, dtype=np.int64), np.array(signs, dtype=np.int8)

    def _facets(self, sides: list[Side]) -> list[Side]:
        """Those of the sides that are facets of the cell: beyond them there is a point where all others hold."""
        facets = []
        for position, (row, sign) in enumerate(sides):
            flipped = [*sides[:position], (row, -sign), *sides[position + 1 :]]
            if not self._ledger.known_empty(*_masks(flipped), [(row, -sign)]) and self._ledger.find(flipped):
                facets.append((row, sign))
        return facets

    @cached_property
    def _bounds(self) -> BoundFacets:
        return BoundFacets(self._parent)

    def _bound_facets(self, node: _Node, sides: list[Side]) -> Bools:
        """Which of the parent's axis rows are facets of the cell whose other facets are the given sides."""
        parent = self._parent
        rows = self._ledger.rows[np.array([row for row, _ in sides], dtype=np.int64)]
        turned = rows.signed(np.array([sign for _, sign in sides], dtype=np.int8))
        facets, idle = self._bounds.decide(node.witness.point - parent.cell.point, turned)
        conditions = parent.inside.joined(
            {self._ledger.full_row(row): sign for row, sign in node.sides if row >= self._ledger.own_first}
        )
        for entry in np.flatnonzero(~(facets | idle)).tolist():
            row = int(parent.facets.axis[entry])
            flipped = conditions.flipped(row)
            full = self._ledger.full
            facets[entry] = not full.known_empty(flipped, row, -1) and full.find(flipped) is not None
        return facets


def _choices(activation: Activation, row_of: dict[int, Side], signs: Signs) -> list[_Choice]:
    """The choices that breaks with a row leave open; ``signs`` settles all other breaks."""
    settled = np.where(signs == 0, activation.tie_sign, signs)
    found = []
    for number in np.unique(activation.breaks.choice[list(row_of)]).tolist():
        pieces = []
        for piece in range(int(activation.piece_counts[number])):
            sides: dict[int, int] = {}
            possible = True
            for index, sign in activation.constraints(number, piece):
                if index not in row_of:
                    possible &= bool(settled[index] == sign)
                    continue
                row, orientation = row_of[index]
                possible &= sides.setdefault(row, sign * orientation) == sign * orientation
            if possible:
                pieces.append((piece, list(sides.items())))
        if len(pieces) > 1:
            found.append(_Choice(number, pieces))
    return found


def _undecided(node: _Node, sides: Sequence[Side]) -> list[Side] | None:
    """Those of the sides that are not known to hold all over the node; None if the node is known to be beyond one."""
    left = []
    for row, sign in sides:
        here, there = (node.positive, node.negative) if sign > 0 else (node.negative, node.positive)
        if there >> row & 1:
            return None
        if not here >> row & 1:
            left.append((row, sign))
    return left


def _with_sides(node: _Node, sides: Sequence[Side]) -> tuple[int, int]:
    positive, negative = _masks(sides)
    return node.positive | positive, node.negative | negative


def _masks(sides: Sequence[Side]) -> tuple[int, int]:
    """Rows on their positive and on their negative side, as bit masks."""
    positive = negative = 0
    for row, sign in sides:
        if sign > 0:
            positive |= 1 << row
        else:
            negative |= 1 << row
    return positive, negative
