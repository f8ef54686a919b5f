"""Regions that a walk is confined to, read in the numbers of the network that is walked."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.restrict import RestrictedNetwork, restrict
from affinelens.walk.selection import Selected, Selection
from support.random_networks import dense_network, small_box
from support.walks import walk_by


def in_network(restricted: RestrictedNetwork, selected: Selected) -> set[tuple[int, ...]]:
    """The selected patterns over all of the network's choices."""
    assert selected.stages == len(restricted.stages)
    found = set(map(tuple, restricted.switching.whole(restricted.pieces(selected.patterns)).tolist()))
    assert len(found) == len(selected.patterns)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_of_all_regions_those_remain_that_may_lie_in_a_part_of_the_domain(seed: int) -> None:
    generator = np.random.default_rng(seed)
    network, domain = dense_network(generator, 2), small_box(generator, 2)
    part = al.Box(domain.lower, domain.lower + (domain.upper - domain.lower) / 4)
    everywhere, restricted = walk_by("vertex", network, domain.frame), restrict(network, part.frame)
    selected = in_network(restricted, Selection(everywhere, len(network.stages)).read_by(restricted))
    every_pattern = set(map(tuple, everywhere.patterns.tolist()))
    assert set(map(tuple, walk_by("vertex", network, part.frame).patterns.tolist())) <= selected <= every_pattern
    possible = {
        pattern
        for pattern in every_pattern
        if np.array_equal(np.delete(pattern, restricted.switching.choices),
                          np.delete(restricted.switching.pattern, restricted.switching.choices))
    }  # fmt: skip
    assert selected <= possible


@pytest.mark.parametrize("seed", range(6))
def test_stored_and_whole_patterns_select_the_same(seed: int) -> None:
    """Whether the regions were found by a walk of the whole network or of the part that switches."""
    generator = np.random.default_rng(seed)
    network, domain = dense_network(generator, 2), small_box(generator, 2)
    restricted = restrict(network, domain.frame)
    outcomes = [walk_by("vertex", network, domain.frame, part) for part in (None, restricted)]
    for reader in (None, restricted):
        whole, stored = (Selection(outcome, len(network.stages)).read_by(reader) for outcome in outcomes)
        assert whole.stages == stored.stages
        assert set(map(tuple, whole.patterns.tolist())) == set(map(tuple, stored.patterns.tolist()))
        assert len(whole.patterns) == len(stored.patterns) == outcomes[0].regions


def test_regions_elsewhere_are_none_of_those_here() -> None:
    """The unit that separates two parts of the domain switches in neither, and only its constant piece tells."""
    network = al.network([([[1.0], [1.0], [1.0]], [-0.2, -0.5, -0.8]), ([[1.0, 1.0, 1.0]], [0.0])])
    left, right = al.Box(0, 0.4, dim=1), al.Box(0.6, 1, dim=1)
    found = walk_by("vertex", network, left.frame, restrict(network, left.frame))
    assert found.regions == 2
    assert len(Selection(found, 1).read_by(restrict(network, right.frame)).patterns) == 0
    assert len(Selection(found, 1).read_by(restrict(network, left.frame)).patterns) == 2
