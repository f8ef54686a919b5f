"""Stored patterns read in the network: choices that never change are filled in."""

from __future__ import annotations

import numpy as np

from affinelens.restrict import SwitchingChoices

PATTERN = np.array([1, 0, 2, 1, 0, 3], dtype=np.uint8)
SWITCHING = SwitchingChoices(np.array([1, 4]), PATTERN)
STORED = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8)


def test_a_whole_pattern_has_stored_pieces_where_there_are_any() -> None:
    whole = SWITCHING.whole(STORED)
    assert whole.tolist() == [[1, 0, 2, 1, 1, 3], [1, 1, 2, 1, 0, 3], [1, 1, 2, 1, 1, 3]]
    assert SWITCHING.whole(STORED[1]).tolist() == whole[1].tolist()
    assert PATTERN.tolist() == [1, 0, 2, 1, 0, 3]


def test_pieces_of_any_choices_are_those_of_the_whole_pattern() -> None:
    for choices in ([0, 1], [4], [5, 2, 4, 1], [], [3]):
        asked = np.array(choices, dtype=np.int64)
        assert np.array_equal(SWITCHING.pieces(STORED, asked), SWITCHING.whole(STORED)[:, asked])


def test_columns_say_which_choices_are_stored() -> None:
    columns, stored = SWITCHING.columns(np.arange(6))
    assert stored.tolist() == [False, True, False, False, True, False]
    assert columns[stored].tolist() == [0, 1]


def test_where_all_switch_nothing_is_filled_in() -> None:
    patterns = np.random.default_rng(0).integers(0, 3, (4, 6)).astype(np.uint8)
    assert np.array_equal(SwitchingChoices.of_all(6).whole(patterns), patterns)
