"""Breaks that are the same hyperplane follow the first of them; almost the same is not the same."""

from __future__ import annotations

import numpy as np

import affinelens as al
from affinelens.engine.vertex.layout.duplicates import duplicates
from support.brute_force import Layer
from support.networks import HARD_TANH, compiled
from support.random_networks import random_layers


def test_multiples_follow_the_first_with_their_sign() -> None:
    weight = [[1.0, 3.0], [0.5, 1.5], [2.0, 1.0], [-3.0, -9.0], [1.0, 3.0], [0.0, 0.0], [1.0, 3.0]]
    bias = [0.25, 0.125, 0.25, -0.75, 0.25 + 2.0**-50, 0.0, 0.5]
    leader, orientation = duplicates(al.network([(weight, bias), (np.ones((1, 7)), [0.0])]))
    assert leader.tolist() == [0, 0, 2, 0, 4, 5, 6]
    assert orientation.tolist() == [1, 1, 1, -1, 1, 0, 1]


def test_a_third_is_not_its_rounding() -> None:
    """3 (x - 1/3) in float64: proportional up to rounding, but not the same point."""
    leader, orientation = duplicates(al.network([([[3.0], [1.0]], [-1.0, -1 / 3]), ([[1.0, 1.0]], [0.0])]))
    assert leader.tolist() == [0, 1]
    assert orientation.tolist() == [1, 1]


def test_both_breaks_of_a_unit_can_be_another_s() -> None:
    """The second unit is the first, turned round: its upper break is the other's lower one."""
    network = compiled([Layer([[1.0], [-1.0]], [0.0, 0.0], [HARD_TANH, HARD_TANH])])
    leader, orientation = duplicates(network)
    assert leader.tolist() == [0, 1, 1, 0]
    assert orientation.tolist() == [1, 1, -1, -1]


def test_stages_do_not_share_breaks_and_generic_networks_have_none_in_common() -> None:
    network = al.network([([[1.0]], [0.0]), ([[1.0]], [0.0]), ([[1.0]], [0.0])])
    assert duplicates(network)[0].tolist() == [0, 1]
    leader, orientation = duplicates(al.network(random_layers([3, 12, 9, 1], seed=0)))
    assert leader.tolist() == list(range(21))
    assert orientation.tolist() == [1] * 21
