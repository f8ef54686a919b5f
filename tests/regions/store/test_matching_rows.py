"""Wanted rows are found where they are, the first of equal ones, and nothing else is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from affinelens.regions.store.matching_rows import WantedRows


@pytest.mark.parametrize("width", [1, 7, 8, 13, 16])
def test_rows_are_found_in_one_table_or_in_several(width: int) -> None:
    generator = np.random.default_rng(width)
    rows = generator.integers(0, 3, (400, width), dtype=np.uint8)
    wanted = np.unique(np.concatenate([rows[::7], generator.integers(0, 4, (60, width), dtype=np.uint8)]), axis=0)
    where: dict[bytes, int] = {}
    for i, row in enumerate(rows):
        where.setdefault(row.tobytes(), i)
    expected = [where.get(row.tobytes(), -1) for row in wanted]
    for tables in ([0, 400], [0, 1, 150, 150, 400]):
        looked_for, found = WantedRows(wanted), np.full(len(wanted), -1)
        spans = list(pairwise(tables))
        for start, stop in reversed(spans):
            looked_for.find(rows[start:stop], start, found)
        assert found.tolist() == expected


def test_rows_that_are_equal_in_all_but_a_bit_are_told_apart() -> None:
    rows = np.zeros((128, 16), dtype=np.uint8)
    rows[np.arange(128), np.arange(128) // 8] = 1 << np.arange(128) % 8
    found = np.full(128, -1)
    WantedRows(rows).find(rows[::-1], 1000, found)
    assert found.tolist() == [1127 - k for k in range(128)]
