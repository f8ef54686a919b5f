"""Distances to decision boundaries: known ones, brute force over faces, and balls that reach just to the boundary."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.errors import AffineLensError
from affinelens.measure.decision.decision_boundary import DecisionBoundary
from support.random_networks import random_layers

CLOSE = 1e-9
Layers = list[tuple[np.ndarray, np.ndarray]]


def diamond(dim: int, radius: float) -> Layers:
    """|x0| + |x1| + ... - radius."""
    both = np.concatenate([np.eye(dim), -np.eye(dim)])
    return [(both, np.zeros(2 * dim)), (np.ones((1, 2 * dim)), np.array([-radius]))]


RANDOM = [([1, 12, 2], 6), ([2, 8, 8, 3], 3), ([2, 10, 10, 1], 8), ([3, 8, 6, 3], 5), ([4, 6, 5, 2], 6)]
every_network = pytest.mark.parametrize(("sizes", "seed"), RANDOM)
both_norms = pytest.mark.parametrize("norm", ["l2", "linf"])


def nearest_by_brute_force(boundary: DecisionBoundary, x: np.ndarray) -> float:
    """The quadratic program's answer: over all pieces and sets of their corners, where all weights are positive."""
    best = np.inf
    for piece in boundary:
        for count in range(1, len(x) + 1):
            for corners in combinations(piece.vertices - x, count):
                first, *others = corners
                steps = np.array(others).reshape(-1, len(x)) - first
                weights = np.linalg.lstsq(steps.T, -first, rcond=None)[0] if others else np.zeros(0)
                if (weights >= 0).all() and weights.sum() <= 1:
                    best = min(best, float(np.linalg.norm(first + weights @ steps)))
    return best


