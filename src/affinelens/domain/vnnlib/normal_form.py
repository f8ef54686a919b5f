"""Formulas of linear comparisons, brought into disjunctive normal form and sorted into cases by their domain.

Alternatives that have the same bounds and linear constraints on the inputs make up one case. A domain is closed, so a
strict comparison of inputs bounds it as a weak one would, and is kept as a part of the condition as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from affinelens.domain.box import Box
from affinelens.domain.domain import Domain, EmptyDomainError, SinglePointError
from affinelens.domain.numbers import from_fractions, outward
from affinelens.domain.point import Point
from affinelens.domain.polytope import Polytope
from affinelens.domain.vnnlib.property import Case, Constraint
from affinelens.errors import AffineLensError

MOST_ALTERNATIVES = 100_000
_MOST_COMPARISONS = 2_000_000
_TOO_MANY = 10**12
_MOST_BOUNDS = 5_000_000
# Checking a polytope exactly takes many seconds beyond this.
_MOST_COEFFICIENTS = 1 << 17


@dataclass(slots=True)
class Junction:
    """All of the parts (``and``) or any of them (``or``)."""

    every: bool
    parts: list[Formula]


Formula: TypeAlias = "Constraint | Junction | bool"


def joined(every: bool, parts: Iterable[Formula]) -> Formula:
    """A junction without truth values and without junctions of its own kind in it."""
    flat: list[Formula] = []
    for part in parts:
        if isinstance(part, bool):
            if part != every:
                return part
        elif isinstance(part, Junction) and part.every == every:
            flat += part.parts
        else:
            flat.append(part)
    return (flat[0] if len(flat) == 1 else Junction(every, flat)) if flat else every


def expanded_size(formula: Formula) -> tuple[int, int]:
    """How many alternatives a formula expands to, and how many comparisons they hold; no number grows beyond reason."""
    if isinstance(formula, bool):
        return int(formula), 0
    if isinstance(formula, Constraint):
        return 1, 1
    alternatives, comparisons = (1, 0) if formula.every else (0, 0)
    for part in formula.parts:
        more, held = expanded_size(part)
        if formula.every:
            comparisons = comparisons * more + alternatives * held
            alternatives *= more
        else:
            alternatives, comparisons = alternatives + more, comparisons + held
        alternatives, comparisons = min(alternatives, _TOO_MANY), min(comparisons, _TOO_MANY)
    return alternatives, comparisons


def expanded(formula: Formula) -> list[tuple[Constraint, ...]]:
    """Disjunctive normal form: alternatives, each a conjunction."""
    if isinstance(formula, bool):
        return [()] if formula else []
    if isinstance(formula, Constraint):
        return [(formula,)]
    if not formula.every:
        return [conjunction for part in formula.parts for conjunction in expanded(part)]
    choices = product(*(expanded(part) for part in formula.parts))
    return [tuple(constraint for part in choice for constraint in part) for choice in choices]


@dataclass(slots=True)
class _Inputs:
    """What is known of the inputs: bounds of single ones, and linear constraints on several."""

    lower: dict[int, Fraction] = field(default_factory=dict)
    upper: dict[int, Fraction] = field(default_factory=dict)
    rows: dict[Constraint, None] = field(default_factory=dict)

    def add(self, constraint: Constraint) -> None:
        if len(constraint.inputs) > 1:
            self.rows[Constraint(constraint.inputs, (), constraint.constant)] = None
            return
        (index, slope), = constraint.inputs  # fmt: skip
        bound = -constraint.constant / slope
        if slope > 0:
            self.lower[index] = max(bound, self.lower.get(index, bound))
        else:
            self.upper[index] = min(bound, self.upper.get(index, bound))

    def within(self, other: _Inputs) -> _Inputs:
        """What these add to those of another."""
        return _Inputs(
            {i: b for i, b in self.lower.items() if i not in other.lower or b > other.lower[i]},
            {i: b for i, b in self.upper.items() if i not in other.upper or b < other.upper[i]},
            {row: None for row in self.rows if row not in other.rows},
        )

    def key(self) -> tuple[object, ...]:
        return frozenset(self.lower.items()), frozenset(self.upper.items()), frozenset(self.rows)


class Cases:
    """The alternatives of a formula, sorted by domain."""

    def __init__(self, inputs: int, name: Callable[[int], str]) -> None:
        self._inputs = inputs
        self._name = name
        self._common = _Inputs()
        self._conditions: dict[tuple[object, ...], tuple[_Inputs, dict[tuple[Constraint, ...], None]]] = {}
        self.notes: list[str] = []

    def add_all(self, asserted: Iterable[Formula]) -> None:
        whole = joined(True, asserted)
        parts = whole.parts if isinstance(whole, Junction) and whole.every else [whole]
        simple = [part for part in parts if isinstance(part, Constraint)]
        choice = joined(True, [part for part in parts if not isinstance(part, Constraint)])
        common = _split(simple, self._common)
        alternatives, comparisons = expanded_size(choice)
        if alternatives > MOST_ALTERNATIVES or comparisons + alternatives * len(common) > _MOST_COMPARISONS:
            more = " or more" if alternatives == _TOO_MANY else ""
            raise AffineLensError(
                f"its assertions expand to {alternatives:,}{more} alternatives; at most {MOST_ALTERNATIVES:,} with "
                f"{_MOST_COMPARISONS:,} comparisons are read"
            )
        if not alternatives:
            raise AffineLensError("its assertions contradict each other whatever the inputs are; check them")
        for conjunction in expanded(choice):
            own = _Inputs()
            condition = (*common, *_split(conjunction, own))
            added = own.within(self._common)
            _, conditions = self._conditions.setdefault(added.key(), (added, {}))
            conditions[tuple(dict.fromkeys(condition))] = None

    def found(self) -> list[Case]:
        """All cases; those that no input satisfies are dropped with a note, and it is an error if all are."""
        if len(self._conditions) * self._inputs > _MOST_BOUNDS:
            raise AffineLensError(
                f"it has {len(self._conditions)} cases of {self._inputs} inputs; at most {_MOST_BOUNDS:,} bounds are "
                f"read"
            )
        cases = []
        for number, (added, conditions) in enumerate(self._conditions.values(), start=1):
            try:
                cases.append(Case(self._domain(added), tuple(conditions)))
            except EmptyDomainError as error:
                self.notes.append(f"alternative {number} of the inputs was dropped: {error}")
        if not cases:
            raise AffineLensError(f"no input satisfies its constraints: {self.notes[0].split(': ', 1)[1]}")
        return cases

    def _domain(self, added: _Inputs) -> Domain:
        lower, upper = {**self._common.lower, **added.lower}, {**self._common.upper, **added.upper}
        rows = [*self._common.rows, *added.rows]
        for index in lower.keys() & upper.keys():
            if lower[index] > upper[index]:
                raise EmptyDomainError(
                    f"{self._name(index)} has lower bound {outward(lower[index], down=True):g} above its upper bound "
                    f"{outward(upper[index], down=False):g}"
                )
        try:
            if rows:
                return self._polytope(lower, upper, rows)
            for bounds, word in ((lower, "lower"), (upper, "upper")):
                if len(bounds) < self._inputs:
                    missing = next(i for i in range(self._inputs) if i not in bounds)
                    raise AffineLensError(f"the input {self._name(missing)} has no {word} bound; assert one")
            return Box(*(
                from_fractions([bounds[i] for i in range(self._inputs)], (self._inputs,), "the inputs' bounds")
                for bounds in (lower, upper)
            ))  # fmt: skip
        except SinglePointError as error:
            return Point(error.point)

    def _polytope(self, lower: dict[int, Fraction], upper: dict[int, Fraction], rows: list[Constraint]) -> Polytope:
        bounds = [({i: Fraction(1)}, -b) for i, b in lower.items()] + [({i: Fraction(-1)}, b) for i, b in upper.items()]
        table = [*bounds, *((dict(row.inputs), row.constant) for row in rows)]
        count = self._inputs
        if len(table) * count > _MOST_COEFFICIENTS:
            raise AffineLensError(
                f"it has linear constraints on {count} inputs, a matrix of {len(table) * count:,} numbers; at most "
                f"{_MOST_COEFFICIENTS:,} are read, or bounds only"
            )
        flat = [Fraction(0)] * (len(table) * count)
        for i, (terms, _) in enumerate(table):
            for j, coefficient in terms.items():
                flat[i * count + j] = coefficient
        weights = from_fractions(flat, (len(table), count), "the input constraints")
        return Polytope(weights, from_fractions([b for _, b in table], (len(table),), "the input constraints"))


def _split(constraints: Iterable[Constraint], inputs: _Inputs) -> list[Constraint]:
    """Move what speaks of inputs alone into ``inputs``; return the rest, and what is strict."""
    rest = []
    for constraint in constraints:
        if not constraint.outputs:
            inputs.add(constraint)
        if constraint.outputs or constraint.strict:
            rest.append(constraint)
    return rest
