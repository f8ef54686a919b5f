"""Chebyshev centers and inradii."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import affinelens as al
from support.measured import random_set


def largest_ball(weight: np.ndarray, offset: np.ndarray) -> float:
    """By trying all sets of facets that the largest ball could touch."""
    lengths = np.linalg.norm(weight, axis=1)
    normals, distances = weight / lengths[:, None], offset / lengths
    best = 0.0
    for touched in map(list, combinations(range(len(normals)), normals.shape[1] + 1)):
        system = np.hstack([normals[touched], -np.ones((len(touched), 1))])
        if abs(np.linalg.det(system)) < 1e-12:
            continue
        *center, radius = np.linalg.solve(system, -distances[touched])
        if np.all(normals @ center + distances >= radius - 1e-12):
            best = max(best, radius)
    return best


@pytest.mark.parametrize("sizes", [(1, 9, 9, 1), (2, 12, 12, 2), (3, 8, 6, 1)])
def test_no_ball_is_larger(sizes: tuple[int, ...]) -> None:
    rs = random_set(*sizes, seed=0)
    radii, errors = rs.column("inradius"), rs.column("inradius_error")
    assert errors.max() < 1e-9
    for index in range(0, len(rs), max(1, len(rs) // 40)):
        assert radii[index] == pytest.approx(largest_ball(*rs[index].local.halfspaces), abs=errors[index] + 1e-11)


@pytest.mark.parametrize("sizes", [(2, 12, 12, 2), (4, 8, 4, 1)])
def test_the_ball_is_inside(sizes: tuple[int, ...]) -> None:
    rs = random_set(*sizes, seed=1)
    centers, radii = rs.column("center"), rs.column("inradius")
    assert rs.locate(centers).tolist() == list(range(len(rs)))
    for index in range(0, len(rs), max(1, len(rs) // 40)):
        weight, offset = rs[index].local.halfspaces
        distances = (weight @ centers[index] + offset) / np.linalg.norm(weight, axis=1)
        assert distances.min() == pytest.approx(radii[index], abs=rs.column("inradius_error")[index])


def test_of_a_right_triangle() -> None:
    triangle = al.Polytope([[1.0, 0.0], [0.0, 1.0], [-4.0, -3.0]], [0.0, 0.0, 12.0])
    rs = al.enumerate([([[1.0, 0.0]], [5.0]), ([[1.0]], [0.0])], triangle)
    assert len(rs) == 1
    assert rs.column("inradius")[0] == pytest.approx(1.0, abs=1e-13)
    assert rs.column("center")[0] == pytest.approx([1.0, 1.0], abs=1e-13)


def test_of_a_box_of_many_dimensions() -> None:
    # cut where the first input is 1/2: a part 1.5 wide, and one 0.5 wide
    rs = al.enumerate([([[1.0, *[0.0] * 39]], [-0.5]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=40))
    assert sorted(rs.column("inradius").tolist()) == pytest.approx([0.25, 0.75], abs=1e-12)
    assert rs.column("inradius_error").max() < 1e-11


def test_of_thin_regions() -> None:
    thin = 2.0**-40
    rs = al.enumerate([([[1.0, 0.0], [1.0, 0.0]], [0.0, -thin]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=2))
    radii, errors = rs.column("inradius"), rs.column("inradius_error")
    assert len(rs) == 3
    assert abs(radii.min() - thin / 2) <= errors[int(radii.argmin())] < 1e-13
