"""Patterns come back from their bits, however many pieces a choice has."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.regions.store.pattern_bits import bits_for, bytes_for, packed, unpacked


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("choices", [0, 1, 7, 8, 9, 65])
@pytest.mark.parametrize("bits", [1, 2, 3, 8, 9])
def test_there_and_back(bits: int, choices: int, kind: type) -> None:
    generator = np.random.default_rng([bits, choices])
    patterns = generator.integers(0, min(2**bits, np.iinfo(kind).max + 1), size=(5, choices)).astype(kind)
    rows = packed(patterns, bits)
    assert rows.shape == (5, bytes_for(choices, bits))
    back = unpacked(rows, choices, bits, np.dtype(kind))
    assert back.dtype == patterns.dtype
    np.testing.assert_array_equal(back, patterns)


def test_a_unit_with_two_pieces_takes_a_bit() -> None:
    assert bits_for(al.network([([[1.0]], [0.0]), ([[1.0]], [0.0])])) == 1
    assert bits_for(al.network([([[1.0]], [0.0])])) == 1


def test_a_choice_among_several_pieces_is_saved_and_loaded(tmp_path: object) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Hardtanh(), torch.nn.Linear(4, 2))
    torch.manual_seed(0)
    torch.nn.init.normal_(model[0].weight)
    rs = al.enumerate(al.network(model, input_shape=(2,)), al.Box(-1, 1, dim=2))
    assert bits_for(rs.network) == 2
    assert rs.patterns.max() == 2
    np.testing.assert_array_equal(al.load(rs.save(f"{tmp_path}/run")).patterns, rs.patterns)
