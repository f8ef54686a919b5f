"""Functions are told apart by their numbers over a box: multiples never, others unless they are off by too much."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.regions.spread import Spread, middle_and_radius

FRAME = al.Box([-1.0, 3.0, 0.0], [2.0, 3.25, 1e-3]).frame


def spread(rows: np.ndarray, error: float) -> Spread:
    size = np.abs(rows).sum(axis=-1) * 4
    return Spread.over(FRAME, rows, np.full(rows.shape[:-1], error), size)


def scaled(rows: np.ndarray) -> np.ndarray:
    """Rows whose largest number over the box is 1."""
    return rows / np.abs(spread(rows, 0.0).values).max(axis=-1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
def test_multiples_are_never_told_apart_and_others_are(seed: int) -> None:
    generator = np.random.default_rng(seed)
    others = scaled(generator.normal(size=(30, 4)))
    multiples = generator.normal(size=(6, 30, 1)) * others
    different = scaled(generator.normal(size=(6, 30, 4)))
    assert not spread(multiples, 0.0).differ_from(spread(others, 0.0)).any()
    assert spread(different, 0.0).differ_from(spread(others, 0.0)).all()


def test_what_an_error_can_explain_is_no_difference() -> None:
    others = scaled(np.random.default_rng(9).normal(size=(20, 4)))
    moved = others + np.array([0.0, 0.0, 0.0, 1e-6])
    assert spread(moved[None], 1e-9).differ_from(spread(others, 1e-9)).all()
    assert not spread(moved[None], 1e-6).differ_from(spread(others, 1e-6)).any()


def test_the_numbers_are_half_the_changes_along_the_axes_and_the_middle_s_value() -> None:
    rows = np.array([[2.0, -4.0, 1000.0, 0.5]])
    middle, radius = middle_and_radius(FRAME)
    assert (np.abs(middle - radius - FRAME.lower) <= 1e-15).all()
    values = spread(rows, 0.0).values[0]
    np.testing.assert_allclose(values, [2.0 * 1.5, -4.0 * 0.125, 0.5, 2.0 * 0.5 - 4.0 * 3.125 + 0.5 + 0.5], rtol=1e-14)
