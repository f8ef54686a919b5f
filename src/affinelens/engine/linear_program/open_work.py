"""Open work as plain data, and back: a cell by its pattern, point and facets, and how far its search has come.

What is read may come from anywhere. Its form is checked at once. Whether the cell is one, with that point inside and
those facets, is proved before anything is made of it: regions inside a cell that is none would be wrong.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.proportional_rows import proportion
from affinelens.array_types import Indices, Pattern, Signs
from affinelens.engine.linear_program.break_filter import cutting_breaks, positive_on_box, signs_beside_center
from affinelens.engine.linear_program.cell_facets import facets_among
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Cell, Problem, Witness
from affinelens.engine.linear_program.proofs import Ledger
from affinelens.engine.linear_program.search_state import Key, Search, Task, does_not_fit
from affinelens.version import __version__
from affinelens.walk import Job

_PARTS = {"of", "pattern", "point", "exact", "facets", "sides", "choices", "keys"}


class OpenWork:
    """Reads and writes the open work of one walk.

    ``facets`` says whether regions come with theirs.
    """

    def __init__(self, name: str, problem: Problem, *, facets: bool) -> None:
        self._name = name
        self._problem = problem
        self._want_facets = facets
        self._depth = len(problem.network.stages)

    def job(self, task: Task) -> Job:
        """A task as plain data."""
        cell, search = task.cell, task.search
        counts, exact = self._piece_counts, cell.inside.exact
        numbers, signs = (cell.facets, cell.signs) if self._has_facets(cell) else (cell.facets[:0], cell.signs[:0])
        own = counts[list(self._own_choices(cell.depth, search.choices))]
        return Job(
            self._name,
            task.next_place,
            {
                "of": self._whose,
                "pattern": _packed(cell.pattern.tolist(), counts[: len(cell.pattern)].tolist()),
                "point": cell.inside.point.tolist(),
                "exact": None if exact is None else [f"{v.numerator:x}/{v.denominator:x}" for v in exact],
                "facets": numbers.tolist(),
                "sides": "".join("+" if sign > 0 else "-" for sign in signs.tolist()),
                "choices": list(search.choices),
                "keys": [_packed(key, own.tolist()) for key in search.keys],
            },
        )

    def task(self, job: Job) -> Task:
        """A job as a task, whose form is right; :meth:`vouch_for` proves the rest."""
        try:
            return self._read(job)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError):
            raise does_not_fit() from None

    def _read(self, job: Job) -> Task:
        place, state = job.place, job.state
        if job.engine != self._name or not isinstance(state, Mapping) or state.keys() != _PARTS:
            raise does_not_fit()
        _require(state["of"] == self._whose)
        _require(1 <= len(place) <= self._depth + 1 and all(type(n) is int and n >= 0 for n in place))
        depth, received = len(place) - 1, place[-1]
        cell = self._cell(depth, state)
        choices = tuple(_integers(state["choices"], self._choice_count(depth)))
        _require(len(set(choices)) == len(choices))
        own = self._piece_counts[list(self._own_choices(depth, choices))].tolist()
        keys = [_unpacked(text, own) for text in _list(state["keys"])]
        _require(len(set(keys)) == len(keys))
        _require(received > 0 or not (choices or keys))
        return Task(place[:-1], cell, Search(received, choices, deque(keys)), vouched=False)

    def _cell(self, depth: int, state: Mapping[str, Any]) -> Cell:
        network, hyperplanes = self._problem.network, self._problem.hyperplanes
        counts = self._piece_counts[: network.choice_offsets[depth]].tolist()
        pattern = np.array(_unpacked(state["pattern"], counts), dtype=network.pattern_type)
        limit = hyperplanes.domain_count + int(network.break_offsets[depth])
        numbers = _integers(state["facets"], limit)
        _require(all(a < b for a, b in pairwise(numbers)))
        sides = state["sides"]
        _require(isinstance(sides, str) and len(sides) == len(numbers) and set(sides) <= {"+", "-"})
        facets, signs = np.array(numbers, dtype=np.int64), np.array([1 if s == "+" else -1 for s in sides], np.int8)
        return Cell(depth, pattern, facets, signs, self._witness(state["point"], state["exact"]))

    def _witness(self, point: Any, exact: Any) -> Witness:
        values = _list(point)
        _require(len(values) == self._problem.dim and all(type(v) is float and np.isfinite(v) for v in values))
        if exact is None:
            return Witness(np.array(values))
        fractions = tuple(_fraction(text) for text in _list(exact))
        _require(len(fractions) == len(values) and [float(v) for v in fractions] == values)
        return Witness(np.array(values), fractions)

    @cached_property
    def _whose(self) -> str:
        """What tells a walk from those of other networks and domains, and of versions that may take another order."""
        frame = self._problem.frame
        digest = hashlib.sha256(f"{__version__} {self._problem.network.digest}".encode())
        for part in (frame.chart.to_floats(), frame.rows.to_floats(), frame.lower, frame.upper):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def _piece_counts(self) -> Indices:
        counts = [stage.activation.piece_counts for stage in self._problem.network.stages]
        return np.concatenate([np.zeros(0, dtype=np.int64), *counts])

    def _choice_count(self, depth: int) -> int:
        """How many choices the next stage has: none behind the last."""
        return int(self._problem.network.stages[depth].activation.choices) if depth < self._depth else 0

    def _own_choices(self, depth: int, choices: Key) -> Key:
        """The numbers that choices of the next stage have among all."""
        first = int(self._problem.network.choice_offsets[depth])
        return tuple(first + choice for choice in choices)

    def _has_facets(self, cell: Cell) -> bool:
        return cell.depth < self._depth or self._want_facets

    def vouch_for(self, task: Task, root: Cell) -> None:
        """Prove that a task's cell is one: all of where its pattern holds in the domain, with its point inside.

        ``root`` is the domain as a cell.
        """
        if task.vouched:
            return
        given = task.cell
        numbers, signs = self._with_domain(given, root)
        if not self._has_facets(given):
            _require(not len(given.facets))
            numbers, signs = root.facets, root.signs
        cell = Cell(given.depth, given.pattern, numbers, signs, given.inside)
        self._require_inside_domain(cell.inside)
        end = self._problem.hyperplanes.domain_count + int(self._problem.network.break_offsets[cell.depth])
        earlier = np.arange(self._problem.hyperplanes.domain_count, end)
        parent = Parent(self._problem, cell, breaks=earlier)
        beside, ties = signs_beside_center(parent)
        bounding = self._bounding(cell, beside)
        _require(not ties[bounding].any())
        if self._has_facets(given):
            self._require_sides(parent, cell, beside, bounding)
            self._require_bounded(parent, cell, beside, bounding)
            self._require_facets(parent, given, root)
        task.vouched = True

    def _with_domain(self, cell: Cell, root: Cell) -> tuple[Indices, Signs]:
        """A cell's facets and all of the domain's."""
        network_facets = ~self._problem.hyperplanes.of_domain(cell.facets)
        _require(bool((cell.signs[~network_facets] > 0).all()))
        _require(bool(np.isin(cell.facets[~network_facets], root.facets).all()))
        numbers = np.concatenate([root.facets, cell.facets[network_facets]])
        return numbers, np.concatenate([root.signs, cell.signs[network_facets]])

    def _require_inside_domain(self, inside: Witness) -> None:
        """That a point is strictly inside the domain."""
        point = ExactMatrix.from_fractions([[v] for v in [*inside.rational(), Fraction(1)]])
        _require(all(value > 0 for value in (self._problem.frame.rows.numerators * point.numerators).entries()))

    def _bounding(self, cell: Cell, beside: Signs) -> Indices:
        """The breaks of all stages so far that bound a pattern, if it is the one at the point."""
        network, found = self._problem.network, list[int]()
        for stage in range(cell.depth):
            activation, first = network.stages[stage].activation, int(network.break_offsets[stage])
            own = beside[first : int(network.break_offsets[stage + 1])]
            pattern: Pattern = network.stage_pattern(cell.pattern, stage)
            _require(np.array_equal(activation.pattern_from_signs(own), pattern))
            for choice, piece in enumerate(pattern.tolist()):
                found += [first + index for index, _ in activation.constraints(choice, piece) if own[index]]
        return np.array(found, dtype=np.int64)

    def _require_sides(self, parent: Parent, cell: Cell, beside: Signs, bounding: Indices) -> None:
        """That each facet of the network is a break that bounds the pattern, or the same hyperplane as one."""
        of_network = ~self._problem.hyperplanes.of_domain(cell.facets)
        breaks = self._problem.hyperplanes.breaks(cell.facets[of_network])
        _require(np.array_equal(beside[breaks], cell.signs[of_network]))
        for index in np.setdiff1d(breaks, bounding).tolist():
            row = parent.exact_breaks.row(index)
            others = (parent.exact_breaks.row(other) for other in bounding.tolist())
            _require(any(proportion(row, other) is not None for other in others))

    def _require_bounded(self, parent: Parent, cell: Cell, beside: Signs, bounding: Indices) -> None:
        """That no break that bounds the pattern cuts what the facets bound."""
        of_network = ~self._problem.hyperplanes.of_domain(cell.facets)
        asked = np.setdiff1d(bounding, self._problem.hyperplanes.breaks(cell.facets[of_network]))
        signs = np.zeros_like(beside)
        signs[asked] = beside[asked]
        if not self._problem.box_mode:
            _require(not cutting_breaks(parent, signs, np.zeros(len(signs), dtype=bool)).any())
            return
        beyond = asked[~positive_on_box(parent.breaks.signed(signs), *parent.outer_box)[asked]]
        ledger = Ledger(parent, beyond)
        for row, index in enumerate(beyond.tolist(), ledger.own_first):
            _require(ledger.find(parent.inside.joined([(row, -int(signs[index]))])) is None)

    def _require_facets(self, parent: Parent, given: Cell, root: Cell) -> None:
        """That what is listed as facets are the facets.

        In high dimension, before the last stage, it is all of the domain's that is listed, and maybe some others.
        """
        if self._problem.box_mode and given.depth < self._depth:
            _require(bool(np.isin(root.facets, given.facets).all()))
            return
        facets = facets_among(parent, Ledger(parent, np.zeros(0, dtype=np.int64)))
        _require(np.array_equal(facets, given.facets))


def _require(holds: bool) -> None:
    if not holds:
        raise does_not_fit()


def _list(data: Any) -> list[Any]:
    _require(isinstance(data, list))
    found: list[Any] = data
    return found


def _integers(data: Any, limit: int) -> list[int]:
    """A list of integers from 0 up to below a limit."""
    values = _list(data)
    _require(all(type(n) is int and 0 <= n < limit for n in values))
    return values


def _fraction(text: Any) -> Fraction:
    _require(isinstance(text, str))
    numerator, denominator = text.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))


def _packed(pieces: Any, counts: list[int]) -> str:
    """Pieces of choices that have so many each, as one hexadecimal number."""
    number = 0
    for piece, count in zip(pieces, counts, strict=True):
        number = number * count + piece
    return f"{number:x}"


def _unpacked(text: Any, counts: list[int]) -> Key:
    _require(isinstance(text, str))
    number, pieces = int(text, 16), list[int]()
    _require(number >= 0)
    for count in reversed(counts):
        number, piece = divmod(number, count)
        pieces.append(piece)
    _require(not number)
    return tuple(reversed(pieces))
