"""Polytopes: bounded, empty, flat or unbounded is decided exactly, and the constraints to blame are named."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import affinelens as al
from affinelens.domain import domain_from_json
from affinelens.errors import AffineLensError
from support.brute_force import polytope

SQUARE = [[1, 0], [-1, 0], [0, 1], [0, -1]]
TRIANGLE = ([[1, 0], [0, 1], [-1, -1]], [0, 0, 1])


def region_facets(domain: al.Polytope) -> list[str]:
    """The facets of the domain itself, by enumerating a network that cuts nothing."""
    rs = al.enumerate([(np.zeros((1, domain.inputs)), [0.0])], domain, workers=1)
    return rs[0].facets


def test_a_triangle() -> None:
    triangle = al.Polytope(*TRIANGLE)
    assert (triangle.inputs, triangle.dim) == (2, 2)
    assert triangle.frame.lower.tolist() == [0, 0]
    assert triangle.frame.upper.tolist() == [1, 1]
    assert region_facets(triangle) == [f"domain, constraint {i}" for i in range(3)]


def test_bounds_that_no_single_constraint_states_are_found() -> None:
    """A rotated square: |x + y| <= 1, |x - y| <= 1, each coordinate bounded only by a combination."""
    diamond = al.Polytope([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, 1, 1, 1])
    assert diamond.frame.lower.tolist() == [-1, -1]
    assert diamond.frame.upper.tolist() == [1, 1]


def test_bounds_are_rounded_outward() -> None:
    thirds = al.Polytope([[3.0, 0.0], [-3.0, 0.0], *SQUARE[2:]], [1.0, 1.0, 1.0, 1.0])
    assert Fraction(thirds.frame.lower[0]) <= Fraction(-1, 3)
    assert Fraction(thirds.frame.upper[0]) >= Fraction(1, 3)
    assert thirds.frame.upper[0] - 1 / 3 < 1e-15


@pytest.mark.parametrize(
    ("fixing", "offsets", "value"),
    [
        ([[0, 1], [0, -1]], [-0.5, 0.5], Fraction(1, 2)),
        ([[0, 3], [0, -3]], [-1, 1], Fraction(1, 3)),
        ([[0, 3], [0, -6]], [-1, 2], Fraction(1, 3)),
        ([[1, 3], [-1, 3], [0, -3]], [-1, -1, 1], Fraction(1, 3)),
    ],
)
def test_fixed_inputs_reduce_the_dimension(fixing: list[list[float]], offsets: list[float], value: Fraction) -> None:
    """Also where float64 does not hold the value; the last case leaves the single point (0, 1/3), and a third input."""
    rows = [[*row, 0] for row in fixing]
    domain = al.Polytope([[1, 0, 0], [-1, 0, 0], [0, 0, 1], [0, 0, -1], *rows], [1, 1, 1, 1, *offsets])
    free = 2 if len(fixing) == 2 else 1
    assert (domain.inputs, domain.dim) == (3, free)
    chart = domain.frame.chart.to_fractions()
    assert chart[1] == [*[0] * free, value]
    assert chart[2] == [*[0] * (free - 1), 1, 0]
    assert al.count([([[0.0, 0.0, 1.0]], [0.25]), ([[1.0]], [0.0])], domain, workers=1) == 2


def test_an_input_fixed_by_a_combination() -> None:
    """x + y >= 1 and x + y <= 1 with y fixed at 1/3 by 3 y = 1 also fix x at 2/3, and leave z."""
    rows = [[1, 1, 0], [-1, -1, 0], [0, 3, 0], [0, -3, 0], [0, 0, 1], [0, 0, -1]]
    domain = al.Polytope(rows, [-1, 1, -1, 1, 0, 1])
    assert domain.dim == 1
    assert domain.frame.chart.to_fractions() == [[0, Fraction(2, 3)], [0, Fraction(1, 3)], [1, 0]]
    rs = al.enumerate([([[3.0, 0.0, -3.0]], [0.0]), ([[1.0]], [0.0])], domain, workers=1)
    assert len(rs) == 2
    assert {point[0] for point in (region.exact_point for region in rs)} == {Fraction(2, 3)}


@pytest.mark.parametrize(
    ("rows", "offsets", "blamed"),
    [
        ([*SQUARE, [1, 1]], [1, 1, 1, 1, -3], {"0", "1", "2", "3", "4"}),
        ([[1, 0], [-1, 0], [0, 1], [0, -1]], [0, -1, 1, 1], {"0", "1"}),
        ([*SQUARE, [0, 0]], [1, 1, 1, 1, -1], {"4"}),
        ([*SQUARE, [0, 3], [0, -3]], [1, 1, 1, 1, -1, np.nextafter(1, 0)], {"4", "5"}),
    ],
)
def test_empty_ones_name_constraints_that_cannot_hold_together(rows: Any, offsets: Any, blamed: set[str]) -> None:
    with pytest.raises(AffineLensError, match="empty") as caught:
        al.Polytope(rows, offsets)
    named = set(
        "".join(c if c.isdigit() else " " for c in str(caught.value).split("cannot")[0].split("reads")[0]).split()
    )
    assert named
    assert named <= blamed
    guilty = sorted(int(n) for n in named)
    with pytest.raises(AssertionError):  # what is named really has no common point
        polytope([rows[i] for i in guilty], [offsets[i] for i in guilty], 100)


@pytest.mark.parametrize(
    ("rows", "offsets", "message"),
    [
        ([*SQUARE, [1, 1], [-1, -1]], [1, 1, 1, 1, 0, 0], "flat"),
        ([*SQUARE, [3, 1], [-3, -1]], [1, 1, 1, 1, 1, -1], "flat"),
        ([*SQUARE, [-1, -2]], [0, 1, 0, 1, 0], "single point"),
        ([*SQUARE, [1, 1]], [1, 1, 1, 1, -2], "single point"),
    ],
)
def test_flat_ones_and_single_points_are_refused(rows: Any, offsets: Any, message: str) -> None:
    with pytest.raises(AffineLensError, match=message):
        al.Polytope(rows, offsets)


def test_a_flat_one_names_the_constraints_that_flatten_it() -> None:
    with pytest.raises(AffineLensError, match="flat: constraints 4 and 5"):
        al.Polytope([*SQUARE, [1, 1], [-1, -1]], [1, 1, 1, 1, 0, 0])


def test_a_sliver_of_one_ulp_is_not_flat() -> None:
    rows = [*SQUARE, [1, 1], [-1, -1]]
    sliver = al.Polytope(rows, [1, 1, 1, 1, -0.5, np.nextafter(0.5, 1)])
    assert sliver.dim == 2
    assert {"domain, constraint 4", "domain, constraint 5"} <= set(region_facets(sliver))
    with pytest.raises(AffineLensError, match="flat"):
        al.Polytope(rows, [1, 1, 1, 1, -0.5, 0.5])
    with pytest.raises(AffineLensError, match="empty"):
        al.Polytope(rows, [1, 1, 1, 1, -0.5, np.nextafter(0.5, 0)])


@pytest.mark.parametrize(
    ("rows", "offsets", "message"),
    [
        ([[1, 0], [0, 1], [0, -1]], [1, 1, 1], r"input 0 from above.*\(1, 0\)"),
        ([[-1, 0], [0, 1], [0, -1]], [1, 1, 1], r"input 0 from below"),
        ([[1, 1], [-1, -1]], [1, 1], "unbounded"),
        ([[0, 0]], [1], "unbounded"),
        ([[1, -1], [-1, 1], [1, 0]], [1, 1, 0], "from above"),
    ],
)
def test_unbounded_ones_name_an_input_and_a_ray(rows: Any, offsets: Any, message: str) -> None:
    with pytest.raises(AffineLensError, match=message):
        al.Polytope(rows, offsets)


def test_redundant_and_repeated_constraints_are_not_facets() -> None:
    rows = [*SQUARE, [2, 0], [1, 1], [1, 1], [1, 0], [0, 0]]
    offsets = [1, 1, 1, 1, 2, 2, 10, 5, 3]
    assert region_facets(al.Polytope(rows, offsets)) == [f"domain, constraint {i}" for i in range(4)]


def test_a_constraint_that_touches_in_a_corner_is_not_a_facet_and_one_that_cuts_is() -> None:
    touching = al.Polytope([*SQUARE, [-1, -1]], [1, 1, 1, 1, 2])
    assert len(region_facets(touching)) == 4
    cutting = al.Polytope([*SQUARE, [-1, -1]], [1, 1, 1, 1, np.nextafter(2, 0)])
    assert len(region_facets(cutting)) == 5


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3)), max_size=5))
def test_polytopes_are_full_dimensional_exactly_if_they_have_interior_points(cuts: list[tuple[int, int, int]]) -> None:
    rows = [*SQUARE, *([a, b] for a, b, _ in cuts)]
    offsets = [1, 1, 1, 1, *(c for _, _, c in cuts)]
    try:
        cell = polytope([r for r in rows if any(r)], [c for r, c in zip(rows, offsets, strict=True) if any(r)], 1)
    except AssertionError:
        cell = None
    if any(not any(r) and c < 0 for r, c in zip(rows, offsets, strict=True)):
        cell = None
    if cell is not None:
        domain = al.Polytope(rows, offsets)
        assert domain.dim == 2
        corners = [vertex for vertex, _ in cell.vertices]
        for k in range(2):
            assert Fraction(domain.frame.lower[k]) <= min(c[k] for c in corners)
            assert Fraction(domain.frame.upper[k]) >= max(c[k] for c in corners)
            assert abs(domain.frame.lower[k] - float(min(c[k] for c in corners))) < 1e-12
        return
    refusal = ""
    dimension = None
    try:
        dimension = al.Polytope(rows, offsets).dim
    except AffineLensError as error:
        refusal = str(error)
    assert dimension == 1 or any(word in refusal for word in ("empty", "flat", "single point"))


@pytest.mark.parametrize(
    ("rows", "offsets", "message"),
    [
        ([1, 2], [0], "matrix"),
        (np.zeros((0, 2)), [], "matrix"),
        (np.zeros((2, 0)), [0, 0], "matrix"),
        ([[1.0], [-1.0]], [1.0], "one number a row"),
        ([[1.0], [np.nan]], [1.0, 1.0], "NaN"),
        ([[1.0], [-1.0]], [1.0, np.inf], "infinity"),
        ([["a"]], [1.0], "numbers"),
        ([[1.0], [1.0, 2.0]], [1.0, 1.0], "numbers"),
    ],
)
def test_bad_arrays_are_refused(rows: Any, offsets: Any, message: str) -> None:
    with pytest.raises(AffineLensError, match=message):
        al.Polytope(rows, offsets)


def test_json_round_trip_keeps_every_bit() -> None:
    domain = al.Polytope([[0.1, 0], [-0.3, 1e-30], *SQUARE], [1, 1e10, 1, 1, 1, 1])
    back = domain_from_json(json.loads(json.dumps(domain.to_json())))
    assert isinstance(back, al.Polytope)
    assert back.weight.tobytes() == domain.weight.tobytes()
    assert back.offset.tobytes() == domain.offset.tobytes()
    assert back.frame.rows.to_fractions() == domain.frame.rows.to_fractions()
