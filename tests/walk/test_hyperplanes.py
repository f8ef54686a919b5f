"""Hyperplane numbers: put together, taken apart, and the functions behind them."""

from __future__ import annotations

import numpy as np

import affinelens as al
from affinelens.network.adjoint import Adjoint
from affinelens.network.enclosure import Enclosure
from affinelens.restrict import restrict
from affinelens.walk import Hyperplanes
from support.random_networks import random_layers


def _hyperplanes() -> Hyperplanes:
    network = al.network(random_layers([2, 5, 4, 1], 3))
    return Hyperplanes(network, al.Box(-1, 1, dim=2).frame)


def test_rows_of_the_domain_come_first_then_the_stages() -> None:
    hyperplanes = _hyperplanes()
    numbers = np.arange(len(hyperplanes))
    assert len(hyperplanes) == 4 + 5 + 4
    assert hyperplanes.stages(numbers).tolist() == [-1] * 4 + [0] * 5 + [1] * 4
    assert hyperplanes.of_domain(numbers).tolist() == [True] * 4 + [False] * 9
    assert hyperplanes.of_stage(1).tolist() == [9, 10, 11, 12]
    assert hyperplanes.of_breaks(hyperplanes.breaks(numbers)).tolist() == numbers.tolist()
    assert [hyperplanes.located(number) for number in (4, 8, 9, 12)] == [(0, 0), (0, 4), (1, 0), (1, 3)]


def test_those_of_a_restricted_network_are_some_of_them_in_its_own_order() -> None:
    hyperplanes = _hyperplanes()
    restricted = restrict(hyperplanes.network, hyperplanes.frame)
    numbers = hyperplanes.of_restricted(restricted)
    assert numbers[:4].tolist() == [0, 1, 2, 3]
    assert hyperplanes.breaks(numbers[4:]).tolist() == restricted.breaks.tolist()
    assert 0 < len(restricted.breaks) <= 9


def test_breaks_by_stage_keep_their_places() -> None:
    hyperplanes = _hyperplanes()
    numbers = np.array([10, 2, 4, 12, 8])
    found = [(stage, places.tolist(), inner.tolist()) for stage, places, inner in hyperplanes.by_stage(numbers)]
    assert found == [(0, [2, 4], [0, 4]), (1, [0, 3], [1, 3])]
    assert [stage for stage, _, _ in hyperplanes.by_stage(numbers, 1)] == [0]


def test_float_and_exact_rows_agree_up_to_a_positive_factor() -> None:
    hyperplanes = _hyperplanes()
    network, frame = hyperplanes.network, hyperplanes.frame
    pattern = np.random.default_rng(5).integers(0, 2, network.choice_offsets[-1])
    numbers = np.array([0, 3, 5, 9, 12])
    signs = np.array([1, 1, -1, 1, -1], dtype=np.int8)
    reach = np.ones(3)
    rows = hyperplanes.rows(numbers, signs, network.forms(Enclosure.affine(frame.chart, reach), pattern))
    adjoint = Adjoint(network, frame.chart)
    exact = hyperplanes.exact_rows(numbers, signs, pattern, adjoint).to_floats()
    for about, truth in zip(rows, exact, strict=True):
        assert np.allclose(about / np.linalg.norm(about), truth / np.linalg.norm(truth), atol=1e-12)
    alone = np.array([int(n) for n in hyperplanes.exact_row(9, pattern, adjoint)], dtype=np.float64)
    assert np.allclose(alone / np.linalg.norm(alone), rows[3] / np.linalg.norm(rows[3]), atol=1e-12)
