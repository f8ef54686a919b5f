"""Rows that are multiples of each other are told exactly, and refuted in float64 only where they are not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.arithmetic.proportional_rows import differ_from, direction, perhaps_proportional, proportion

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
    pairs = [
        pair for some in perhaps_proportional(everything, np.full(everything.shape, 1e-12)) for pair in some.tolist()
    ]
    assert sorted(pairs) == [[20 + i, i] for i in range(20)]


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_pairs_are_those_of_comparing_all_with_all(columns: int) -> None:
    """Whole numbers, so that there are multiples, zeros and first entries of zero among the rows."""
    generator = np.random.default_rng(columns)
    rows = generator.integers(-2, 3, size=(300, columns)).astype(float)
    rows[::7] *= 1e100
    found = {tuple(pair) for some in perhaps_proportional(rows, np.abs(rows) * 1e-15) for pair in some.tolist()}
    exact = [[Fraction(value) for value in row] for row in rows.tolist()]
    expected = {
        (i, j)
        for i in range(300)
        for j in range(i)
        if all(exact[i][0] * b == a * exact[j][0] for a, b in zip(exact[i], exact[j], strict=True))
    }
    assert found >= expected
    assert columns > 2 or found == expected


def test_many_rows_that_differ_are_not_compared_pair_by_pair() -> None:
    rows = np.random.default_rng(0).normal(size=(20_000, 4))
    rows[7] = -3 * rows[19_000]
    calls: list[int] = []
    pairs = [
        pair
        for some in perhaps_proportional(rows, np.full(rows.shape, 1e-14), lambda: calls.append(1))
        for pair in some.tolist()
    ]
    assert pairs == [[19_000, 7]]
    assert len(calls) < 5


def test_of_numbers_that_may_be_anything_nothing_is_refuted() -> None:
    rows = np.array([[[1.0, np.nan]], [[np.inf, 1.0]], [[1.0, 5.0]]])
    assert not differ_from(rows, np.full((3, 1), np.inf), np.array([[1.0, 0.0]]), np.zeros(1)).any()
