"""Properties and robustness written in Python."""

from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens.verify import verification
from support.random_networks import random_layers

LINE = al.Box(-1, 1, dim=1)
RAMP = [([[1.0]], [0.0]), ([[2.0]], [0.0])]  # 2 max(x, 0): from 0 to 2


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ({"never": al.output(0) >= 2}, "sat"),
        ({"never": al.output(0) > 2}, "unsat"),
        ({"never": al.output(0) < 0}, "unsat"),
        ({"never": al.output(0) <= 0}, "sat"),
        ({"always": al.output(0) <= 2}, "unsat"),
        ({"always": al.output(0) < 2}, "sat"),
        ({"always": (al.output(0) >= 0) & (2 * al.output(0) - 1 <= 3)}, "unsat"),
        ({"always": (al.output(0) > 1) | (al.output(0) <= 1)}, "unsat"),
        ({"never": (al.output(0) > 1) & (al.output(0) <= 1)}, "unsat"),
        ({"never": al.inequalities([[1], [-1]], [Fraction(1, 3), Fraction(-1, 3)])}, "sat"),
        ({"never": al.inequalities([[1]], [-0.5])}, "unsat"),
        ({"always": al.class_is(1)}, "sat"),
        ({"never": al.class_is(0)}, "sat"),
    ],
)
def test_conditions_mean_what_they_say_on_the_border_too(words: dict[str, al.Condition], result: str) -> None:
    assert str(al.verify(RAMP, LINE, **words)) == result


@pytest.mark.parametrize("seed", range(8))
def test_a_class_is_the_one_that_regions_are_told_to_have(seed: int) -> None:
    layers, box = random_layers([2, 6, 3], seed, bias=1), al.Box(-1, 1, dim=2)
    shares = al.enumerate(layers, box).decision_boundary().class_shares
    for label in range(3):
        verdict = al.verify(layers, box, never=al.class_is(label))
        assert (str(verdict) == "sat") == (label < len(shares) and shares[label] > 0)
        assert (str(al.verify(layers, box, always=al.class_is(label))) == "unsat") == (
            label < len(shares) and shares[label] == pytest.approx(1, abs=1e-12)
        )


def test_ties_go_to_the_first_class() -> None:
    """Both outputs are the same all over: class 0 wins everywhere, and class 1 nowhere."""
    twins = [([[1.0]], [0.0]), ([[1.0], [1.0]], [0.0, 0.0])]
    assert str(al.verify(twins, LINE, always=al.class_is(0))) == "unsat"
    assert str(al.verify(twins, LINE, never=al.class_is(1))) == "unsat"
    assert str(al.verify(twins, LINE, never=~al.class_is(1))) == "sat"


@pytest.mark.parametrize("seed", [0, 1, 3, 5, 9])  # of those that have a boundary near
def test_robust_up_to_the_distance_from_the_boundary(seed: int) -> None:
    layers, x = random_layers([2, 8, 8, 2], seed, bias=1), [0.1, -0.2]
    distance = al.enumerate(layers, al.Box(-2, 2, dim=2)).distance_to_boundary(x, norm="linf").value
    assert al.robust(layers, x, 0.99 * distance)
    found = al.robust(layers, x, 1.01 * distance)
    assert not found
    assert found.counterexample is not None
    outputs = al.network(layers).evaluate_exact(found.counterexample.input)
    assert outputs.index(max(outputs)) != found.label
    steps = [abs(a - Fraction(b)) for a, b in zip(found.counterexample.input, x, strict=True)]
    assert max(steps) <= Fraction(1.01 * distance)
    assert "not robust" in repr(found)