@every_network
def test_euclidean_distances_are_the_quadratic_program_s(sizes: list[int], seed: int) -> None:
    rs = al.enumerate(random_layers(sizes, seed), al.Box(-1, 1, dim=sizes[0]))
    boundary = rs.decision_boundary()
    assert len(boundary) > 0
    inputs = np.random.default_rng(1).uniform(-1.2, 1.2, (12 // sizes[0], sizes[0]))
    found = rs.distance_to_boundary(inputs)
    for x, value in zip(inputs, found.values, strict=True):
        assert value == pytest.approx(nearest_by_brute_force(boundary, x), rel=CLOSE)
    assert (found.errors < 1e-12).all()


@every_network
def test_a_box_of_the_maximum_norm_s_size_just_reaches_the_boundary(sizes: list[int], seed: int) -> None:
    layers = random_layers(sizes, seed)
    rs = al.enumerate(layers, al.Box(-1, 1, dim=sizes[0]))
    inputs = np.random.default_rng(2).uniform(-1, 1, (6, sizes[0]))
    found = rs.distance_to_boundary(inputs, norm="linf")
    assert (found.errors < 1e-12).all()
    for x, value in zip(inputs, found.values, strict=True):
        for factor, is_reached in ((1 - CLOSE, False), (1 + CLOSE, True)):
            box = al.Box(np.maximum(x - factor * value, -1), np.minimum(x + factor * value, 1))
            within = al.enumerate(layers, box).decision_boundary()
            assert (len(within) > 0) == is_reached


@every_network
@both_norms
def test_the_nearest_point_lies_on_its_piece_at_that_distance(sizes: list[int], seed: int, norm: str) -> None:
    rs = al.enumerate(random_layers(sizes, seed), al.Box(-1, 1, dim=sizes[0]))
    boundary = rs.decision_boundary()
    inputs = np.random.default_rng(3).uniform(-1, 1, (12, sizes[0]))
    found = rs.distance_to_boundary(inputs, norm=norm)
    order = 2 if norm == "l2" else np.inf
    assert found.values == pytest.approx(np.linalg.norm(found.points - inputs, ord=order, axis=1), rel=CLOSE)
    outputs = np.sort(
        np.hstack([np.zeros((12, 1)), rs.network(found.points)]) if sizes[-1] == 1 else rs.network(found.points)
    )
    assert outputs[:, -1] == pytest.approx(outputs[:, -2], abs=CLOSE)
    for i, piece in enumerate(found.pieces.tolist()):
        low, high = boundary[piece].vertices.min(axis=0), boundary[piece].vertices.max(axis=0)
        assert (low - CLOSE <= found.points[i]).all()
        assert (found.points[i] <= high + CLOSE).all()
    corners = boundary.vertex_values
    for x, value in zip(inputs, found.values, strict=True):
        assert value <= np.linalg.norm(corners - x, ord=order, axis=1).min() * (1 + CLOSE)


@pytest.mark.parametrize(
    ("x", "euclidean", "maximum"),
    [
        ([0.0, 0.0], 0.5 / sqrt(2), 0.25),
        ([0.5, 0.0], 0.0, 0.0),
        ([0.25, 0.25], 0.0, 0.0),
        ([1.0, 0.0], 0.5, 0.5),
        ([1.0, 1.0], 1.5 / sqrt(2), 0.75),
        ([3.0, 0.0], 2.5, 2.5),
    ],
)
def test_distances_to_a_diamond(x: list[float], euclidean: float, maximum: float) -> None:
    rs = al.enumerate(diamond(2, 0.5), al.Box(-1, 1, dim=2))
    assert rs.distance_to_boundary(x).value == pytest.approx(euclidean, abs=1e-14)
    assert rs.distance_to_boundary(x, norm="linf").value == pytest.approx(maximum, abs=1e-14)


def test_only_the_boundary_within_the_domain_counts() -> None:
    rs = al.enumerate(diamond(2, 0.5), al.Box([0.25, -1], [1, 1]))
    found = rs.distance_to_boundary([0.0, 0.0])
    assert found.value == pytest.approx(sqrt(0.125))
    assert np.abs(found.point) == pytest.approx([0.25, 0.25])


@both_norms
def test_without_a_boundary_it_is_infinitely_far(norm: str) -> None:
    rs = al.enumerate(diamond(2, 3.0), al.Box(-1, 1, dim=2))
    found = rs.distance_to_boundary([0.0, 0.0], norm=norm)
    assert (found.value, found.piece) == (np.inf, -1)
    assert np.isnan(found.point).all()


def test_on_a_slice_distances_are_those_of_inputs() -> None:
    """t0 moves two inputs, one of them threefold; the boundary is where t0 is 1/2."""
    domain = al.Slice([0.0, 0.0, 7.0], [[1.0, 3.0, 0.0], [0.0, 1.0, 0.0]], al.Box(-1, 1, dim=2))
    rs = al.enumerate([(np.array([[1.0, 0.0, 0.0]]), np.array([-0.5]))], domain)
    origin = rs.distance_to_boundary([0.0, 0.0, 7.0])
    assert origin.value == pytest.approx(sqrt(0.5**2 + 0.5**2))
    assert origin.local_point == pytest.approx([0.5, -1.0])
    assert origin.point == pytest.approx([0.5, 0.5, 7.0])
    assert rs.distance_to_boundary([0.0, 0.0]).value == origin.value
    assert rs.distance_to_boundary([[0.0, 0.0], [0.5, 0.0]]).values == pytest.approx([origin.value, 0.0])
    assert rs.distance_to_boundary([0.0, 0.0, 7.0], norm="linf").value == pytest.approx(0.5)


@both_norms
def test_fixed_inputs_do_not_move(norm: str) -> None:
    rs = al.enumerate(diamond(3, 0.75), al.Box([-1, 0.25, -1], [1, 0.25, 1]))
    found = rs.distance_to_boundary([0.0, 0.25, 0.0], norm=norm)
    assert found.value == pytest.approx(0.5 / sqrt(2) if norm == "l2" else 0.25)
    assert found.point[1] == 0.25


def test_several_inputs_are_asked_about_at_once() -> None:
    rs = al.enumerate(random_layers([2, 8, 8, 3], 3), al.Box(-1, 1, dim=2))
    inputs = np.random.default_rng(4).uniform(-1, 1, (5, 2))
    together = rs.distance_to_boundary(inputs)
    assert len(together) == 5
    for i, x in enumerate(inputs):
        alone = rs.distance_to_boundary(x)
        assert (alone.value, alone.piece) == (together[i].value, together[i].piece)
        assert np.array_equal(alone.point, together.points[i])


@pytest.mark.parametrize(
    ("x", "options", "words"),
    [
        ([0.0], {}, "points of 2 numbers"),
        ("here", {}, "array of numbers"),
        ([0.0, float("nan")], {}, "finite"),
        ([0.0, 0.0], {"norm": "l1"}, "'l2', 'linf'"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(x: Any, options: dict[str, Any], words: str) -> None:
    rs = al.enumerate(diamond(2, 0.5), al.Box(-1, 1, dim=2))
    with pytest.raises(AffineLensError, match=words):
        rs.distance_to_boundary(x, **options)


def test_an_input_off_the_slice_is_refused() -> None:
    domain = al.Slice([0.0, 0.0, 7.0], [[1.0, 3.0, 0.0], [0.0, 1.0, 0.0]], al.Box(-1, 1, dim=2))
    rs = al.enumerate([(np.array([[1.0, 0.0, 0.0]]), np.array([-0.5]))], domain)
    with pytest.raises(AffineLensError, match="lie on it"):
        rs.distance_to_boundary([0.0, 0.0, 6.0])
