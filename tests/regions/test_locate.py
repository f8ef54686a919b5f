"""Where points lie: on borders as moving inward and then along the axes says, decided without a tolerance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.nonlinear import rectify
from support.random_networks import random_layers

INWARD, ALONG = Fraction(1, 10**40), Fraction(1, 10**60)


def moved(rs: al.RegionSet, point: list[float]) -> list[Fraction]:
    """A point moved by very little, towards the first region's interior point and, by far less, along each axis."""
    interior = [Fraction(v) for v in rs[0].local.exact_point]
    here = [Fraction(v) for v in point]
    inward = [x + INWARD * (t - x) for x, t in zip(here, interior, strict=True)]
    return [x + ALONG ** (k + 1) for k, x in enumerate(inward)]


@pytest.mark.parametrize("seed", range(6))
def test_points_on_borders_are_in_the_region_that_is_met_on_moving_from_them(seed: int) -> None:
    """Whole numbers as weights and multiples of a half as points: many lie on hyperplanes, and on several at once."""
    rs = al.enumerate(random_layers([2, 5, 4, 2], seed, whole=2), al.Box(-2, 2, dim=2))
    grid = np.array([[x, y] for x in np.arange(-4, 5) / 2 for y in np.arange(-4, 5) / 2])
    on_border = 0
    for point, index in zip(grid.tolist(), rs.locate(grid).tolist(), strict=True):
        near, region = moved(rs, point), rs[index]
        forms = rs.network.exact_forms(rs.domain.frame.chart, region.pattern)
        values = [sum((a * t for a, t in zip(row, [*near, 1], strict=True)), Fraction(0))
                  for form in forms[:-1] for row in form.to_fractions()]  # fmt: skip
        assert [value > 0 for value in values] == [piece == 1 for piece in region.pattern]
        at_point = [sum((a * Fraction(t) for a, t in zip(row, [*point, 1], strict=True)), Fraction(0))
                    for form in forms[:-1] for row in form.to_fractions()]  # fmt: skip
        on_border += 0 in at_point
    assert on_border > 10


def test_float64_alone_does_not_decide_what_is_within_rounding() -> None:
    """0.1 + 0.2 - 0.3 is 2 ** -54 below what float64 makes of it, or so; rationals tell on which side it is."""
    rs = al.enumerate([([[1.0, 1.0]], [-0.3]), ([[1.0]], [0.0])], al.Box(0, 1, dim=2))
    exact = Fraction(0.1) + Fraction(0.2) - Fraction(0.3)
    assert 0 < abs(exact) < 1e-16
    assert rs.at([0.1, 0.2]).pattern.tolist() == [int(exact > 0)]


def test_a_unit_that_is_zero_everywhere_is_on_the_piece_below() -> None:
    """The second of two ReLUs in a row, where the first is off."""
    builder = GraphBuilder((1,))
    first = rectify(builder, builder.input(), np.array(0.0), "first")
    network = builder.finish(rectify(builder, first, np.array(0.0), "second"))
    rs = al.enumerate(network, al.Box(-1, 1, dim=1))
    assert [rs.at([x]).pattern.tolist() for x in (-0.5, 0.5)] == [[0, 0], [1, 1]]
