"""Conditions on outputs: their normal forms hold exactly where they do, equality included."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.errors import AffineLensError

Truth = Callable[[tuple[Fraction, ...]], bool]
VALUES = [Fraction(n, 2) for n in range(-3, 4)]


def holds(condition: al.Condition, y: tuple[Fraction, ...]) -> bool:
    return al.Case(al.Box(0, 1, dim=1), condition.normal_form(len(y))).holds([Fraction(0)], y)


def comparison(generator: np.random.Generator) -> tuple[al.Condition, Truth]:
    """A comparison of a sum of multiples of two outputs with a number, and the same said directly."""
    first, second = (Fraction(int(n)) for n in generator.integers(-2, 3, 2))
    bound, kind = Fraction(int(generator.integers(-3, 4)), 2), int(generator.integers(4))
    total = first * al.output(0) + al.output(1) * second

    def value(y: tuple[Fraction, ...]) -> Fraction:
        return first * y[0] + second * y[1] - bound

    return [
        (total >= bound, lambda y: value(y) >= 0),
        (total <= bound, lambda y: value(y) <= 0),
        (total > bound, lambda y: value(y) > 0),
        (total < bound, lambda y: value(y) < 0),
    ][kind]


def built(generator: np.random.Generator, depth: int) -> tuple[al.Condition, Truth]:
    if depth == 0:
        return comparison(generator)
    (left, is_left), (right, is_right) = built(generator, depth - 1), built(generator, depth - 1)
    return [
        (left & right, lambda y: is_left(y) and is_right(y)),
        (left | right, lambda y: is_left(y) or is_right(y)),
        (~left, lambda y: not is_left(y)),
    ][int(generator.integers(3))]


@pytest.mark.parametrize("seed", range(30))
def test_normal_forms_hold_where_the_condition_does(seed: int) -> None:
    condition, is_true = built(np.random.default_rng(seed), seed % 4)
    for y in product(VALUES, repeat=2):
        assert holds(condition, y) == is_true(y)
        assert holds(~condition, y) != is_true(y)


def test_a_class_is_the_first_of_the_largest_outputs() -> None:
    for y in product(VALUES[::2], repeat=3):
        decided = y.index(max(y))
        assert [holds(al.class_is(label), y) for label in range(3)] == [label == decided for label in range(3)]
        assert [holds(~al.class_is(label), y) for label in range(3)] == [label != decided for label in range(3)]
    for value in VALUES:
        assert [holds(al.class_is(label), (value,)) for label in range(2)] == [value <= 0, value > 0]


def test_inequalities_hold_together() -> None:
    condition = al.inequalities([[1, -2], [Fraction(1, 3), 0]], [Fraction(1, 2), Fraction(1, 6)])
    for y in product(VALUES, repeat=2):
        assert holds(condition, y) == (y[0] - 2 * y[1] <= Fraction(1, 2) and y[0] / 3 <= Fraction(1, 6))


@pytest.mark.parametrize(
    ("rows", "bounds"), [([], []), (np.zeros((0, 2)), []), ([1, 2], [3]), ([[1, 2]], [3, 4]), ([[1]], 2)]
)
def test_inequalities_without_rows_or_of_other_shapes_are_refused(rows: Any, bounds: Any) -> None:
    with pytest.raises(AffineLensError, match="one row an inequality"):
        al.inequalities(rows, bounds)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda: (al.output(3) >= 0).normal_form(3), "speaks of output 3, but the network has 3"),
        (lambda: al.class_is(2).normal_form(1), "one output has classes 0 and 1"),
        (lambda: al.class_is(3).normal_form(3), "speaks of class 3, but the network has 3"),
        (lambda: bool(al.output(0) >= 0), "no truth by itself"),
        (lambda: al.output(-1), "a whole number from 0 on"),
        (lambda: al.output(True), "a whole number from 0 on"),
    ],
)
def test_what_says_nothing_is_refused_in_a_sentence(use: Callable[[], object], words: str) -> None:
    with pytest.raises(AffineLensError, match=words):
        use()
