"""Regions with the same affine map that touch are one linear region; maps are compared exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.nonlinear import rectify
from affinelens.region_set import RegionSet
from support.brute_force import Layer
from support.networks import HARD_TANH, LEAKY, LINEAR, RELU, compiled
from support.random_networks import dense_network, random_layers, small_box

LINE = al.Box(-1, 1, dim=1)
SQUARE = al.Box(-1, 1, dim=2)


def exact_maps(rs: RegionSet) -> list[tuple[Fraction, ...]]:
    """Every region's map in rationals, by another way than the one that is tested."""
    chart = rs.domain.frame.chart
    return [
        tuple(v for row in rs.network.exact_forms(chart, rs.pattern(i))[-1].to_fractions() for v in row)
        for i in range(len(rs))
    ]


def flooded(rs: RegionSet, maps: list[tuple[Fraction, ...]]) -> list[set[int]]:
    """Linear regions by walking from neighbor to neighbor."""
    left, found = set(range(len(rs))), []
    while left:
        frontier = [left.pop()]
        part = set(frontier)
        while frontier:
            here = frontier.pop()
            for other in rs[here].neighbors:
                if other is not None and other in left and maps[other] == maps[here]:
                    left.remove(other)
                    part.add(other)
                    frontier.append(other)
        found.append(part)
    return found


def assert_as_flooded(rs: RegionSet) -> None:
    maps, found = exact_maps(rs), rs.linear_regions()
    assert found.distinct_maps == len(set(maps))
    assert len({(label, m) for label, m in zip(found.maps.tolist(), maps, strict=True)}) == found.distinct_maps
    expected = flooded(rs, maps)
    assert len(found) == len(expected)
    assert all(len(set(found.labels[list(part)].tolist())) == 1 for part in expected)
    assert found.sizes.sum() == len(rs)


@pytest.mark.parametrize("seed", range(8))
def test_networks_of_all_kinds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    assert_as_flooded(al.enumerate(dense_network(generator, 2), small_box(generator, 2)))


@pytest.mark.parametrize("seed", range(3))
def test_dead_outputs_make_large_linear_regions(seed: int) -> None:
    """The last stage is one ReLU, so wherever it is off the map is zero."""
    layers = random_layers([2, 8, 6, 1, 1], seed)
    rs = al.enumerate(layers, SQUARE)
    assert_as_flooded(rs)
    off = rs.patterns[:, -1] == 0
    assert len(set(rs.linear_regions().maps[off].tolist())) == int(off.any())


def test_units_that_cancel() -> None:
    """relu(z) - relu(-z) = z, and relu(2 z) - 2 relu(z) = 0: units break the domain, but not the function."""
    weight = np.array([[1.0, 0.5], [-1.0, -0.5], [2.0, 1.0]])
    whole = [(weight[:2], np.array([0.125, -0.125])), (np.array([[1.0, -1.0]]), np.zeros(1))]
    zero = [(weight[[0, 2]], np.array([0.125, 0.25])), (np.array([[2.0, -1.0]]), np.zeros(1))]
    for layers in (whole, zero):
        rs = al.enumerate(layers, SQUARE)
        assert len(rs) == 2
        assert len(rs.linear_regions()) == rs.linear_regions().distinct_maps == 1


def test_a_difference_below_rounding_is_a_difference() -> None:
    """The slope changes by 2**-60 of itself at zero, which float64 cannot hold."""
    weight = np.array([[1.0], [1.0], [-1.0]])
    layers = [(weight, np.array([4.0, 0.0, 0.0])), (np.array([[1.0, 2.0**-60, 0.0]]), np.zeros(1))]
    rs = al.enumerate(layers, LINE)
    assert len(rs) == 2
    assert rs.linear_regions().distinct_maps == 2
    same = [(weight, np.array([4.0, 0.0, 0.0])), (np.array([[1.0, 2.0**-60, -(2.0**-60)]]), np.zeros(1))]
    assert len(al.enumerate(same, LINE).linear_regions()) == 1


def test_the_same_map_on_two_sides_is_two_linear_regions() -> None:
    """A hat: zero, up, down, zero again."""
    layers = [(np.ones((3, 1)), np.array([0.5, 0.0, -0.5])), (np.array([[1.0, -2.0, 1.0]]), np.zeros(1))]
    rs = al.enumerate(layers, LINE)
    found = rs.linear_regions()
    assert (len(rs), len(found), found.distinct_maps) == (4, 4, 3)
    assert "4 of 4 regions, 3 affine maps" in repr(found)


def test_a_leaky_relu_of_slope_one_leaves_one() -> None:
    builder = GraphBuilder((2,))
    z = builder.matmul_right(builder.input(), np.random.default_rng(0).normal(size=(2, 6)))
    rs = al.enumerate(builder.finish(rectify(builder, z, np.array(1.0), "leaky")), SQUARE)
    assert len(rs.linear_regions()) == 1


def test_activations_with_flat_and_sloped_pieces() -> None:
    layers = [
        Layer([[1.0, 0.5], [0.25, -1.0], [1.0, 1.0]], [0.0, 0.25, 0.5], [HARD_TANH, LEAKY, RELU]),
        Layer([[2.0, 0.0, 1.0], [1.0, 1.0, 0.0]], [-3.0, 0.5], [HARD_TANH, LINEAR]),
    ]
    assert_as_flooded(al.enumerate(compiled(layers, ([[1.0, 0.0]], [0.0])), al.Box(-3, 3, dim=2)))


def test_equal_on_a_slice_though_not_in_the_inputs() -> None:
    """On x1 = 0, a unit that adds a multiple of x1 where it is on changes nothing."""
    layers = [
        (np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), np.zeros(3)),
        (np.array([[0.0, 1.0, -1.0]]), np.zeros(1)),
    ]
    line = al.Slice(np.zeros(2), np.array([[1.0, 0.0]]), LINE)
    rs = al.enumerate(layers, line)
    assert len(rs) == 2
    assert rs.linear_regions().distinct_maps == 1


def test_without_facets_it_is_said_how_to_have_them() -> None:
    rs = al.enumerate(random_layers([2, 4, 1], 0), SQUARE, facets=False)
    with pytest.raises(al.AffineLensError, match="facets=True"):
        rs.linear_regions()


def test_no_regions_make_none() -> None:
    nothing = al.enumerate(random_layers([2, 4, 1], 0), SQUARE)[[]].linear_regions()
    assert (len(nothing), nothing.distinct_maps, nothing.sizes.tolist()) == (0, 0, [])