def test_an_l1_ball_is_smaller_and_bounds_cut_it() -> None:
    layers = [([[1.0, 1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 1.0])]  # class 0 from x + y = 1 on
    assert al.robust(layers, [0.0, 0.0], 0.75, norm="l1", label=1)
    assert not al.robust(layers, [0.0, 0.0], 0.75, label=1)
    assert al.robust(layers, [0.0, 0.0], 5, label=1, bounds=(-1, 0.25))
    assert not al.robust(layers, [0.0, 0.0], 1.5, norm="l1", label=1)


def test_the_input_and_its_limits_are_taken_exactly() -> None:
    """The network decides for class 0 from 1/3 on, up to and including it."""
    third = Fraction(1, 3)
    layers = [([[1.0]], [0.0]), ([[3.0], [0.0]], [0.0, 1.0])]
    assert al.robust(layers, [third + 1], 1)
    assert not al.robust(layers, [third + 1], 1 + Fraction(1, 10**30))
    assert al.robust(layers, [third + 1], 2, bounds=([third], [1]))
    assert not al.robust(layers, np.float64(third + 1), 1, bounds=[0, 5])  # that float64 is below 4/3


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: al.verify(RAMP, LINE), "either never=... or always=..."),
        (lambda: al.verify(RAMP, LINE, never=al.output(0) > 1, always=al.output(0) > 1), "either never=..."),
        (lambda: al.verify(RAMP, LINE, never=3), "a condition is made of output"),  # type: ignore[arg-type]
        (lambda: al.verify(RAMP, LINE, never=al.output(4) > 1), "speaks of output 4"),
        (lambda: al.verify(RAMP, LINE, never=al.class_is(2)), "has classes 0 and 1"),
        (lambda: al.output(-1), "a whole number from 0 on"),
        (lambda: al.output(0) > float("nan"), "finite numbers"),
        (lambda: al.output(0) > 1 and al.output(0) < 2, "by &, | and ~"),
        (lambda: (al.output(0) > 1) & True, "put each in brackets"),  # type: ignore[operator]
        (lambda: al.inequalities([1, 2], [3]), "a matrix with one row an inequality"),
        (lambda: al.robust(RAMP, [0.0], 0.1, norm="l2"), "the l2 ball is no polytope"),
        (lambda: al.robust(RAMP, [0.0, 1.0], 0.1), "one input of 1 number, but has shape"),
        (lambda: al.robust(RAMP, [0.0], -1), "eps must be a finite number above 0"),
        (lambda: al.robust(RAMP, [0.0], float("nan")), "eps must be a finite number above 0"),
        (lambda: al.robust(RAMP, [0.0], [0.1, 0.2]), "eps must be a finite number above 0"),  # type: ignore[arg-type]
        (lambda: al.robust(RAMP, ["a"], 0.1), "x must be numbers"),
        (lambda: al.robust(RAMP, [float("nan")], 0.1), "x must be finite"),
        (lambda: al.robust(RAMP, [0.0], 0.1, bounds=1), "bounds are a pair"),  # type: ignore[arg-type]
        (lambda: al.robust(RAMP, [0.0], 0.1, bounds=(0, float("nan"))), "a bound is one finite number"),
        (lambda: al.robust(RAMP, [0.0], 0.1, bounds=([0, 0], 1)), "a bound is one finite number"),
        (lambda: al.robust(RAMP, [0.0], 0.1, until="x"), "until= is for ONNX files"),
        (lambda: al.verify(RAMP, al.output(0) > 1), "a Box or Polytope with never="),  # type: ignore[arg-type]
        (lambda: al.verify(RAMP, [(-1, 1)], never=al.output(0) > 1), "a Box or Polytope"),  # type: ignore[arg-type]
        (lambda: al.output(0) / 0, "numbers other than 0"),
        (lambda: al.robust(RAMP, [3.0], 0.1, bounds=(0, 1)), "no input within eps"),
    ],
)
def test_what_makes_no_question_gets_a_sentence(call: object, sentence: str) -> None:
    with pytest.raises(al.AffineLensError, match=sentence):
        call()  # type: ignore[operator]


def test_many_alternatives_are_refused() -> None:
    either = (al.output(0) > 1) | (al.output(0) < 0)
    many = either
    for _ in range(20):
        many = many & either
    with pytest.raises(al.AffineLensError, match="alternatives written out"):
        al.verify(RAMP, LINE, never=many)


def test_numbers_of_numpy_are_numbers() -> None:
    assert str(al.output(0) >= np.float64(0.5)) == "y[0] - 1/2 >= 0"


PAIR = [([[1.0]], [0.0]), ([[1.0], [2.0]], [0.0, 0.0])]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({}, "but neither was given"),
        ({"never": al.output(0) > 1, "always": al.output(0) > 1}, "but both were given"),
        ({"never": al.output(7) > 1}, "speaks of output 7, but the network has 2 outputs, 0 to 1"),
        ({"never": al.class_is(7)}, "speaks of class 7, but the network has 2 classes, 0 to 1"),
        ({"never": al.inequalities([[1, 0, 0]], [1])}, "A has 3 columns, but the network has 2 outputs"),
        ({"always": al.inequalities([[1]], [1])}, "A has 1 column, but the network has 2 outputs"),
    ],
)
def test_a_question_that_does_not_fit_the_network_is_refused(words: dict[str, al.Condition], says: str) -> None:
    with pytest.raises(al.AffineLensError, match=says):
        al.verify(PAIR, LINE, **words)


def test_outputs_are_not_compared_by_equality() -> None:
    for compare in (lambda y: y == 1, lambda y: y != 1):
        with pytest.raises(al.AffineLensError, match="not by == and !="):
            compare(al.output(0))
    with pytest.raises(al.AffineLensError, match=r"multiplied by finite numbers, but got an output, y\[1\]"):
        operator.mul(al.output(0), al.output(1))


def test_a_stop_before_the_walk_is_an_unknown_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verification, "_first_witness", stopped)
    with pytest.raises(al.Interrupted) as stop:
        al.verify(PAIR, LINE, never=al.output(0) > 5)
    assert str(stop.value.found) == "unknown"
