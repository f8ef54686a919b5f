"""What stands for an array gives what the array would give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from affinelens.walk import ColumnView


@pytest.mark.parametrize(
    "key",
    [
        3, -1, np.int64(5), slice(None), slice(4, 15), slice(15, 4), slice(None, None, -3), slice(-5, None), ..., None,
        [1, 7, 1, -2], np.array([[0, 3], [9, 9]]), np.arange(20) % 3 == 0, [], np.zeros(0, dtype=int), (..., 0),
        (3, 1), (slice(2, 18), 0), (slice(None), [2, 0]), ([1, 7], 2), ([5, 5, 0], [0, 1, 2]), (slice(2, 9), None),
        (slice(1, 19, 4), slice(1, 3)), (np.array([[1], [2]]), np.array([0, 2])), np.ones((20, 3), dtype=bool),
    ],
    ids=repr,
)  # fmt: skip
def test_a_view_gives_what_an_array_gives(key: Any) -> None:
    array = np.random.default_rng(0).random((20, 3))
    view = ColumnView((20, 3), array.dtype, lambda rows: array[rows], 6)
    np.testing.assert_array_equal(view[key], array[key])


def test_a_view_computes_as_an_array_does_and_refuses_rows_that_are_not_there() -> None:
    array = np.random.default_rng(0).random((20, 3))
    view = ColumnView((20, 3), array.dtype, lambda rows: array[rows], 6)
    np.testing.assert_array_equal(2 * view + 1 > view @ np.eye(3), 2 * array + 1 > array)
    assert (view.min(), np.mean(view), view.size, view.nbytes) == (array.min(), array.mean(), 60, 480)
    np.testing.assert_array_equal(view.T, array.T)
    np.testing.assert_array_equal(list(view), list(array))
    for key in (20, -21, [0, 20], [-21]):
        with pytest.raises(IndexError):
            view[key]


def test_rows_of_a_view_are_read_and_no_others() -> None:
    array, read = np.arange(300.0).reshape(100, 3), set()

    def rows_read(rows: Any) -> Any:
        read.update(np.arange(100)[rows].tolist())
        return array[rows]

    view = ColumnView((100, 3), array.dtype, rows_read, 6)
    assert len(view[10:30, 1]) == 20
    assert view[[40, 2], 0].tolist() == [120, 6]
    assert view[-1].tolist() == [297, 298, 299]
    assert read == {*range(10, 30), 2, 40, 99}
