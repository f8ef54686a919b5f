"""Boxes and slices in numbers that float64 does not hold have the regions that rational brute force finds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import affinelens as al
from support import brute_force
from support.brute_force import Layer
from support.networks import compiled

whole = st.integers(-3, 3)
rational = st.fractions(-2, 2, max_denominator=7)
every_engine = pytest.mark.parametrize("engine", ["vertex", "linear_program"])


@st.composite
def layers_of(draw: st.DrawFn, inputs: int) -> list[Layer]:
    sizes = [inputs, draw(st.integers(1, 4)), draw(st.integers(1, 3))]
    return [
        Layer(
            draw(st.lists(st.lists(whole, min_size=a, max_size=a), min_size=b, max_size=b)),
            draw(st.lists(whole, min_size=b, max_size=b)),
        )
        for a, b in pairwise(sizes)
    ]


@st.composite
def boxes(draw: st.DrawFn, inputs: int) -> tuple[list[Fraction], list[Fraction]]:
    pairs = [draw(st.tuples(rational, rational).filter(lambda pair: pair[0] != pair[1])) for _ in range(inputs)]
    return [min(pair) for pair in pairs], [max(pair) for pair in pairs]


def patterns(regions: al.RegionSet) -> set[tuple[int, ...]]:
    return {tuple(pattern) for pattern in regions.patterns.tolist()}


@every_engine
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_rational_boxes(engine: str, data: st.DataObject) -> None:
    inputs = data.draw(st.integers(1, 3))
    layers, (lower, upper) = data.draw(layers_of(inputs)), data.draw(boxes(inputs))
    expected = brute_force.patterns_by_stage(layers, brute_force.box(lower, upper))[-1]
    network, domain = compiled(layers), al.Box(lower, upper)
    found = al.enumerate(network, domain, engine=engine, workers=1)
    assert len(found) == len(expected)
    assert patterns(found) == expected
    if engine == "vertex":
        assert al.count(network, domain, workers=1) == len(expected)


@every_engine
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_rational_slices(engine: str, data: st.DataObject) -> None:
    """The slice put in front of the first layer by hand is the same network on the window."""
    layers, (lower, upper) = data.draw(layers_of(3)), data.draw(boxes(2))
    origin = data.draw(st.lists(rational, min_size=3, max_size=3))
    basis = data.draw(
        st.lists(st.lists(rational, min_size=3, max_size=3), min_size=2, max_size=2).filter(_are_independent)
    )
    first = layers[0]
    weight = [[_dot(row, direction) for direction in basis] for row in first.weight]
    bias = [_dot(row, origin) + b for row, b in zip(first.weight, first.bias, strict=True)]
    composed = [Layer(weight, bias), *layers[1:]]
    expected = brute_force.patterns_by_stage(composed, brute_force.box(lower, upper))[-1]
    found = al.enumerate(compiled(layers), al.Slice(origin, basis, al.Box(lower, upper)), engine=engine, workers=1)
    assert len(found) == len(expected)
    assert patterns(found) == expected


def _dot(row: Sequence[float], other: list[Fraction]) -> Fraction:
    return sum((Fraction(a) * b for a, b in zip(row, other, strict=True)), Fraction(0))


def _are_independent(basis: list[list[Fraction]]) -> bool:
    a, b = basis
    return any(a[i] * b[j] != a[j] * b[i] for i in range(3) for j in range(i))


@every_engine
def test_a_box_that_holds_no_float64_has_regions_all_the_same(engine: str) -> None:
    third = Fraction(1, 3)
    narrow = al.Box([third - Fraction(1, 10**30), 0], [third + Fraction(1, 10**30), 1])
    layers = [([[3.0, 0.0], [0.0, 1.0]], [-1.0, -0.5]), ([[1.0, 1.0]], [0.0])]
    found = al.enumerate(layers, narrow, engine=engine)
    assert len(found) == 4
    for region in found:
        assert abs(region.exact_point[0] - third) < Fraction(1, 10**30)


def test_rational_domains_are_saved_exactly(tmp_path: Path) -> None:
    box = al.Box([Fraction(1, 3), 0], [Fraction(2, 3), Fraction(1, 7)])
    polytope = al.Polytope([[Fraction(1, 3), 0], [0, 1], [-1, Fraction(-1, 7)]], [1, 1, Fraction(2, 3)])
    layers = [(np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([0.0, -0.5])), (np.ones((1, 2)), np.zeros(1))]
    for name, domain in (("box", box), ("polytope", polytope)):
        rs = al.enumerate(layers, domain, run=tmp_path / name)
        back = al.load(tmp_path / name)
        assert back.domain.frame.rows == domain.frame.rows
        assert np.array_equal(back.points, rs.points)


def test_a_limited_walk_knows_its_share_of_a_rational_box() -> None:
    generator = np.random.default_rng(0)
    layers = [(generator.normal(size=(20, 2)), generator.normal(size=20)), (np.ones((1, 20)), np.zeros(1))]
    part = al.enumerate(layers, al.Box(Fraction(-1, 3), Fraction(2, 3), dim=2), max_regions=5, workers=1)
    assert part.share is not None
    assert 0 < part.share < 1


def test_a_bound_beyond_all_reach_changes_nothing_in_high_dimension() -> None:
    """1e-300 x + 1e300 >= 0 is a bound of one input that float64 cannot name."""
    size = 24
    weight = np.vstack([np.eye(size), -np.eye(size), 1e-300 * np.eye(1, size)])
    offset = np.append(np.ones(2 * size), 1e300)
    layers = [(np.eye(2, size), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))]
    assert al.count(layers, al.Polytope(weight, offset), engine="linear_program") == 4
