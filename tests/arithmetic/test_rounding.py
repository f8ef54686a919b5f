"""Rounding bounds really bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward

numbers = st.floats(-1e100, 1e100)
positive = st.floats(0, 1e100)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=12))
def test_inner_products_are_within_gamma(pairs: list[tuple[float, float]]) -> None:
    left, right = (np.array(column) for column in zip(*pairs, strict=True))
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    bound = upward(gamma(len(pairs)) * float(np.abs(left) @ np.abs(right)))
    assert abs(Fraction(float(left @ right)) - exact) <= Fraction(bound)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=12))
def test_upward_covers_the_rounding_of_a_bound(pairs: list[tuple[float, float]]) -> None:
    left, right = (np.array(column) for column in zip(*pairs, strict=True))
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    assert Fraction(upward(float(left @ right))) >= exact


def test_upward_covers_products_that_underflow() -> None:
    tiny = np.full(1000, 1e-200)
    assert float(tiny @ tiny) == 0.0
    assert Fraction(upward(float(tiny @ tiny))) >= 1000 * Fraction(1e-200) ** 2


def test_upward_works_on_arrays() -> None:
    bounds = np.array([0.0, 1.0, 1e300])
    assert np.all(upward(bounds) > bounds)


@pytest.mark.parametrize("terms", [0, 1, 5, 1000, 10**6])
def test_gamma_is_at_least_that_many_roundings(terms: int) -> None:
    assert gamma(terms) >= terms * UNIT_ROUNDOFF
    assert gamma(terms + 1) > gamma(terms)
