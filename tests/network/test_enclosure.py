"""Enclosures: what float64 makes of rows is within their error of what rational arithmetic does."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from affinelens.arithmetic import ExactMatrix
from affinelens.network.enclosure import Enclosure

ROWS = 6


def rationals(values: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(v) for v in row] for row in values.tolist()]


def spread_out(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of very different sizes, so that sums of them round."""
    return generator.normal(size=shape) * 2.0 ** generator.integers(-30, 30, size=shape)


def assert_within(found: Enclosure, exact: list[list[Fraction]]) -> None:
    """Number by number at points; as functions at all corners of the coordinates' reach."""
    for row, error, values in zip(rationals(found.rows), found.error.tolist(), exact, strict=True):
        off = [computed - value for computed, value in zip(row, values, strict=True)]
        if found.reach is None:
            assert all(abs(distance) <= Fraction(bound) for distance, bound in zip(off, error, strict=True))
        else:
            reach = [Fraction(v) for v in found.reach[:-1, 0].tolist()]
            for signs in product((-1, 1), repeat=len(reach)):
                terms = (distance * sign * far for distance, sign, far in zip(off, signs, reach, strict=False))
                assert abs(sum(terms, off[-1])) <= Fraction(error[0])


def made(generator: np.random.Generator, kind: str) -> tuple[Enclosure, list[list[Fraction]]]:
    if kind == "values":
        points = spread_out(generator, ROWS, 5)
        return Enclosure.values(points), rationals(points)
    exact = [[v / 3 for v in row] for row in rationals(spread_out(generator, ROWS, 4))]
    reach = np.append(np.abs(spread_out(generator, 3)), 1.0)
    return Enclosure.affine(ExactMatrix.from_fractions(exact), reach), exact


def plus_constant(row: list[Fraction], constant: float, kind: str) -> list[Fraction]:
    """A row of values at points, or of a function's coefficients of which the last is the constant."""
    own = Fraction(constant)
    return [v + own for v in row] if kind == "values" else [*row[:-1], row[-1] + own]


@pytest.mark.parametrize("kind", ["values", "affine"])
@pytest.mark.parametrize("seed", range(20))
def test_sums_differences_and_multiples_are_within_their_error(kind: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    form, exact = made(generator, kind)
    assert_within(form, exact)
    other = form[np.arange(ROWS)[::-1]]
    both = [[a + b for a, b in zip(*pair, strict=True)] for pair in zip(exact, exact[::-1], strict=True)]
    assert_within(form + other, both)
    slopes, offsets = spread_out(generator, 2, ROWS)
    assert_within(
        form.scaled(slopes, offsets),
        [
            plus_constant([Fraction(slope) * v for v in row], offset, kind)
            for row, slope, offset in zip(exact, slopes.tolist(), offsets.tolist(), strict=True)
        ],
    )


@pytest.mark.parametrize("kind", ["values", "affine"])
@pytest.mark.parametrize("seed", range(20))
def test_differences_from_thresholds_are_within_their_error(kind: str, seed: int) -> None:
    """Also where a threshold is much larger than the number that is compared with it."""
    generator = np.random.default_rng(seed)
    form, exact = made(generator, kind)
    plus, minus = generator.integers(0, ROWS, 40), generator.integers(-1, ROWS, 40)
    thresholds = spread_out(generator, 40) * (generator.random(40) < 0.7)
    expected = []
    for first, second, threshold in zip(plus.tolist(), minus.tolist(), thresholds.tolist(), strict=True):
        row = exact[first] if second < 0 else [a - b for a, b in zip(exact[first], exact[second], strict=True)]
        expected.append(plus_constant(row, -threshold, kind))
    assert_within(form.differences(plus, minus, thresholds), expected)


def test_what_rounds_nothing_has_no_error_and_what_overflows_is_unknown() -> None:
    form = Enclosure.values(np.array([[1.5, 1e308]]))
    negated = form.scaled(np.array([-1.0]), np.array([0.0]))
    assert negated.rows.tolist() == [[-1.5, -1e308]]
    assert negated.error.max() < 1e-290  # what bounds add for underflow
    with np.errstate(over="ignore"):
        assert np.isinf(form.scaled(np.array([4.0]), np.array([0.0])).error).tolist() == [[False, True]]
