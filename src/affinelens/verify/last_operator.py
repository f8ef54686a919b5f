"""Conditions on a model's outputs as conditions on a network's, which lacks a curved last operator.

A sigmoid or tanh is increasing, so an output is beyond a threshold t where what it is computed from is beyond the place
of t. That is irrational but for a few t, and rounded once, to float64; then a note says so. A softmax keeps the order
of the outputs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from math import inf, log, log1p

from affinelens.domain import Property
from affinelens.domain.output_condition import ClassConstraint
from affinelens.domain.vnnlib.property import Constraint
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network.note import Note, NoteKind


def on_network(prop: Property, network: Network) -> Property:
    """A property of a model as one of the network compiled from it.

    Raises
    ------
    AffineLensError
        If the condition speaks of values that the network does not have.
    """
    cut = next((note for note in network.notes if note.kind.is_cut_off), None)
    return prop if cut is None else _mapped(prop, [_moved(c, cut) for c in _constraints(prop)])


def on_model(prop: Property, network: Network) -> Property:
    """A property whose classes are those of the model's own output, which for a sigmoid change at 1/2."""
    if all(note.kind is not NoteKind.SIGMOID_CUT_OFF for note in network.notes):
        return prop
    half = [
        replace(c, constant=-c.outputs[0][1] / 2) if isinstance(c, ClassConstraint) else c for c in _constraints(prop)
    ]
    return _mapped(prop, [(constraint, None) for constraint in half])


def _constraints(prop: Property) -> Iterator[Constraint]:
    return (c for case in prop.cases for conjunction in case.condition for c in conjunction)


def _mapped(prop: Property, constraints: list[tuple[Constraint, str | None]]) -> Property:
    """The property with other constraints, in the same order, and what is to be noted of them."""
    further = iter(constraints)
    cases = tuple(
        replace(case, condition=tuple(tuple(next(further)[0] for _ in part) for part in case.condition))
        for case in prop.cases
    )
    notes = dict.fromkeys(note for _, note in constraints if note is not None)
    return replace(prop, cases=cases, notes=(*prop.notes, *notes))


def _moved(constraint: Constraint, cut: Note) -> tuple[Constraint, str | None]:
    if isinstance(constraint, ClassConstraint) or _compares_outputs(constraint):
        return constraint, None
    if len(constraint.outputs) != 1 or constraint.inputs or cut.kind is NoteKind.CUT_OFF:
        raise AffineLensError(
            f"{cut}, but not the values that the property's condition {str(constraint)!r:.80} speaks of; "
            "ask about comparisons of two outputs, or cut the model there yourself"
        )
    [(index, coefficient)] = constraint.outputs
    threshold = -constraint.constant / coefficient
    place = _place(threshold, cut.kind)
    if place in (-inf, inf):
        holds = (place < 0) == (coefficient > 0)
        return Constraint((), (), Fraction(1 if holds else -1)), None
    moved = replace(constraint, outputs=((index, coefficient),), constant=-coefficient * Fraction(place))
    note = f"{cut.place}: the threshold {float(threshold):g} was taken at {place!r}, rounded to float64"
    return moved, None if place == 0 else note


def _compares_outputs(constraint: Constraint) -> bool:
    """Whether it reads ``Y_i >= Y_j`` (or is one of inputs alone)."""
    coefficients = [c for _, c in constraint.outputs]
    if not coefficients:
        return True
    return len(coefficients) == 2 and not constraint.inputs and not constraint.constant and sum(coefficients) == 0


def _place(threshold: Fraction, kind: NoteKind) -> float:
    """Where the operator takes the value; an infinity if it takes larger or smaller ones only."""
    if kind is NoteKind.TANH_CUT_OFF:
        return _place((1 + threshold) / 2, NoteKind.SIGMOID_CUT_OFF) / 2
    if not 0 < threshold < 1:
        return inf if threshold > 0 else -inf
    odds = threshold / (1 - threshold)
    if Fraction(1, 2) < odds < 2:
        return log1p(odds - 1)
    if Fraction(1, 2**1000) < odds < 2**1000:
        return log(odds)
    return log(odds.numerator) - log(odds.denominator)
