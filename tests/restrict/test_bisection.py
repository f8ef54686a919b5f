"""Smaller boxes have tighter bounds, and what holds on all of them holds on the domain."""

from __future__ import annotations

import numpy as np

import affinelens as al
from affinelens.network.activation import OPEN
from affinelens.restrict.bisection import bound_by_bisection, count_open, merged
from affinelens.restrict.break_signs import StageBounds, bound_stages
from affinelens.restrict.enclosing_box import EnclosingBox
from support.random_networks import random_layers


def _bounds(network: al.Network, lower: list[float], upper: list[float]) -> list[StageBounds]:
    frame = al.Box(lower, upper).frame
    found = bound_stages(network, frame.chart, EnclosingBox(frame.lower, frame.upper))
    assert found is not None
    return found


def test_parts_leave_fewer_breaks_open_and_merge_to_what_holds_on_all() -> None:
    network = al.network(random_layers([2, 20, 20, 20, 1], seed=11, bias=1))
    whole = _bounds(network, [0, 0], [1, 1])
    left, right = _bounds(network, [0, 0], [0.5, 1]), _bounds(network, [0.5, 0], [1, 1])
    together = merged([left, right])
    assert count_open(together) <= count_open(whole)
    for stage, first, second in zip(together, left, right, strict=True):
        closed = stage.signs != OPEN
        assert np.array_equal(first.signs[closed], second.signs[closed])
        assert np.array_equal(stage.pre_activation, np.maximum(first.pre_activation, second.pre_activation))


def test_loose_bounds_are_given_up_and_the_domain_is_cut() -> None:
    network = al.network(random_layers([2, 400, 400, 400, 400, 1], seed=3, bias=1))
    frame = al.Box(-1, 1, dim=2).frame
    box = EnclosingBox(frame.lower, frame.upper)
    whole = bound_stages(network, frame.chart, box)
    assert whole is not None
    assert bound_stages(network, frame.chart, box, finish=False) is None
    cut = bound_by_bisection(network, frame.chart, box)
    assert count_open(cut) < count_open(whole)
    assert count_open(bound_by_bisection(network, frame.chart, box, most=1)) == count_open(whole)


def test_a_sign_that_differs_between_boxes_is_open() -> None:
    positive, negative = (StageBounds(np.array([1, s], dtype=np.int8), np.ones(2), np.ones(2)) for s in (1, -1))
    (both,) = merged([[positive], [negative]])
    assert both.signs.tolist() == [1, OPEN]
