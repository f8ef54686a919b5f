"""A row group is ruled out for a pattern only if it does not hold it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from affinelens.regions.store.constant_bits import ConstantBits


def group(rows: np.ndarray) -> pa.Table:
    kind = pa.binary(rows.shape[1])
    return pa.table({"pattern_bits": pa.array([row.tobytes() for row in rows], type=kind)})


@pytest.mark.parametrize("width", [5, 8, 9, 16])
def test_rows_of_a_group_may_be_in_it_and_few_others(width: int) -> None:
    generator = np.random.default_rng(width)
    base = generator.integers(0, 256, width, dtype=np.uint8)
    rows = np.tile(base, (50, 1))
    rows[:, 4] = generator.integers(0, 256, 50)
    known = ConstantBits.of(group(rows))
    assert known.may_hold(rows).all()
    bits = np.arange(8 * width)
    others = np.tile(base, (len(bits), 1))
    others[bits, bits // 8] ^= (1 << bits % 8).astype(np.uint8)
    assert np.array_equal(~known.may_hold(others), bits // 8 != 4)


def test_they_go_through_a_files_metadata_and_damage_of_it_is_noticed() -> None:
    generator = np.random.default_rng(0)
    groups = [ConstantBits.of(group(generator.integers(0, 256, (3, 5), dtype=np.uint8))) for _ in range(4)]
    metadata = ConstantBits.to_metadata(groups)
    found = ConstantBits.from_metadata(metadata, 4, 5)
    assert found is not None
    for mine, other in zip(found, groups, strict=True):
        assert mine.always.tolist() == other.always.tolist()
        assert mine.ever.tolist() == other.ever.tolist()
    assert ConstantBits.from_metadata(metadata, 3, 5) is None
    assert ConstantBits.from_metadata(metadata, 4, 6) is None
    assert ConstantBits.from_metadata(None, 4, 5) is None
    assert ConstantBits.from_metadata({}, 4, 5) is None
    ((name, value),) = metadata.items()
    for place in range(len(value)):
        changed = value[:place] + (b"A" if value[place : place + 1] != b"A" else b"B") + value[place + 1 :]
        assert ConstantBits.from_metadata({name: changed}, 4, 5) is None
