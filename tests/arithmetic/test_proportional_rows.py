"""Rows that are multiples of each other are told exactly, and refuted in float64 only where they are not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.arithmetic.proportional_rows import differ_from, differ_pairwise, direction, proportion

exact_test = settings(deadline=None, derandomize=True, max_examples=100)
rows = st.lists(st.integers(-5, 5), min_size=3, max_size=3)
factors = st.integers(-4, 4).filter(bool)


@exact_test
@given(row=rows, first=factors, second=factors)
def test_multiples_of_a_row_have_its_direction(row: list[int], first: int, second: int) -> None:
    one, other = [first * n for n in row], [second * n for n in row]
    along, sign = direction(one)
    assert direction(other) == (along, sign * (1 if first * second > 0 else -1))
    ratio = proportion([fmpz(n) for n in one], [fmpz(n) for n in other])
    if any(row):
        assert ratio is not None
        assert Fraction(int(ratio.p), int(ratio.q)) == Fraction(first, second)
    else:
        assert sign == 0
        assert ratio is None


@exact_test
@given(row=rows, other=rows)
def test_rows_are_proportional_if_their_directions_are_the_same(row: list[int], other: list[int]) -> None:
    are = any(row) and any(other) and direction(row)[0] == direction(other)[0]
    assert (proportion([fmpz(n) for n in row], [fmpz(n) for n in other]) is not None) == are


@pytest.mark.parametrize("seed", range(5))
def test_a_multiple_is_never_refuted_and_another_row_is(seed: int) -> None:
    generator = np.random.default_rng(seed)
    others = generator.normal(size=(20, 4))
    others /= np.abs(others).max(axis=1, keepdims=True)
    multiples = generator.normal(size=(6, 20, 1)) * others
    error, other_error = np.full((6, 20), 1e-9), np.full(20, 1e-12)
    noise = generator.uniform(-1e-9, 1e-9, size=multiples.shape)
    assert not differ_from(multiples + noise, error, others, other_error).any()
    assert differ_from(multiples + np.array([0, 0, 0, 1.0]), error, others, other_error).all()
    everything = np.concatenate([others, -2 * others])
    differ = differ_pairwise(everything, np.full(everything.shape, 1e-12))
    same = np.arange(40)[:, None] % 20 == np.arange(40) % 20
    assert np.array_equal(differ, ~same)


def test_of_numbers_that_may_be_anything_nothing_is_refuted() -> None:
    rows = np.array([[[1.0, np.nan]], [[np.inf, 1.0]], [[1.0, 5.0]]])
    assert not differ_from(rows, np.full((3, 1), np.inf), np.array([[1.0, 0.0]]), np.zeros(1)).any()
