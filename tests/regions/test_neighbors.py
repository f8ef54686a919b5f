"""Beyond every facet inside the domain lies a region, even where several units change there at once."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.network import MaxGroups
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.nonlinear import rectify
from support.random_networks import dense_network, pooled_network, small_box


def assert_neighbors_are_mutual(rs: al.RegionSet) -> int:
    """Returns how many facets there are between two regions."""
    between = 0
    domain_rows = rs.domain.frame.rows.shape[0]
    for region in rs:
        numbers, beyond = region.facet_numbers.tolist(), region.neighbors
        for number, other in zip(numbers, beyond, strict=True):
            assert (other is not None) == (number >= domain_rows)
            if other is not None:
                assert other != region.index
                assert region.index in rs[other].neighbors
                between += 1
    assert rs.neighbor_values.tolist() == [-1 if n is None else n for r in rs for n in r.neighbors]
    return between


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bias", [True, False])
def test_pooling_with_ties(seed: int, bias: bool) -> None:
    generator = np.random.default_rng(seed)
    image = np.where(generator.random((1, 6, 6)) < 0.6, 0.0, generator.random((1, 6, 6)))
    rs = al.enumerate(pooled_network(generator, bias=bias), al.Slice.axes(image, [(0, 2, 2), (0, 2, 4)], 0.0, 1.0))
    assert assert_neighbors_are_mutual(rs) > 0
    assert rs.locate(rs.local.points).tolist() == list(range(len(rs)))


@pytest.mark.parametrize("seed", range(10))
def test_dense_networks_of_all_kinds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rs = al.enumerate(dense_network(generator, 2), small_box(generator, 2))
    assert_neighbors_are_mutual(rs)
    assert rs.locate(rs.points).tolist() == list(range(len(rs)))
    for region in rs:
        for found, expected in zip(region.affine, rs.network.effective(region.pattern), strict=True):
            assert np.array_equal(found, expected)


def test_a_winner_beyond_need_not_be_second_on_this_side() -> None:
    """On the left 0 wins and x is last; x wins on the right, where a ReLU switches too."""
    builder = GraphBuilder((1,))
    x = builder.input()
    candidates = builder.add_constant(builder.matmul_right(x, np.array([[1.0, 0.0, 0.0]])), np.array([0.0, -0.05, 0.0]))
    largest = builder.activate(candidates, MaxGroups(np.array([0, 3])), "max", (1,))
    both = builder.add(largest, rectify(builder, x, np.array(0.0), "relu"))
    rs = al.enumerate(builder.finish(both), al.Box(-1, 1, dim=1))
    assert len(rs) == 2
    assert assert_neighbors_are_mutual(rs) == 2
