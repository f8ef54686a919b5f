"""Generated data: as described, and the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from affinelens.study.data.samples import random_points, two_moons


@pytest.mark.parametrize("count", [200, 7])
def test_two_moons_fill_the_square(count: int) -> None:
    moons = two_moons(3, count, 0.2)
    assert moons.points.shape == (count, 2)
    assert np.abs(moons.points).max() == 1
    np.testing.assert_allclose(moons.points.mean(axis=0), 0, atol=1e-12)
    deviations = moons.points.std(axis=0)
    assert deviations[0] == pytest.approx(deviations[1])
    assert sorted(np.bincount(moons.labels)) == [count // 2, count - count // 2]


def test_two_moons_without_noise_lie_on_two_half_circles() -> None:
    moons = two_moons(0, 100, 0.0)
    angle = np.linspace(0, np.pi, 50)
    x = np.concatenate([np.cos(angle), 1 - np.cos(angle)])
    y = np.concatenate([np.sin(angle), 0.5 - np.sin(angle)])
    for found, drawn in zip(moons.points.T, (x, y), strict=True):
        assert np.corrcoef(found, drawn)[0, 1] == pytest.approx(1)
    np.testing.assert_array_equal(moons.labels, np.repeat([0, 1], 50))


def test_random_points_are_balanced_and_inside() -> None:
    drawn = random_points(1, 200, 4)
    assert drawn.points.shape == (200, 4)
    assert np.abs(drawn.points).max() <= 1
    assert np.bincount(drawn.labels).tolist() == [100, 100]
    assert np.any(drawn.labels != np.arange(200) % 2)


@pytest.mark.parametrize("draw", [lambda seed: two_moons(seed, 20, 0.2), lambda seed: random_points(seed, 20, 3)])
def test_a_seed_tells_the_samples(draw) -> None:
    np.testing.assert_array_equal(draw(5).points, draw(5).points)
    assert np.any(draw(5).points != draw(6).points)
