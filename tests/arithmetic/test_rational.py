"""Exact matrices hold exactly what they are given and compute without any error."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.rational import sparse_matrix, stack_rows

exact_test = settings(deadline=None, derandomize=True, max_examples=60)
floats = st.floats(allow_nan=False, allow_infinity=False)
fractions = st.fractions(min_value=-1000, max_value=1000, max_denominator=1000)
Table = list[list[Fraction]]


def tables(rows: int, columns: int, entries: st.SearchStrategy[Fraction] = fractions) -> st.SearchStrategy[Table]:
    return st.lists(st.lists(entries, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


@exact_test
@given(st.lists(st.lists(floats, min_size=3, max_size=3), min_size=1, max_size=4))
def test_every_float_is_held_exactly(values: list[list[float]]) -> None:
    matrix = ExactMatrix.from_floats(np.array(values))
    assert matrix.to_fractions() == [[Fraction(v) for v in row] for row in values]
    assert np.array_equal(matrix.to_floats(), values)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.24, 0.26, 1.0])
def test_a_matrix_of_many_zeros_is_held_as_any_other(share: float) -> None:
    generator = np.random.default_rng(0)
    values = generator.standard_normal((20, 30)) * np.ldexp(1.0, generator.integers(-300, 300, (20, 30)))
    values[generator.random((20, 30)) >= share] = 0.0
    matrix = ExactMatrix.from_floats(values)
    assert matrix.to_fractions() == [[Fraction(v) for v in row] for row in values.tolist()]
    chosen = matrix.rows([3, -1, 0])
    assert chosen.to_fractions() == [matrix.to_fractions()[3], [Fraction(0)] * 30, matrix.to_fractions()[0]]
    assert matrix.rows([]).shape == (0, 30)


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308, 1.0, 1.0 + 2.0**-52, 0.1]
)
def test_extreme_floats_are_held_exactly(value: float) -> None:
    assert ExactMatrix.from_floats(np.array([[value, 1e300, 1e-300]])).entry(0, 0) == Fraction(value)


@exact_test
@given(tables(2, 3))
def test_fractions_round_to_the_nearest_float(table: Table) -> None:
    matrix = ExactMatrix.from_fractions(table)
    assert matrix.to_fractions() == table
    assert matrix.to_floats().tolist() == [[float(entry) for entry in row] for row in table]


@exact_test
@given(tables(2, 3), tables(3, 2), tables(2, 3))
def test_products_sums_and_differences(a: Table, b: Table, c: Table) -> None:
    left, right, other = (ExactMatrix.from_fractions(table) for table in (a, b, c))
    product = [[sum((a[i][k] * b[k][j] for k in range(3)), Fraction(0)) for j in range(2)] for i in range(2)]
    assert (left @ right).to_fractions() == product
    assert (left + other).to_fractions() == [
        [x + y for x, y in zip(p, q, strict=True)] for p, q in zip(a, c, strict=True)
    ]
    assert (left - other).to_fractions() == [
        [x - y for x, y in zip(p, q, strict=True)] for p, q in zip(a, c, strict=True)
    ]


@exact_test
@given(tables(3, 2), tables(3, 1), st.integers(1, 100))
def test_rows_scaled_divided_picked_and_stacked(a: Table, factors: Table, divisor: int) -> None:
    matrix = ExactMatrix.from_fractions(a)
    scaled = matrix.scaled_rows(ExactMatrix.from_fractions(factors))
    assert scaled.to_fractions() == [
        [entry * factor[0] for entry in row] for row, factor in zip(a, factors, strict=True)
    ]
    assert matrix.divided_by(divisor).to_fractions() == [[entry / divisor for entry in row] for row in a]
    assert matrix.rows([2, -1, 0, 0]).to_fractions() == [a[2], [Fraction(0)] * 2, a[0], a[0]]
    assert stack_rows([matrix, scaled]).to_fractions() == [*a, *scaled.to_fractions()]


def test_what_is_beyond_float64_becomes_infinite() -> None:
    huge = ExactMatrix.from_floats(np.array([[1e308, -1e308]]))
    product = huge.scaled_rows(ExactMatrix.from_floats(np.array([[1e10]])))
    assert product.to_floats().tolist() == [[np.inf, -np.inf]]
    assert product.entry(0, 0) == Fraction(1e308) * Fraction(1e10)


def test_a_vector_is_a_column() -> None:
    assert ExactMatrix.from_floats(np.array([1.0, 2.0])).shape == (2, 1)


@exact_test
@given(tables(2, 2))
def test_travels_between_processes_unchanged(table: Table) -> None:
    matrix = ExactMatrix.from_fractions(table)
    assert pickle.loads(pickle.dumps(matrix)).to_fractions() == table


def test_other_coordinates() -> None:
    """W x + b with x = scale y + shift, and no row or column to take for granted."""
    matrix = ExactMatrix.from_fractions(
        [[Fraction(1, 3), Fraction(-2), Fraction(5)], [Fraction(0), Fraction(7), Fraction(1, 7)]]
    )
    moved = matrix.in_coordinates(np.array([0.5, 3.0]), np.array([0.1, -2.0]))
    shift = Fraction(0.1)
    assert moved.to_fractions() == [
        [Fraction(1, 6), Fraction(-6), shift / 3 + 4 + 5],
        [Fraction(0), Fraction(21), Fraction(1, 7) - 14],
    ]


def test_sparse_functions_change_coordinates_as_others_do() -> None:
    table = np.zeros((5, 6))
    table[0, 2], table[1, 0], table[2, 4], table[2, 5], table[4, 5] = 1.0, -0.3, 2.0**-40, 7.0, 0.1
    scale, shift = np.array([0.5, 3.0, 0.1, 1e-30, 0.7]), np.array([0.1, -2.0, 1e20, 0.0, 0.3])
    plain = ExactMatrix.from_floats(table)
    unmarked = ExactMatrix(plain.numerators, plain.denominator)
    moved = plain.in_coordinates(scale, shift)
    assert moved.to_fractions() == unmarked.in_coordinates(scale, shift).to_fractions()


def test_only_what_float64_holds_has_a_float64_source() -> None:
    assert sparse_matrix([{0: Fraction(1, 4)}, {}], 2).source is not None
    assert sparse_matrix([{0: Fraction(1, 3)}, {}], 2).source is None
    assert sparse_matrix([{1: Fraction(10**400)}], 2).source is None
