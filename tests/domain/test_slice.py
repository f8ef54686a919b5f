"""Slices: exactly the points they are made from, in their own coordinates and as inputs."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import affinelens as al
from affinelens.domain import domain_from_json
from affinelens.errors import AffineLensError

SQUARE = al.Box(-1, 1, dim=2)


def test_inputs_are_origin_plus_combinations_of_the_basis() -> None:
    plane = al.Slice([1, 2, 3], [[1, 0, 1], [0, 2, -1]], SQUARE)
    assert (plane.inputs, plane.dim) == (3, 2)
    assert plane.to_inputs([0.5, -1]).tolist() == [1.5, 0, 4.5]
    assert plane.to_inputs([[0, 0], [1, 1]]).tolist() == [[1, 2, 3], [2, 4, 3]]
    assert plane.to_coordinates([1.5, 0, 4.5]).tolist() == [0.5, -1]


def test_images_keep_their_shape() -> None:
    image = np.arange(12.0).reshape(3, 2, 2)
    line = al.Slice(image, [np.ones((3, 2, 2))], al.Box(0, 1, dim=1))
    assert line.input_shape == (3, 2, 2)
    assert line.basis.shape == (1, 3, 2, 2)
    assert np.array_equal(line.to_inputs([0.5]), image + 0.5)
    assert line.to_inputs([[0.5], [1.0]]).shape == (2, 3, 2, 2)
    assert line.to_coordinates(image + 0.25).tolist() == [0.25]
    assert line.to_coordinates(np.stack([image, image + 1])).tolist() == [[0], [1]]


def test_through_takes_differences_exactly() -> None:
    """The float64 difference of these numbers would be 1, and the second point not on the slice."""
    line = al.Slice.through([2.0**-60, 0.0], [1.0, 1.0])
    assert line.frame.chart.to_fractions() == [[1 - Fraction(1, 2**60), Fraction(1, 2**60)], [1, 0]]
    assert line.to_coordinates([[2.0**-60, 0.0], [1.0, 1.0]]).tolist() == [[0], [1]]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_the_points_of_through_are_corners_of_the_unit_simplex(count: int) -> None:
    points = np.random.default_rng(count).normal(size=(count, 50)).astype(np.float32)
    flat = al.Slice.through(*points)
    assert flat.dim == count - 1
    corners = np.vstack([np.zeros(count - 1), np.eye(count - 1)])
    assert np.array_equal(flat.to_coordinates(points), corners)
    assert flat.coordinates(points.astype(np.float64))[1].all()


def test_the_window_of_through() -> None:
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert repr(al.Slice.through(*points).window) == "Box([0, 0], [1, 1])"
    assert repr(al.Slice.through(*points, margin=0.5).window) == "Box([-0.5, -0.5], [1.5, 1.5])"
    triangle = al.Polytope([[1, 0], [0, 1], [-1, -1]], [0, 0, 1])
    assert al.Slice.through(*points, window=triangle).window is triangle


def test_axes_vary_the_named_inputs() -> None:
    plane = al.Slice.axes([0.1, 0.2, 0.3], (2, 0), [-1, -2], 1)
    assert plane.to_inputs([0.5, -2]).tolist() == [-2, 0.2, 0.5]
    assert plane.to_coordinates([-2, 0.2, 0.5]).tolist() == [0.5, -2]
    _, inside = plane.coordinates(np.array([[0, 0.2, 0], [0, 0.25, 0], [0, 0.2, -1.5], [np.nan, 0.2, 0]]))
    assert inside.tolist() == [True, False, False, False]


def test_axes_of_an_image_are_named_by_place_or_by_index() -> None:
    image = np.arange(12.0).reshape(3, 2, 2)
    by_index = al.Slice.axes(image, ((1, 0, 1), (2, 1, 0)), 0, 1)
    by_place = al.Slice.axes(image, (5, 10), 0, 1)
    assert by_index.to_json() == by_place.to_json()
    assert al.Slice.axes(image, 5, 0, 1).dim == 1
    assert al.Slice.axes(image, np.array([5, 6, 7]), 0, 1).dim == 3


def test_rational_numbers_are_kept_exactly() -> None:
    line = al.Slice([Fraction(1, 3), 0], [[Decimal("0.1"), 1]], al.Box(0, Fraction(1, 7), dim=1))
    assert line.frame.chart.to_fractions() == [[Fraction(1, 10), Fraction(1, 3)], [1, 0]]
    back = domain_from_json(json.loads(json.dumps(line.to_json())))
    assert back.frame.chart == line.frame.chart
    assert back.frame.rows == line.frame.rows


def test_a_coordinate_that_the_window_fixes_becomes_part_of_the_origin() -> None:
    line = al.Slice([0, 0, 1], [[1, 1, 0], [0, 1, 1]], al.Box([-1, 0.5], [1, 0.5]))
    assert line.dim == 1
    assert line.to_inputs([0.25]).tolist() == [0.25, 0.75, 1.5]
    assert line.to_coordinates([0.25, 0.75, 1.5]).tolist() == [0.25]


def test_basis_vectors_may_share_zeros_and_be_short() -> None:
    plane = al.Slice([5, 1, 2, 3], [[0, 1e-9, 0, 0], [0, 1, 1, 0]], SQUARE)
    assert plane.to_coordinates([5, 1.5, 2.5, 3]).tolist() == [0, 0.5]
    with pytest.raises(AffineLensError, match="input 0 does not lie on the slice"):
        plane.to_coordinates([5, 1.5, 2.5, 3.5])


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.tuples(
            st.lists(st.lists(st.floats(-10, 10, width=32), min_size=6, max_size=6), min_size=d + 1, max_size=d + 1),
            st.lists(st.floats(0, 1), min_size=d, max_size=d),
        )
    )
)
@settings(max_examples=200, deadline=None)
def test_computed_points_of_a_slice_are_recognised(case: tuple[list[list[float]], list[float]]) -> None:
    points, t = case
    origin, *others = np.array(points)
    assume(np.linalg.matrix_rank(np.array(others) - origin) == len(others))
    flat = al.Slice.through(*points)
    coordinates = flat.to_coordinates(flat.to_inputs(t))
    flat.to_coordinates(flat.to_inputs(coordinates))
    if len(t) == 1:
        assert abs(coordinates[0] - t[0]) <= 1e-14 * (1 + np.abs(origin).max() / np.abs(flat.basis).max())


def test_points_off_the_slice_are_not_in_it() -> None:
    plane = al.Slice.through([0, 0, 0], [1, 0.1, 0.3], [0.2, 1, 0.7])
    on = plane.to_inputs([0.3, 0.4])
    off = on + np.array([0, 0, 1e-9])
    _, inside = plane.coordinates(np.stack([on, off]))
    assert inside.tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: al.Slice([0, 0], [[1, 1], [2, 2]], SQUARE), "linearly dependent and span dimension 1"),
        (lambda: al.Slice([0, 0], [[0, 0]], al.Box(0, 1, dim=1)), "linearly dependent and span dimension 0"),
        (lambda: al.Slice([0, 0], [[1, 1, 1]], al.Box(0, 1, dim=1)), "as many numbers as its origin, 2, but one has 3"),
        (lambda: al.Slice([0, 0], [], SQUARE), "at least one basis vector"),
        (lambda: al.Slice([0, 0], 3, SQUARE), "must be a list of vectors"),
        (lambda: al.Slice([0, 0], [3, 4], SQUARE), "a basis vector of the slice must be an input"),
        (lambda: al.Slice([0, 0], [[1, 0]], SQUARE), "needs a window of 1 coordinates, but got 2"),
        (lambda: al.Slice([0, 0], [[1, 0]], 1), "window must be a Box or a Polytope, but got int"),
        (lambda: al.Slice([0, np.nan], [[1, 0]], al.Box(0, 1, dim=1)), "origin contains NaN"),
        (lambda: al.Slice(["a"], [[1]], al.Box(0, 1, dim=1)), "must be numbers"),
        (lambda: al.Slice([0], [[1e200]], al.Box(0, 1e200, dim=1)), "reaches inputs beyond 1e\\+300"),
        (lambda: al.Slice.through([0, 0]), "two inputs"),
        (lambda: al.Slice.through([0, 0], [0, 0]), "2 points lie on a flat of dimension 0"),
        (lambda: al.Slice.through([0, 0, 0], [1, 1, 1], [2, 2, 2]), "3 points lie on a flat of dimension 1"),
        (lambda: al.Slice.through([0, 0], [1, 1, 1]), "must have one shape"),
        (lambda: al.Slice.through([0, 0], [1, 1], margin=np.inf), "margin must be a finite number"),
        (lambda: al.Slice.through([0, 0], [1, 1], margin=-1), "box is empty"),
        (lambda: al.Slice.axes([0, 0], (0, 0), 0, 1), "different inputs"),
        (lambda: al.Slice.axes([0, 0], (), 0, 1), "different inputs"),
        (lambda: al.Slice.axes([0, 0], "01", 0, 1), "different inputs"),
        (lambda: al.Slice.axes([0, 0], (2,), 0, 1), "place from 0 to 1"),
        (lambda: al.Slice.axes([0, 0], (-1,), 0, 1), "place from 0 to 1"),
        (lambda: al.Slice.axes([[0, 0]], ((0, 2),), 0, 1), "or 2 indices"),
        (lambda: al.Slice.axes([0, 0], (0.5,), 0, 1), "names none"),
        (lambda: al.Slice([0, 0], [[1, 0]], al.Box(0, 1, dim=1)).to_inputs([1, 2]), "has 1 coordinates"),
        (lambda: al.Slice([0, 0], [[1, 0]], al.Box(0, 1, dim=1)).to_coordinates([1]), "inputs of 2 numbers"),
    ],
)
def test_what_is_no_slice_is_refused_in_one_sentence(make: Any, problem: str) -> None:
    with pytest.raises(AffineLensError, match=problem) as caught:
        make()
    assert "\n" not in str(caught.value)
