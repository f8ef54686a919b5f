"""Grid-likeness: partitions whose order is known by hand or from integral geometry."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest

import affinelens as al
from support.random_networks import random_layers

# The share of quadrilaterals among the cells of random lines in the plane (Tanner, 1983).
QUADRILATERALS = 0.3815


def lines(angles: object, distances: object, half: float = 1.0) -> al.RegionSet:
    """The square cut by the lines at right angles to the given directions, at these distances from the origin."""
    turn = np.asarray(angles, dtype=float)
    weight = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    layers = [(weight, -np.asarray(distances, dtype=float)), (np.ones((1, len(turn))), [0.0])]
    return al.enumerate(layers, al.Box(-half, half, dim=2))


def grid(columns: int, rows: int, turned: float = 0.0) -> al.RegionSet:
    """Equally spaced lines in two perpendicular directions."""
    apart = np.concatenate([np.linspace(-1, 1, columns + 1)[1:-1], np.linspace(-1, 1, rows + 1)[1:-1]])
    return lines([turned] * (columns - 1) + [turned + pi / 2] * (rows - 1), apart)


def random_lines(count: int, seed: int) -> al.RegionSet:
    """Lines that are spread evenly over directions and places, as far out as the square's corners."""
    generator = np.random.default_rng(seed)
    return lines(generator.uniform(0, pi, count), generator.uniform(-1.5, 1.5, count))


def test_a_grid_is_perfectly_regular() -> None:
    found = grid(8, 8).regularity()
    assert found.grid_order == pytest.approx(1, abs=1e-14)
    assert found.stripe_order == pytest.approx(0, abs=1e-14)
    assert found.area_variation == pytest.approx(0, abs=1e-14)
    assert found.quadrilaterals == 1
    assert found.grid_order_by_chance == pytest.approx((1 / 14) ** 0.5)


def test_turning_a_grid_does_not_change_its_order() -> None:
    assert grid(6, 9, turned=0.3).regularity().grid_order == pytest.approx(1, abs=1e-14)


def test_parallel_lines_are_stripes() -> None:
    found = lines([0.7] * 5, [-0.5, -0.2, 0.0, 0.1, 0.6]).regularity()
    assert found.grid_order == pytest.approx(1, abs=1e-14)
    assert found.stripe_order == pytest.approx(1, abs=1e-14)


def test_two_lines_at_half_a_right_angle_cancel() -> None:
    crossing = lines([0.0, pi / 4], [0.0, 0.0])
    # Their lengths in the square are 2 and 2 sqrt(2).
    expected = (2 * 2**0.5 - 2) / (2 * 2**0.5 + 2)
    assert crossing.regularity().grid_order == pytest.approx(expected)


def test_a_scaled_partition_has_the_same_regularity() -> None:
    generator = np.random.default_rng(3)
    angles, distances = generator.uniform(0, pi, 12), generator.uniform(-1, 1, 12)
    small, large = (lines(angles, size * distances, size).regularity() for size in (1.0, 1024.0))
    assert small.to_json() == pytest.approx(large.to_json(), rel=1e-12)


def test_random_lines_have_the_order_of_chance() -> None:
    found = [random_lines(60, seed).regularity() for seed in range(12)]
    squares = np.mean([one.grid_order**2 for one in found])
    chance = np.mean([one.grid_order_by_chance**2 for one in found])
    assert 0.3 * chance < squares < 3 * chance
    assert np.mean([one.quadrilaterals for one in found]) == pytest.approx(QUADRILATERALS, abs=0.04)


def test_a_mess_is_less_regular_than_a_grid_that_was_shaken() -> None:
    generator = np.random.default_rng(0)
    apart, shaken = np.linspace(-0.9, 0.9, 12), 0.05 * generator.normal(size=24)
    nearly = lines(np.repeat([0.0, pi / 2], 12) + shaken, np.tile(apart, 2) + 0.3 * shaken)
    assert nearly.regularity().grid_order > 0.9
    assert random_lines(24, 5).regularity().grid_order < 0.5


def test_the_order_does_not_depend_on_what_was_kept() -> None:
    layers = random_layers([2, 8, 8, 1], seed=1, bias=1)
    plain, restricted = (al.enumerate(layers, al.Box(-1, 1, dim=2), vertices=vertices) for vertices in (False, True))
    assert plain.regularity().to_json() == pytest.approx(restricted.regularity().to_json(), rel=1e-12)


def test_only_whole_partitions_of_a_plane_with_a_boundary_have_one() -> None:
    layers = [(np.eye(3), np.zeros(3)), (np.ones((1, 3)), [0.0])]
    with pytest.raises(al.AffineLensError, match="dimension 3"):
        al.enumerate(layers, al.Box(-1, 1, dim=3)).regularity()
    with pytest.raises(al.AffineLensError, match="single region"):
        lines([0.0], [3.0]).regularity()
    layers = [(np.eye(2), np.zeros(2)), (np.ones((1, 2)), [0.0])]
    with pytest.raises(al.AffineLensError, match="complete"):
        al.enumerate(layers, al.Box(-1, 1, dim=2), max_regions=2).regularity()
