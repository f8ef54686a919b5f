"""Conditions on a model's own outputs, where the network ends before a sigmoid, a tanh or a softmax."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import atanh, log

import pytest

import affinelens as al
from affinelens.network.note import cut_off

LINE = al.Box(-4, 4, dim=1)
IDENTITY = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])]


def ending_in(operator: str, layers: object = IDENTITY) -> al.Network:
    return replace(al.network(layers), notes=(cut_off("last", operator),))


@pytest.mark.parametrize(
    "threshold", [0.1, 0.5, 0.9, 0.98, Fraction(1, 3), Fraction(1, 10**6), 1 - Fraction(1, 10**20)]
)
@pytest.mark.parametrize("operator", ["sigmoid", "tanh"])
def test_a_threshold_is_one_of_the_models_own_output(operator: str, threshold: float | Fraction) -> None:
    exact = Fraction(threshold)
    odds = (1 + exact) / (1 - exact) if operator == "tanh" else exact / (1 - exact)
    place = (log(odds.numerator) - log(odds.denominator)) / (2 if operator == "tanh" else 1)
    model, near = ending_in(operator), 1e-12
    beyond = al.Box(place + near, 100, dim=1)
    before = al.Box(-100, place - near, dim=1)
    assert str(al.verify(model, beyond, always=al.output(0) >= threshold)) == "unsat"
    assert str(al.verify(model, beyond, never=al.output(0) < threshold)) == "unsat"
    assert str(al.verify(model, before, never=3 * al.output(0) / 2 >= Fraction(3, 2) * exact)) == "unsat"
    verdict = al.verify(model, al.Box(place - near, place + near, dim=1), never=al.output(0) > threshold)
    assert str(verdict) == "sat"
    assert (len(verdict.notes) == 1) == (place == 0)


def test_values_that_the_operator_never_takes() -> None:
    for operator, least in (("sigmoid", 0), ("tanh", -1)):
        model = ending_in(operator)
        assert str(al.verify(model, LINE, always=(al.output(0) > least) & (al.output(0) < 1))) == "unsat"
        assert str(al.verify(model, LINE, never=(al.output(0) <= least) | (al.output(0) >= 1))) == "unsat"
        assert str(al.verify(model, LINE, never=al.output(0) >= -7)) == "sat"


@pytest.mark.parametrize("operator", ["sigmoid", "tanh", "softmax"])
def test_the_class_is_that_of_the_network(operator: str) -> None:
    """A probability above 1/2, not one above 0."""
    model = ending_in(operator)
    assert str(al.verify(model, al.Box(-4, 0, dim=1), always=al.class_is(0))) == "unsat"
    assert str(al.verify(model, al.Box(0, 4, dim=1), always=al.class_is(1))) == "sat"
    assert str(al.verify(model, al.Box(1, 4, dim=1), always=~al.class_is(0))) == "unsat"
    assert al.robust(model, [1.0], 0.9)
    found = al.robust(model, [1.0], 1.25)
    assert not found
    assert found.label == 1


def test_a_vnnlib_condition_is_one_of_the_model_too() -> None:
    above = al.Constraint((), ((0, Fraction(1)),), Fraction(-3, 4))
    ask = al.Property((1,), (1,), (al.Case(al.Box(-4, atanh(0.75) - 1e-9, dim=1), ((above,),)),))
    assert str(al.verify(ending_in("tanh"), ask)) == "unsat"
    assert str(al.verify(IDENTITY, ask)) == "sat"


def test_what_a_last_operator_hides_is_refused() -> None:
    two = [([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0])]
    assert str(al.verify(ending_in("softmax", two), LINE, never=al.output(0) > al.output(1))) == "sat"
    for operator, condition in (
        ("softmax", al.output(0) > 0.5),
        ("sigmoid", al.output(0) + al.output(1) > 0.5),
        ("tanh", al.output(0) > al.output(1) + 1),
    ):
        with pytest.raises(al.AffineLensError, match="but not the values"):
            al.verify(ending_in(operator, two), LINE, never=condition)
