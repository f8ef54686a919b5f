"""Lanes of eight numbers, in compiled kernels and in Python, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from affinelens.kernels import lanes
from affinelens.kernels.compilation import entry, unreordered

COUNT = lanes.LANES


@entry
def combine(left: Any, right: Any, number: float, out: Any) -> Any:
    a, b = lanes.load(left, 3), lanes.load(right, COUNT)
    lanes.store(out, 0, a + b)
    lanes.store(out, COUNT, a - b)
    lanes.store(out, 2 * COUNT, a * b)
    lanes.store(out, 3 * COUNT, a / b)
    lanes.store(out, 4 * COUNT, abs(number - a) * number)
    lanes.store(out, 5 * COUNT, lanes.chosen(lanes.above(a, b), a, lanes.splat(number)))
    return lanes.above(a, b), lanes.total(a), lanes.largest(a)


@entry
def bits(word: Any, words: Any, least: int, places: Any, signs: Any) -> int:
    mask = lanes.sharing(word, words, 1, least)
    lanes.store_places(places, 2, lanes.PLACES[mask], 100)
    lanes.store_bytes(signs, 3, lanes.spread(mask) * np.uint64(255))
    return mask


@unreordered
def there_and_back(y: Any, far: Any) -> Any:
    return (y + far) - far


@entry
def travel(y: Any, far: Any, out: Any) -> None:
    lanes.store(out, 0, there_and_back(lanes.load(y, 0) * 3.0, lanes.load(far, 0)))


def everywhere(entry: Any) -> pytest.MarkDecorator:
    """As compiled, and as Python has the same operations."""
    return pytest.mark.parametrize("call", [entry, entry.py_func], ids=["compiled", "python"])


@everywhere(combine)
@pytest.mark.parametrize("seed", range(3))
def test_arithmetic(call: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right, out = rng.normal(size=20), rng.normal(size=(3, COUNT)), np.zeros((6, COUNT))
    a, b = left[3 : 3 + COUNT], right[1]
    mask, total, largest = call(left, right, 0.75, out)
    expected = [a + b, a - b, a * b, a / b, abs(0.75 - a) * 0.75, np.where(a > b, a, 0.75)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    assert mask == sum(1 << i for i in range(COUNT) if a[i] > b[i])
    assert total == pytest.approx(a.sum(), rel=1e-14)
    assert largest == a.max()


@everywhere(combine)
def test_nothing_is_above_or_below_what_is_not_a_number(call: Any) -> None:
    left, right = np.full(20, np.nan), np.ones((3, COUNT))
    assert call(left, right, 0.0, np.zeros((6, COUNT)))[0] == 0
    left[:], right[:] = 1.0, np.nan
    assert call(left, right, 0.0, np.zeros((6, COUNT)))[0] == 0
    right[:] = np.inf
    assert call(left, right, 0.0, np.zeros((6, COUNT)))[0] == 0


@everywhere(bits)
@pytest.mark.parametrize("least", range(5))
def test_bit_sets(call: Any, least: int) -> None:
    rng = np.random.default_rng(least)
    word, words = np.uint64(0b1011001), rng.integers(0, 128, 20).astype(np.uint64)
    places, signs = np.zeros(16, np.uint32), np.zeros(16, np.int8)
    mask = call(word, words, least, places, signs)
    chosen = [i for i in range(COUNT) if int(words[1 + i] & word).bit_count() >= least]
    assert mask == sum(1 << i for i in chosen)
    assert places[2 : 2 + len(chosen)].tolist() == [100 + i for i in chosen]
    assert signs.tolist() == [-1 if i - 3 in chosen else 0 for i in range(16)]


@everywhere(travel)
def test_operations_that_must_not_be_reordered_are_not(call: Any) -> None:
    out = np.zeros(COUNT)
    call(np.full(COUNT, 0.1), np.full(COUNT, 2.0**53), out)
    assert out.tolist() == [0.0] * COUNT
