"""Lipschitz constants, ranges and means over a whole domain, against answers known by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from support.measured import ABSOLUTE, random_set, tent
from support.random_networks import random_layers


@pytest.mark.parametrize("depth", [1, 4, 9])
@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_the_tent_map_doubles_its_slope_with_each_layer(depth: int, norm: str) -> None:
    rs = al.enumerate(tent(depth), al.Box(0, 1, dim=1))
    assert len(rs) == 2**depth
    assert rs.lipschitz_constant(norm) == 2.0**depth


def test_lipschitz_constants_of_a_linear_map() -> None:
    rs = al.enumerate([([[3.0, 4.0]], [1.0])], al.Box(-1, 1, dim=2))
    assert (rs.lipschitz_constant(), rs.lipschitz_constant("linf")) == (5.0, 7.0)


def test_no_two_points_differ_more_than_the_constant_allows_and_some_nearly_do() -> None:
    rs = random_set(2, 10, 10, 3, seed=0)
    constant = rs.lipschitz_constant()
    points = np.random.default_rng(1).uniform(-1, 1, (2000, 2))
    first, second = points[::2], points[1::2]
    moved = np.linalg.norm(rs.network(first) - rs.network(second), axis=1)
    assert np.all(moved <= constant * np.linalg.norm(first - second, axis=1) * (1 + 1e-12))
    steepest = int(np.argmax(rs.column("jacobian_norm")))
    assert constant == pytest.approx(np.linalg.norm(rs[steepest].affine[0], 2), rel=1e-14)


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(al.AffineLensError, match="one of l2, linf, but got 'l1'"):
        random_set(1, 2, 1, seed=0).lipschitz_constant("l1")


def test_ranges_are_exact() -> None:
    # 0.1 |x| on [-1, 0.3] is largest at -1, and 0 in between
    rs = al.enumerate([ABSOLUTE[0], ([[0.1, 0.1], [-1.0, 0.0]], [0.0, 0.0])], al.Box([-1], [0.3]))
    first, second = rs.output_ranges()
    assert (first.lowest, first.highest, first.slack) == (0, Fraction(0.1), 0.0)
    assert (second.lowest, second.highest) == (-Fraction(0.3), 0)


@pytest.mark.parametrize("sizes", [(1, 8, 8, 2), (2, 8, 8, 2), (3, 6, 4, 1)])
def test_ranges_are_those_at_vertices_and_no_point_is_beyond(sizes: tuple[int, ...]) -> None:
    rs = random_set(*sizes, seed=2)
    outputs = rs.network(np.random.default_rng(0).uniform(-1, 1, (5000, sizes[0])))
    at_vertices = rs.network(rs.vertices())
    for k, span in enumerate(rs.output_ranges()):
        assert span.lowest <= outputs[:, k].min() + 1e-12
        assert span.highest >= outputs[:, k].max() - 1e-12
        assert float(span.lowest) == pytest.approx(at_vertices[:, k].min(), abs=1e-12)
        assert float(span.highest) == pytest.approx(at_vertices[:, k].max(), abs=1e-12)


def test_a_range_reached_on_a_whole_plateau() -> None:
    # relu(x) + relu(y): 0 on a quarter of the square
    rs = al.enumerate([([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=2))
    (span,) = rs.output_ranges()
    assert (span.lowest, span.highest) == (0, 2)


def test_means_known_by_hand() -> None:
    assert al.enumerate(ABSOLUTE, al.Box(-1, 1, dim=1)).output_means().tolist() == [0.5]
    assert al.enumerate(ABSOLUTE, al.Box(-1, 3, dim=1)).output_means().tolist() == [1.25]
    assert al.enumerate(tent(6), al.Box(0, 1, dim=1)).output_means() == pytest.approx([0.5], abs=1e-15)
    # the mean of relu(x + y) over the unit square about the origin is 1/3 on [-1, 1]^2
    rs = al.enumerate([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=2))
    assert rs.output_means() == pytest.approx([1 / 3], abs=1e-15)


@pytest.mark.parametrize("dim", [3, 4, 5])
def test_the_mean_of_a_sum_of_absolute_values(dim: int) -> None:
    units = np.vstack([np.eye(dim), -np.eye(dim)])
    rs = al.enumerate([(units, np.zeros(2 * dim)), (np.ones((1, 2 * dim)), [0.0])], al.Box(-1, 1, dim=dim))
    assert rs.output_means() == pytest.approx([dim / 2], abs=1e-13)


def test_means_agree_with_sampling() -> None:
    rs = random_set(3, 8, 6, 2, seed=0)
    sampled = rs.network(np.random.default_rng(0).uniform(-1, 1, (200_000, 3)))
    spread = sampled.std(axis=0) / np.sqrt(len(sampled))
    assert np.all(np.abs(rs.output_means() - sampled.mean(axis=0)) < 6 * spread)


def test_the_constant_is_along_a_slices_coordinates() -> None:
    line = al.Slice([0.0, 0.0], [[1.0, 1.0]], al.Box(-1, 1, dim=1))
    rs = al.enumerate([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])], line)
    assert rs.lipschitz_constant() == 2.0
    assert rs.output_means().tolist() == [0.5]


def test_larger_networks_too() -> None:
    rs = al.enumerate(random_layers([2, 20, 20, 20, 1], seed=0), al.Box(-1, 1, dim=2))
    (span,) = rs.output_ranges()
    assert float(span.highest) - float(span.lowest) <= rs.lipschitz_constant() * np.sqrt(8)
