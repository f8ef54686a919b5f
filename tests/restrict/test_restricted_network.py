"""Restricted stages: their pieces read as the network's, and back, and stored patterns read as both."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.restrict import SwitchingChoices, restrict
from support.random_networks import dense_network, small_box

PATTERN = np.array([1, 0, 2, 1, 0, 3], dtype=np.uint8)
SWITCHING = SwitchingChoices(np.array([1, 4]), PATTERN)
STORED = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint8)


@pytest.mark.parametrize("seed", range(10))
def test_pieces_there_and_back_are_the_same(seed: int) -> None:
    generator = np.random.default_rng(seed)
    network = dense_network(generator, 3)
    restricted = restrict(network, small_box(generator, 3).frame)
    for stage in restricted.stages:
        activation = network.stages[stage.stage].activation
        own = np.stack([generator.integers(0, count, size=5) for count in stage.activation.piece_counts])
        there = stage.in_network(own)
        assert (there < activation.piece_counts[stage.choices][:, None]).all()
        assert np.array_equal(stage.from_network(there), own)
        assert np.array_equal(stage.from_network(there[:, 0]), own[:, 0])
        assert np.array_equal(stage.choice_numbers - network.choice_offsets[stage.stage], stage.choices)


@pytest.mark.parametrize("seed", range(5))
def test_patterns_of_the_restricted_network_read_in_the_network(seed: int) -> None:
    generator = np.random.default_rng(100 + seed)
    network = dense_network(generator, 2)
    restricted = restrict(network, small_box(generator, 2).frame)
    counts = [count for stage in restricted.stages for count in stage.activation.piece_counts.tolist()]
    own = generator.integers(0, counts, size=(7, len(counts)))
    whole = restricted.switching.whole(restricted.pieces(own))
    assert whole.shape == (7, network.choice_offsets[-1])
    for stage in restricted.stages:
        first = int(np.searchsorted(restricted.switching.choices, stage.choice_numbers[0]))
        assert np.array_equal(
            stage.from_network(whole[:, stage.choice_numbers].T), own[:, first : first + len(stage.choices)].T
        )


def test_stored_patterns_tell_the_pieces_of_any_choices() -> None:
    switching = SwitchingChoices(np.array([1, 4]), np.array([9, 0, 8, 7, 0, 6], dtype=np.uint8))
    stored = np.array([[1, 2], [3, 4]], dtype=np.uint8)
    assert switching.whole(stored).tolist() == [[9, 1, 8, 7, 2, 6], [9, 3, 8, 7, 4, 6]]
    assert switching.pieces(stored, np.array([0, 1, 5, 4])).tolist() == [[9, 1, 6, 2], [9, 3, 6, 4]]
    columns, are_stored = switching.columns(np.array([0, 1, 4, 5]))
    assert are_stored.tolist() == [False, True, True, False]
    assert columns[are_stored].tolist() == [0, 1]
    assert SwitchingChoices.of_all(2).pieces(stored, np.array([1])).tolist() == [[2], [4]]
    more = switching.with_one_more(np.dtype(np.uint16))
    assert more.choices.tolist() == [1, 4, 6]
    assert more.pattern.tolist() == [9, 0, 8, 7, 0, 6, 0]
    assert more.pattern.dtype == np.uint16


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


def test_a_break_depends_on_the_choices_of_its_own_block_before_it() -> None:
    """Two networks side by side, three stages of two units each: units 0 and 2 of a stage are one's, 1 and 3 the
    other's."""
    generator = np.random.default_rng(4)  # all units switch
    own = np.equal.outer(np.arange(4) % 2, np.arange(4) % 2)
    first = generator.normal(size=(4, 2)) * own[:, :2]
    later = [(generator.normal(size=(4, 4)) * own, generator.normal(size=4)) for _ in range(2)]
    network = al.network([(first, generator.normal(size=4)), *later, (np.ones((1, 4)), np.zeros(1))])
    restricted = restrict(network, al.Box(-5, 5, dim=2).frame)
    assert restricted.switching.choices.tolist() == list(range(12))
    for stage in range(3):
        for unit in range(4):
            expected = [choice for choice in range(4 * stage) if choice % 2 == unit % 2]
            assert sorted(restricted.dependencies(stage, unit).tolist()) == expected
