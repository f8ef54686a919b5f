"""Bits of machine words in kernels are those that Python counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from affinelens.kernels.bits import count_bits, lowest_bit
from affinelens.kernels.compilation import entry


@entry
def counted(word: Any) -> int:
    return count_bits(word)


@entry
def lowest(word: Any) -> int:
    return lowest_bit(word)


WORDS = [1, 2, 3, 2**63, 2**64 - 1, 2**40 + 2**17, *(int(w) for w in np.random.default_rng(0).integers(1, 2**62, 20))]


@pytest.mark.parametrize("word", WORDS)
def test_bits_are_counted_and_the_lowest_is_found(word: int) -> None:
    assert counted(np.uint64(word)) == count_bits(word) == word.bit_count()
    assert lowest(np.uint64(word)) == lowest_bit(word)
    assert word >> lowest(np.uint64(word)) & 1
    assert word & ((1 << lowest(np.uint64(word))) - 1) == 0


def test_no_bit_is_none() -> None:
    assert counted(np.uint64(0)) == 0
