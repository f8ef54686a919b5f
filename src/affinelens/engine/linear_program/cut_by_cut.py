"""All cells into which one stage cuts one parent cell, in high dimension: one choice after the other, depth first.

A node of the tree is a cell of the choices decided so far, with an interior point. The point settles one piece of the
next choice; the others are asked for, and those that are not empty are the node's children. So every leaf is a cell,
none is missed and none comes twice, and no facet is needed on the way: a cell in hundreds of dimensions has more
facets than its parent has cells. Choices that rarely change come first, where few nodes are asked about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from affinelens.array_types import Bools, Indices, Signs
from affinelens.engine.linear_program.bound_facets import BoundFacets
from affinelens.engine.linear_program.break_filter import positive_on_box, signs_beside_center
from affinelens.engine.linear_program.coinciding_breaks import Arrangement
from affinelens.engine.linear_program.conditions import Conditions, Side, bound_turned, masks
from affinelens.engine.linear_program.local_rows import LocalRows
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Cell, Witness
from affinelens.engine.linear_program.proofs import Ledger
from affinelens.engine.linear_program.search_state import Key, Search, Step, does_not_fit


def cells_cut_by_cut(parent: Parent, search: Search, *, facets: bool) -> Iterator[Step]:
    """Every cell of the next stage inside a parent, the one at its interior point first; or those still to come.

    The search's one key is the last cell that was found: the way to it through the tree leads to all the others.

    With ``facets`` off, and before the last stage, a cell's facets are among the hyperplanes listed with it, but not
    all of those need be facets; cells of the last stage then come without any.
    """
    signs, ties = signs_beside_center(parent)
    turned = parent.breaks.signed(signs)
    fixed = (signs == 0) | (~ties & positive_on_box(turned, *parent.outer_box))
    parent.tally.by_rounding_bound += int(np.count_nonzero(fixed & (signs != 0)))
    yield from _Tree(parent, signs, ties, np.flatnonzero(~fixed), facets).steps(search)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A choice that may change inside the parent, and its pieces with the sides of rows on which each holds."""

    number: int
    pieces: list[tuple[int, list[Side]]]


@dataclass(frozen=True, slots=True)
class _Node:
    """A cell of the first few choices.

    ``conditions`` bound it; ``positive`` and ``negative`` are bit masks of all rows whose side is known all over it,
    and ``at_witness`` holds the signs of rows at its interior point, 0 where unknown.
    """

    taken: tuple[int, ...]
    conditions: Conditions
    positive: int
    negative: int
    witness: Witness
    at_witness: Signs

    def undecided(self, sides: Sequence[Side]) -> list[Side] | None:
        """Those of the sides that are not known to hold all over it; None if it is known to be beyond one."""
        left = []
        for row, sign in sides:
            here, there = (self.positive, self.negative) if sign > 0 else (self.negative, self.positive)
            if there >> row & 1:
                return None
            if not here >> row & 1:
                left.append((row, sign))
        return left

    def known_with(self, sides: Sequence[Side]) -> tuple[int, int]:
        """The bit masks where further sides hold."""
        positive, negative = masks(sides)
        return self.positive | positive, self.negative | negative


