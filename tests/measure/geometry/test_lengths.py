"""Lengths of vectors of any size, of which some have squares that float64 does not hold."""

from __future__ import annotations

import numpy as np
import pytest

from affinelens.measure.geometry.lengths import lengths


@pytest.mark.parametrize("exponent", [-1070, -600, -449, 0, 449, 600, 1020])
def test_vectors_of_any_size(exponent: int) -> None:
    vectors = np.ldexp([[3.0, 4.0], [-8.0, 6.0]], exponent)
    assert lengths(vectors).tolist() == [5 * 2.0**exponent, 10 * 2.0**exponent]
    assert lengths(vectors.T, axis=0).tolist() == lengths(vectors).tolist()


def test_small_and_large_vectors_and_nothing_side_by_side() -> None:
    vectors = [[3e-200, 4e-200], [3e200, 4e200], [0.0, 0.0], [3.0, 4.0]]
    np.testing.assert_allclose(lengths(np.array(vectors)), [5e-200, 5e200, 0.0, 5.0], rtol=1e-15, atol=0)
