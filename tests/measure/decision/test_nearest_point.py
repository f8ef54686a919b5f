"""The nearest point of a convex hull: known ones, degenerate hulls, and proofs that hold whatever was found."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.measure.decision.nearest_point import NORMS, EuclideanNorm, MaximumNorm

both_norms = pytest.mark.parametrize("name", list(NORMS))
hulls = st.integers(1, 4).flatmap(
    lambda dim: st.lists(st.lists(st.integers(-6, 6), min_size=dim, max_size=dim), min_size=1, max_size=7)
)


@both_norms
@settings(deadline=None, derandomize=True, max_examples=80)
@given(rows=hulls)
def test_what_is_found_is_in_the_hull_and_proved_nearest(name: str, rows: list[list[int]]) -> None:
    norm, hull = NORMS[name](), np.array(rows, dtype=float)
    found = norm.nearest(hull)
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(1)
    assert float(norm.size(found.weights @ hull)) == pytest.approx(found.distance, abs=1e-12)
    assert found.at_least <= found.distance + 1e-12
    assert found.distance - max(found.at_least, 0.0) < 1e-12


@settings(deadline=None, derandomize=True, max_examples=80)
@given(rows=hulls)
def test_the_euclidean_distance_is_that_of_the_best_face(rows: list[list[int]]) -> None:
    """Over all sets of independent corners, the point nearest to the origin if its weights are positive."""
    distance = EuclideanNorm().nearest(np.array(rows, dtype=float)).distance
    faces = (face for count in range(1, len(rows[0]) + 2) for face in combinations(rows, count))
    squares = [square for face in faces if (square := squared_distance(face)) is not None]
    assert distance == pytest.approx(sqrt(min(squares)), abs=1e-12)


def squared_distance(face: tuple[list[int], ...]) -> Fraction | None:
    """To the flat of some points, if it is to a positive combination of them and they are independent."""
    first, *others = [[Fraction(v) for v in corner] for corner in face]
    steps = [[a - b for a, b in zip(corner, first, strict=True)] for corner in others]
    table = [[dot(u, v) for v in steps] + [-dot(u, first)] for u in steps]
    for i in range(len(steps)):
        pivot = next((k for k in range(i, len(steps)) if table[k][i]), None)
        if pivot is None:
            return None
        table[i], table[pivot] = table[pivot], table[i]
        for k in range(len(steps)):
            if k != i:
                factor = table[k][i] / table[i][i]
                table[k] = [a - factor * b for a, b in zip(table[k], table[i], strict=True)]
    weights = [row[-1] / row[i] for i, row in enumerate(table)]
    if sum(weights, Fraction(0)) > 1 or any(w < 0 for w in weights):
        return None
    point = first
    for weight, step in zip(weights, steps, strict=True):
        point = [p + weight * s for p, s in zip(point, step, strict=True)]
    return dot(point, point)


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


@pytest.mark.parametrize(
    ("start", "end", "expected"), [([3, 1], [1, 3], 2), ([3, 1], [3, -1], 3), ([-1, 4], [9, 4], 4)]
)
def test_maximum_distances_to_segments(start: list[int], end: list[int], expected: int) -> None:
    assert MaximumNorm().nearest(np.array([start, end], dtype=float)).distance == pytest.approx(expected)


@both_norms
@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1e8, 1e100])
def test_size_does_not_matter(name: str, scale: float) -> None:
    found = NORMS[name]().nearest(scale * np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 0.0]]))
    assert found.distance == pytest.approx(scale, rel=1e-12, abs=0)
    assert found.at_least == pytest.approx(scale, rel=1e-12, abs=0)