class _Tree:
    def __init__(self, parent: Parent, signs: Signs, ties: Bools, open_breaks: Indices, facets: bool) -> None:
        self._parent = parent
        self._want_facets = facets and parent.is_last
        self._start = parent.activation.pattern_from_signs(signs)
        self._arrangement = Arrangement(parent, open_breaks)
        self._ledger = Ledger(parent, self._arrangement.breaks)
        own = np.where(ties, 0, signs)[self._arrangement.breaks]
        self._at_center = np.concatenate([np.ones(len(parent.facets), dtype=np.int8), own.astype(np.int8)])
        self._forget_breaks_that_do_not_cut()
        self._choices = self._ordered(self._open_choices(signs))

    def steps(self, search: Search) -> Iterator[Step]:
        """The cells from where a search stands."""
        inside = self._parent.inside
        last = self._taken_up(search)
        choices = tuple(choice.number for choice in self._choices)
        begins = not search.received
        stack = [_Node((), inside, inside.positive, inside.negative, self._parent.cell.inside, self._at_center)]
        while stack:
            node = stack.pop()
            if last is not None and node.taken == last:
                continue
            if len(node.taken) == len(choices):
                yield Step(self._cell(node), choices, (node.taken,), closes=not begins)
                begins = False
                continue
            children = self._children(node)
            if last is not None and node.taken == last[: len(node.taken)]:
                children = self._not_before(last, children)
            stack.extend(reversed(children))

    def _taken_up(self, search: Search) -> Key | None:
        """The way to the last cell that was found, on which choices are decided in the order they were then.

        That order depends on rounding, and so does what need not be decided: choices that another machine could fix
        have one piece here, and are decided last.
        """
        if not search.received:
            return None
        if len(search.keys) != 1:
            raise does_not_fit()
        pieces = dict(zip(search.choices, search.keys[0], strict=True))
        open_here = {choice.number: choice for choice in self._choices}
        if any(piece != self._start[number] for number, piece in pieces.items() if number not in open_here):
            raise does_not_fit()
        way = [open_here[number] for number in pieces if number in open_here]
        self._choices = way + [choice for choice in self._choices if choice.number not in pieces]
        return tuple(pieces[choice.number] for choice in way)

    def _not_before(self, last: Key, children: list[_Node]) -> list[_Node]:
        """Of a node on the way to the last cell that was found, the child on the way and those that follow it."""
        depth = len(children[0].taken)
        passed = next((i for i, child in enumerate(children) if child.taken == last[:depth]), None)
        if passed is None:
            raise does_not_fit()
        return children[passed:]

    def _forget_breaks_that_do_not_cut(self) -> None:
        """The one break of a binary choice is asked about when its turn comes.

        A piece with several breaks is asked about as a whole, so those that do not cut the parent must be known: one of
        them may touch the parent along a facet, and would pass for it.
        """
        side_of = self._arrangement.side_of
        if self._parent.activation.pieces > 2:
            cutting = {row for row in {row for row, _ in side_of.values()} if self._cuts(row)}
            self._arrangement.side_of = {index: side for index, side in side_of.items() if side[0] in cutting}

    def _cuts(self, row: int) -> bool:
        sign = int(self._at_center[row])
        return sign == 0 or self._ledger.find(self._parent.inside.joined([(row, -sign)])) is not None

    def _open_choices(self, signs: Signs) -> list[_Choice]:
        """The choices that breaks with a row leave open; ``signs`` settles all other breaks."""
        activation, side_of = self._parent.activation, self._arrangement.side_of
        settled = np.where(signs == 0, activation.tie_sign, signs)
        found = []
        for number in self._arrangement.live:
            pieces = []
            for piece in range(int(activation.piece_counts[number])):
                others = [side for side in activation.constraints(number, piece) if side[0] not in side_of]
                sides = list(dict.fromkeys(self._arrangement.sides(number, piece)))
                twice = len({row for row, _ in sides}) < len(sides)  # both sides of one row
                if not twice and all(settled[index] == sign for index, sign in others):
                    pieces.append((piece, sides))
            if len(pieces) > 1:
                found.append(_Choice(number, pieces))
        return found

    def _ordered(self, choices: list[_Choice]) -> list[_Choice]:
        """The choices least likely to change first: those whose rows pass the box's middle at the greatest distance."""
        rows = self._ledger.rows
        low, high = self._parent.outer_box
        distance = np.abs(rows.normals @ (0.5 * (low + high)) + rows.offsets)
        distance /= np.abs(rows.normals) @ (0.5 * (high - low))
        nearest = [min(distance[row] for _, sides in choice.pieces for row, _ in sides) for choice in choices]
        return [choices[i] for i in np.argsort(-np.array(nearest), kind="stable").tolist()]

    def _children(self, node: _Node) -> list[_Node]:
        """The node once more for each piece of the next choice that is not empty, that of the parent's point first."""
        found: list[tuple[int, list[Side], Witness | None]] = []
        asked: list[tuple[int, list[Side]]] = []
        choice = self._choices[len(node.taken)]
        for piece, sides in choice.pieces:
            undecided = node.undecided(sides)
            if undecided is None:
                continue
            if all(node.at_witness[row] == sign for row, sign in undecided):
                found.append((piece, undecided, None))
            else:
                asked.append((piece, undecided))
        if not (found and not found[0][1]):  # a piece that holds all over the node leaves nothing to ask for
            for piece, undecided in asked:
                if self._ledger.known_empty_masks(*node.known_with(undecided), undecided):
                    continue
                witness = self._ledger.find(node.conditions.joined(undecided))
                if witness is not None:
                    found.append((piece, undecided, witness))
        if not found:
            raise AssertionError("no piece of a choice meets a cell with an interior; please report this as a bug")
        found.sort(key=lambda part: (part[0] != self._start[choice.number], part[0]))
        return [self._child(node, piece, sides, witness, len(found) == 1) for piece, sides, witness in found]

    def _child(self, node: _Node, piece: int, sides: list[Side], witness: Witness | None, alone: bool) -> _Node:
        """A node's part on one piece; a piece that is alone is the whole node, and its sides bound nothing."""
        at_witness = node.at_witness
        if witness is None:
            witness = node.witness
        elif witness.exact is not None:
            at_witness = np.zeros_like(at_witness)
        else:
            at_witness = self._ledger.signs_at(witness.point)
        bounding = node.conditions if alone else node.conditions.joined(sides)
        return _Node((*node.taken, piece), bounding, *node.known_with(sides), witness, at_witness)

    def _cell(self, node: _Node) -> Cell:
        """With its facets, or all rows that bound it, or at the very end, if nobody asks, without."""
        pattern = self._start.copy()
        pattern[[choice.number for choice in self._choices]] = node.taken
        bounds, rows, signs = self._parent.bounds, node.conditions.rows, node.conditions.signs
        if self._want_facets:
            facets = self._facets(node.conditions)
            rows, signs = rows[facets], signs[facets]
            bounds = bounds[self._bound_facets(node, self._ledger.rows[rows].signed(signs))]
        elif self._parent.is_last:
            bounds, rows, signs = bounds[:0], rows[:0], signs[:0]
        numbers, signs = self._ledger.named(rows, signs)
        numbers = np.concatenate([bounds.numbers, numbers])
        signs = np.concatenate([np.ones(len(bounds), dtype=np.int8), signs])
        return self._parent.child(pattern, numbers, signs, node.witness)

    def _facets(self, conditions: Conditions) -> list[int]:
        """The conditions that are facets of the cell: beyond them there is a point where all others hold."""
        facets = []
        for position, (row, sign) in enumerate(conditions.sides):
            flipped = conditions.flipped(position)
            if not self._ledger.known_empty(flipped, [(row, -sign)]) and self._ledger.find(flipped):
                facets.append(position)
        return facets

    @cached_property
    def _bounds(self) -> BoundFacets:
        return BoundFacets(self._parent)

    def _bound_facets(self, node: _Node, facets: LocalRows) -> Bools:
        """Which of the parent's bounds are facets of the cell whose other facets are given, turned to its side."""
        found, idle = self._bounds.decide(node.witness.point - self._parent.center, facets)
        for entry in np.flatnonzero(~(found | idle)).tolist():
            beyond = replace(node.conditions, beyond=entry)
            known = self._ledger.known_empty(beyond, [bound_turned(entry)])
            found[entry] = not known and self._ledger.find(beyond) is not None
        return found
