"""Boxes around a domain: they contain it, touch it on every side, and their halves make them up."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import affinelens as al
from affinelens.restrict.enclosing_box import EnclosingBox

TRIANGLE = al.Polytope([[1, 0], [0, 1], [-1, -2]], [0, 0, 2])
CORNERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]])


def chart_points(box: EnclosingBox, frame: al.domain.Frame) -> np.ndarray:
    """The corners of a box as inputs."""
    chart = box.over(frame.chart).to_floats()
    return np.array([chart @ [*corner, 1.0] for corner in product((-1.0, 1.0), repeat=chart.shape[1] - 1)])


@pytest.mark.parametrize("directions", [[[1, 0], [0, 1]], [[1, 1], [1, -1]], [[3, 1], [1, 2]], [[0.1, 0], [0.3, 7]]])
def test_along_directions_it_is_the_smallest(directions: list[list[float]]) -> None:
    rows = np.array(directions, dtype=float)
    box = EnclosingBox.along(TRIANGLE.frame, rows)
    values = CORNERS @ rows.T
    np.testing.assert_allclose(box.lower, values.min(axis=0), atol=1e-15)
    np.testing.assert_allclose(box.upper, values.max(axis=0), rtol=1e-15)
    reached = chart_points(box, TRIANGLE.frame) @ rows.T
    assert (reached.min(axis=0) <= values.min(axis=0) + 1e-12).all()
    assert (reached.max(axis=0) >= values.max(axis=0) - 1e-12).all()
    assert box.volume == pytest.approx(float(np.prod(np.ptp(values, axis=0))) / abs(np.linalg.det(rows)))


@pytest.mark.parametrize(("slanted", "longest"), [(False, 0), (True, 1)])
def test_halves_make_it_up_and_cut_its_longest_side(slanted: bool, longest: int) -> None:
    """Along x + 4 y, which is from -1 to 3, y moves by 1; along x, which is from -1 to 1, x moves by 2."""
    frame = al.Box([-1, 0], [1, 0.5]).frame
    rows = np.array([[1.0, 4.0], [1.0, 0.0]])
    box = EnclosingBox.along(frame, rows) if slanted else EnclosingBox(frame.lower, frame.upper)
    below, above = box.halves(frame.chart)
    assert below.volume == pytest.approx(box.volume / 2)
    assert above.volume == pytest.approx(box.volume / 2)
    assert np.flatnonzero(below.upper != box.upper).tolist() == [longest]
    assert below.upper[longest] == above.lower[longest]
    assert np.array_equal(below.lower, box.lower)
    assert np.array_equal(above.upper, box.upper)


@pytest.mark.parametrize("seed", range(5))
def test_however_its_middle_and_reach_are_rounded_it_is_within(seed: int) -> None:
    """Of hundreds of boxes whose bounds have different exponents, some have a reach that rounds down."""
    generator = np.random.default_rng(seed)
    lower = generator.uniform(-1, 1, 200) * 2.0 ** generator.integers(-60, 60, 200)
    upper = lower + np.abs(generator.uniform(0, 1, 200)) * 2.0 ** generator.integers(-60, 60, 200)
    narrow = np.nextafter(lower, np.inf)
    for low, high in ((lower, np.maximum(upper, narrow)), (lower, narrow)):
        chart = EnclosingBox(low, high).over(al.Box(0, 1, dim=200).frame.chart).to_fractions()
        for axis, row in enumerate(chart):
            assert row[-1] - row[axis] <= low[axis]
            assert row[-1] + row[axis] >= high[axis]
