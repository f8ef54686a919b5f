"""A row and a column of a table of affine functions change places: what the table says stays true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from affinelens.kernels.compilation import entry
from affinelens.kernels.exchange import exchange


@entry
def exchanged(table: Any, row: int, column: int, rows: int, columns: int) -> None:
    exchange(table, row, column, rows, columns)


def test_python_runs_a_kernel_as_it_is_written() -> None:
    """Also one that was compiled before: a call used to end the process."""
    compiled = np.random.default_rng(11).normal(size=(4, 3))
    written = compiled.copy()
    exchanged(compiled, 1, 2, 4, 3)
    exchange(written, 1, 2, 4, 3)
    np.testing.assert_allclose(written, compiled, rtol=1e-13)


@pytest.mark.parametrize("seed", range(5))
def test_the_same_values_fit_after_an_exchange(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(5, 4))
    columns = np.append(generator.normal(size=3), 1.0)  # the last holds constants
    rows = table @ columns
    row, column = int(generator.integers(5)), int(generator.integers(3))
    exchanged(table, row, column, 5, 4)
    rows[row], columns[column] = columns[column], rows[row]
    np.testing.assert_allclose(table @ columns, rows, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_exchanging_twice_changes_nothing(seed: int) -> None:
    before = np.random.default_rng(seed).normal(size=(4, 4))
    table = before.copy()
    for _ in range(2):
        exchanged(table, 1, 2, 4, 4)
    np.testing.assert_allclose(table, before, rtol=1e-9, atol=1e-12)


def test_what_lies_beyond_the_given_size_is_left_alone() -> None:
    before = np.random.default_rng(7).normal(size=(4, 5))
    table = before.copy()
    exchanged(table, 0, 0, 2, 3)
    assert np.array_equal(table[2:], before[2:])
    assert np.array_equal(table[:, 3:], before[:, 3:])
