"""Every pattern is found where it is, and none that is not there."""

from __future__ import annotations

import numpy as np
import pytest

from affinelens.regions.pattern_index import PatternIndex


@pytest.mark.parametrize(("kind", "pieces"), [(np.uint8, 3), (np.uint16, 300)])
@pytest.mark.parametrize("columns", [1, 4, 40])
def test_patterns_are_found_by_themselves_and_by_one_change(kind: type, pieces: int, columns: int) -> None:
    generator = np.random.default_rng(columns)
    patterns = np.unique(generator.integers(0, pieces, (500, columns)), axis=0).astype(kind)
    table = PatternIndex(patterns, pieces)
    assert table.places(patterns).tolist() == list(range(len(patterns)))
    lookup = {row.tobytes(): i for i, row in enumerate(patterns)}
    rows = generator.integers(0, len(patterns), 2000)
    column, piece = generator.integers(0, columns, 2000), generator.integers(-1, pieces + 1, 2000)
    expected = []
    for r, c, p in zip(rows, column, piece, strict=True):
        changed = patterns[r].copy()
        changed[c] = p if 0 <= p < pieces else 0
        expected.append(lookup.get(changed.tobytes(), -1) if 0 <= p < pieces else -1)
    assert table.with_one_changed(rows, column, piece).tolist() == expected
    others = generator.integers(0, pieces, (500, columns)).astype(kind)
    assert table.places(others).tolist() == [lookup.get(row.tobytes(), -1) for row in others]


def test_of_equal_patterns_the_first_is_found() -> None:
    patterns = np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8)
    assert PatternIndex(patterns, 2).places(patterns).tolist() == [0, 1, 0]


def test_patterns_without_choices_or_none_at_all() -> None:
    nothing = np.zeros((1, 0), dtype=np.uint8)
    assert PatternIndex(nothing, 1).places(nothing).tolist() == [0]
    empty = np.zeros((0, 3), dtype=np.uint8)
    assert PatternIndex(empty, 2).places(np.zeros((2, 3), dtype=np.uint8)).tolist() == [-1, -1]
