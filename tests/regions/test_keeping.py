"""What a function found of a set stays with that set, and with no other."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import affinelens as al
from affinelens.regions.keeping import kept, known
from affinelens.regions.regions import Regions
from support.random_networks import random_layers

LAYERS = [([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])]


@pytest.fixture
def sets() -> list[al.RegionSet]:
    return [al.enumerate(LAYERS, al.Box(-1, 1, dim=1)), al.enumerate(LAYERS, al.Box(0.75, 1, dim=1))]


def test_each_set_and_each_argument_is_computed_once(sets: list[al.RegionSet]) -> None:
    asked: list[tuple[int, int]] = []

    @kept
    def multiple(regions: Regions, factor: int = 1) -> int:
        asked.append((len(regions), factor))
        return factor * len(regions)

    first, second = sets
    assert known(multiple, first, 2) is None
    for _ in range(2):
        assert [multiple(first, 2), multiple(first, 3), multiple(second, 2)] == [6, 9, 2]
    assert asked == [(3, 2), (3, 3), (1, 2)]
    assert known(multiple, first, 2) == 6
    assert known(multiple, second, 3) is None


def test_two_functions_do_not_share_results(sets: list[al.RegionSet]) -> None:
    @kept
    def one(regions: Regions) -> str:
        return "one"

    @kept
    def other(regions: Regions) -> str:
        return "other"

    assert [one(sets[0]), other(sets[0]), one(sets[0])] == ["one", "other", "one"]


def test_the_order_of_named_arguments_does_not_matter(sets: list[al.RegionSet]) -> None:
    asked = []

    @kept
    def named(regions: Regions, *, a: int, b: int) -> int:
        asked.append((a, b))
        return a - b

    assert [named(sets[0], a=1, b=2), named(sets[0], b=2, a=1), named(sets[0], a=2, b=1)] == [-1, -1, 1]
    assert asked == [(1, 2), (2, 1)]


def test_what_failed_is_tried_again(sets: list[al.RegionSet]) -> None:
    answers = iter([ValueError("not yet"), 7])

    @kept
    def late(regions: Regions) -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="not yet"):
        late(sets[0])
    assert known(late, sets[0]) is None
    assert [late(sets[0]), late(sets[0])] == [7, 7]


@pytest.mark.parametrize("copied", [lambda rs: pickle.loads(pickle.dumps(rs)), copy.deepcopy, copy.copy])
def test_a_set_travels_whatever_was_asked_of_it_before(copied: Callable[[al.RegionSet], al.RegionSet]) -> None:
    rs = al.enumerate(random_layers([2, 6, 4, 2], seed=0), al.Box(-1, 1, dim=2))
    asked = (rs.metrics(), rs.neighbor_values, rs.decision_boundary(), rs.linear_regions(), rs.locate([0.0, 0.0]))
    assert rs[0].neighbors
    rs.plot()
    found = copied(rs)
    np.testing.assert_array_equal(found.points, rs.points)
    np.testing.assert_array_equal(found.neighbor_values, asked[1])
    assert found.metrics() == asked[0]
    boundary = copied(rs.decision_boundary())  # results travel as well
    assert boundary.measure == asked[2].measure
    region = copied(rs[3])
    assert region.volume == pytest.approx(rs[3].volume)
