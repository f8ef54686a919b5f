"""Boxes: fixed inputs are constants, others are coordinates, and what is not a bounded box is refused by name."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.domain import domain_from_json
from affinelens.errors import AffineLensError


@pytest.mark.parametrize(
    "box", [al.Box(-1, 1, dim=2), al.Box([-1, -1], [1, 1]), al.Box(-1, [1, 1]), al.Box([-1, -1], 1.0, dim=2)]
)
def test_scalars_and_lists_give_the_same_box(box: al.Box) -> None:
    assert (box.inputs, box.dim) == (2, 2)
    assert box.lower.tolist() == [-1, -1]
    assert box.upper.tolist() == [1, 1]
    assert repr(box) == "Box([-1, -1], [1, 1])"


def test_fixed_inputs_are_constants_of_the_chart() -> None:
    box = al.Box([0, 0.1, -1], [1, 0.1, 2])
    assert (box.inputs, box.dim) == (3, 2)
    chart = box.frame.chart.to_fractions()
    assert chart == [[1, 0, 0], [0, 0, Fraction(0.1)], [0, 1, 0]]
    assert box.frame.to_inputs(np.array([[0.5, 1.5]])).tolist() == [[0.5, 0.1, 1.5]]


def test_the_frames_rows_are_the_bounds_of_the_free_inputs() -> None:
    box = al.Box([0, 7, -1], [1, 7, 2])
    rows = box.frame.rows.to_fractions()
    described = [box.describe_constraint(number) for number in box.frame.constraints]
    assert rows == [[1, 0, 0], [-1, 0, 1], [0, 1, 1], [0, -1, 2]]
    assert len(described) == len(set(described)) == 4
    for number, x in zip(box.frame.constraints, ([0, 7, 0], [1, 7, 0], [0, 7, -1], [0, 7, 2]), strict=True):
        normal, offset = box.halfspace(number)
        assert normal @ x + offset == 0


def test_a_sliver_of_one_ulp_is_a_box() -> None:
    box = al.Box([1.0, 0.0], [np.nextafter(1.0, 2.0), 1.0])
    assert box.dim == 2
    assert box.frame.rows.to_fractions()[1] == [-1, 0, 1 + Fraction(1, 2**52)]


def test_points_inside_on_the_border_and_outside() -> None:
    box = al.Box([0, 0.1], [1, 0.1])
    points = np.array(
        [[0.5, 0.1], [0, 0.1], [1, 0.1], [np.nextafter(1, 2), 0.1], [0.5, 0.2], [np.nan, 0.1], [np.inf, 0.1]]
    )
    _, inside = box.coordinates(points)
    assert inside.tolist() == [True, True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("lower", "upper", "dim", "message"),
    [
        (0, 1, None, "number of inputs"),
        ([0, 0], [1, 1, 1], None, "as many lower as upper"),
        ([0, 0], [1, 1], 3, "as many lower as upper"),
        ([], [], None, "one an input"),
        (0, 1, 0, "at least 1, but got 0"),
        (0, 1, 2.5, "at least 1, but got 2.5"),
        (None, 1, 2, "must be numbers, but got None"),
        ([0, 2], [1, 1], None, "empty: input 1"),
        ([0, 0], [1, np.inf], None, "input 1"),
        ([-np.inf, 0], [1, 1], None, "input 0"),
        ([0, np.nan], [1, 1], None, "input 1"),
        ([1, 2], [1, 2], None, "single point"),
        ([[0, 0]], [[1, 1]], None, "shape"),
        ("low", 1, 1, "numbers"),
        ([None], [1], None, "input 0|numbers"),
    ],
)
def test_what_is_not_a_bounded_box_is_refused(lower: Any, upper: Any, dim: Any, message: str) -> None:
    with pytest.raises(AffineLensError, match=message):
        al.Box(lower, upper, dim=dim)


@pytest.mark.parametrize("box", [al.Box(-1, 1, dim=3), al.Box([0.1, 1e-300, 5], [0.3, 1e300, 5])])
def test_json_round_trip_keeps_every_bit(box: al.Box) -> None:
    back = domain_from_json(json.loads(json.dumps(box.to_json())))
    assert isinstance(back, al.Box)
    assert back.lower.tobytes() == box.lower.tobytes()
    assert back.upper.tobytes() == box.upper.tobytes()


def test_unknown_kinds_of_domain_are_refused() -> None:
    with pytest.raises(AffineLensError, match="ball"):
        domain_from_json({"kind": "ball"})


@pytest.mark.parametrize("upper", [2**53 + 1, Fraction(1, 3), Decimal("0.1"), Fraction(-1, 7)])
def test_bounds_that_float64_cannot_hold_are_kept_exactly(upper: Any) -> None:
    box = al.Box([-3], [upper])
    exact = Fraction(upper)
    assert box.frame.rows.to_fractions() == [[1, 3], [-1, exact]]
    assert Fraction(float(box.upper[0])) > exact
    back = domain_from_json(json.loads(json.dumps(box.to_json())))
    assert back.frame.rows.to_fractions() == box.frame.rows.to_fractions()


def test_an_input_fixed_at_a_rational_is_a_constant_of_the_chart() -> None:
    box = al.Box([0, Decimal("0.1")], [Fraction(1, 3), Decimal("0.1")])
    assert box.dim == 1
    assert box.frame.chart.to_fractions() == [[1, 0], [0, Fraction(1, 10)]]
    _, inside = box.coordinates(np.array([[0.25, 0.1], [0.25, 0.2], [0.5, 0.1]]))
    assert inside.tolist() == [True, False, False]


def test_a_hyperplane_along_a_rational_side_cuts_nothing() -> None:
    """3 x - 1 is zero at the upper bound 1/3, which no float64 is."""
    layers = [([[3.0]], [-1.0]), ([[1.0]], [0.0])]
    assert al.count(layers, al.Box([0], [Fraction(1, 3)])) == 1
    assert al.count(layers, al.Box([0], [Fraction(1, 3) + Fraction(1, 10**30)])) == 2
    assert len(al.enumerate(layers, al.Box([0], [Fraction(1, 3) + Fraction(1, 10**30)]), engine="linear_program")) == 2


def test_rational_sides_are_exact_in_high_dimension_too() -> None:
    """From dimension 24 on the linear-program engine keeps bounds of single inputs apart."""
    size = 24
    layers = [([[3.0] + [0.0] * (size - 1)], [-1.0]), ([[1.0]], [0.0])]
    for upper, count in ((Fraction(1, 3), 1), (Fraction(1, 3) + Fraction(1, 10**30), 2)):
        box = al.Box([0] * size, [upper] + [Fraction(1, 7)] * (size - 1))
        assert al.count(layers, box, engine="linear_program") == count


@pytest.mark.parametrize("bound", [Fraction(1, 10**301), 10**400, Fraction(10**301, 3)])
def test_rationals_beyond_what_float64_can_approximate_are_refused(bound: Any) -> None:
    with pytest.raises(AffineLensError, match="rescale that input"):
        al.Box([-1], [bound])
