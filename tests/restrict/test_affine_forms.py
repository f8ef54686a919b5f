"""Sums in extended precision against exact ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from affinelens.arithmetic import ExactMatrix
from affinelens.deadline import Deadline, TimeIsUp
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import Dense, LinearMap, Scale, Sparse
from affinelens.restrict import affine_forms
from affinelens.restrict.affine_forms import Form, applied
from support.extended_precision import as_fraction


def _maps(generator: np.random.Generator) -> dict[str, LinearMap]:
    spread = np.exp(3 * generator.normal(size=(12, 40)))
    kernel = generator.normal(size=(1, 3, 4, 3, 3))
    starts = np.arange(0, 61, 5)
    return {
        "dense": Dense(generator.normal(size=(12, 40)) * spread),
        "wide": Dense(generator.normal(size=(3, 700))),
        "sparse": Sparse(starts, generator.integers(0, 20, size=60), generator.normal(size=60), 20),
        "convolution": Convolution(kernel, (5, 5), (5, 5), (1, 1), (1, 1), (1, 1)),
        "scale": Scale(generator.normal(size=20), 3),
        "zero": Dense(np.zeros((3, 4))),
    }


@pytest.mark.parametrize("name", _maps(np.random.default_rng(0)))
@pytest.mark.parametrize("seed", range(3))
def test_extended_sums_are_within_their_bound(name: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    linear = _maps(generator)[name]
    high = generator.normal(size=(linear.size_in, 3)) * np.exp(5 * generator.normal(size=(linear.size_in, 1)))
    low = high * 2.0**-54 * generator.normal(size=high.shape)
    main = high.astype(np.longdouble) + low
    found, error = applied(linear, main)
    columns = [(main.astype(np.float64)), (main - main.astype(np.float64)).astype(np.float64)]
    exact = sum((linear.apply_exact(ExactMatrix.from_floats(part)) for part in columns[1:]), linear.apply_exact(
        ExactMatrix.from_floats(columns[0])
    )).to_fractions()  # fmt: skip
    for row, values, bound in zip(exact, found, error, strict=True):
        off = [abs(value - as_fraction(computed)) for value, computed in zip(row, values, strict=True)]
        assert max(off) <= Fraction(bound)


@pytest.mark.parametrize("name", ["convolution", "wide"])
def test_extended_sums_are_more_accurate_than_float64(name: str) -> None:
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        pytest.skip("this platform has no extended precision")
    linear = _maps(np.random.default_rng(1))[name]
    main = np.random.default_rng(2).normal(size=(linear.size_in, 2)).astype(np.longdouble)
    _, error = applied(linear, main)
    assert error.max() < 1e-17 * np.abs(linear.apply_absolute(np.abs(main).astype(np.float64))).max() * 100


def test_a_chart_that_float64_cannot_hold_has_an_error() -> None:
    third = Form.of_chart(ExactMatrix.from_fractions([[Fraction(1, 3), Fraction(0)], [Fraction(1, 2), Fraction(1)]]))
    off = abs(as_fraction(third.main[0, 0]) - Fraction(1, 3))
    assert 0 < off <= Fraction(third.error[0])
    assert third.error[1] == 0.0


class _Looks(Deadline):
    """A deadline that comes at the third look."""

    def check(self) -> None:
        _LOOKS.append(None)
        if len(_LOOKS) == 3:
            raise TimeIsUp


_LOOKS: list[None] = []


def test_a_large_product_is_taken_in_parts_between_looks_at_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    linear = Dense(generator.integers(-9, 9, (5, 4)).astype(np.float64))
    symbols = generator.integers(-9, 9, (4, 11)).astype(np.float64)
    form = Form(np.ones((4, 3), np.longdouble), symbols, np.zeros(4))
    whole = form.through(linear)
    monkeypatch.setattr(affine_forms, "_PRODUCTS_AT_ONCE", 3 * 5 * 4)
    in_parts = form.through(linear)
    np.testing.assert_array_equal(in_parts.symbols, whole.symbols)
    np.testing.assert_array_equal(in_parts.error, whole.error)
    _LOOKS.clear()
    with pytest.raises(TimeIsUp):
        form.through(linear, _Looks())
