"""A set of regions can be indexed, searched by point, shown and handed to other libraries."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import affinelens as al
from affinelens.errors import AffineLensError
from support.brute_force import Layer
from support.networks import HARD_TANH, compiled, evaluate

# Whole numbers: halfspaces are exact in float64, and many hyperplanes pass through the points with whole coordinates.
CROSSING = [
    Layer([[1, 0], [0, 1], [1, 1], [1, -1]], [0, 0, 0, 0]),
    Layer([[1, -1, 0, 0], [0, 1, 1, -2], [1, 0, -1, 1]], [0, -1, 0]),
]
MIXED = [
    Layer([[2, 1], [1, -1], [1, 2], [0, 1]], [0, 1, -1, 0], [HARD_TANH] * 4),
    Layer([[1, 1, 0, 0], [0, 1, -1, 0], [1, 0, 0, 2], [0, 1, 1, 1]], [0, 0, 1, 0], None, [2, 2]),
]
CASES = {"crossing": CROSSING, "mixed": MIXED}
BOX = al.Box(-2, 2, dim=2)
every_case = pytest.mark.parametrize("name", CASES)


@cache
def enumerated(name: str) -> al.RegionSet:
    return al.enumerate(
        compiled(CASES[name], output=([[1.0] * len(CASES[name][-1].groups or CASES[name][-1].bias)], [0.5])),
        BOX,
        workers=1,
    )


def closures_at(rs: al.RegionSet, x: np.ndarray) -> set[int]:
    """The regions whose closure contains x, decided exactly."""
    point = [Fraction(v) for v in x.tolist()]
    found = set()
    for region in rs:
        weight, offset = region.halfspaces
        values = (
            sum((Fraction(a) * v for a, v in zip(row, point, strict=True)), Fraction(b))
            for row, b in zip(weight, offset, strict=True)
        )
        if all(value >= 0 for value in values):
            found.add(region.index)
    return found


# ---------------------------------------------------------------------- locate


@every_case
def test_every_regions_point_is_found_in_it(name: str) -> None:
    rs = enumerated(name)
    assert rs.locate(rs.points).tolist() == list(range(len(rs)))
    for region in rs:
        assert region.point in region
        assert evaluate(CASES[name], region.exact_point)[1] == region.pattern.tolist()


@every_case
def test_points_on_borders_and_corners_get_a_region_that_touches_them(name: str) -> None:
    rs = enumerated(name)
    quarters = np.linspace(-2, 2, 17)
    grid = np.array([[x, y] for x in quarters for y in quarters])
    found = rs.locate(grid)
    several = 0
    for x, index in zip(grid, found.tolist(), strict=True):
        closures = closures_at(rs, x)
        several += len(closures) > 1
        assert index in closures
    assert several > 50


@every_case
def test_the_same_point_always_gets_the_same_region(name: str) -> None:
    rs = enumerated(name)
    grid = np.array([[x, y] for x in (-2.0, -1.0, 0.0, 1.0) for y in (-2.0, 0.0, 2.0)])
    assert [rs.locate(x) for x in grid] == rs.locate(grid).tolist() == rs.locate(grid[::-1]).tolist()[::-1]


@every_case
def test_random_points_are_found_where_their_pattern_is(name: str) -> None:
    rs = enumerated(name)
    for x in np.random.default_rng(0).uniform(-2, 2, (50, 2)):
        index = rs.locate(x)
        assert rs.patterns[index].tolist() == evaluate(CASES[name], x.tolist())[1]
        jacobian, constant = rs[index].affine
        np.testing.assert_allclose(jacobian @ x + constant, rs.network(x), rtol=1e-12, atol=1e-12)


def test_points_an_ulp_from_a_border_are_told_apart() -> None:
    rs = al.enumerate([([[3.0], [1.0]], [-1.0, -0.5]), ([[1.0, 1.0]], [0.0])], al.Box(0, 1, dim=1), workers=1)
    third = 1 / 3  # below the true third
    patterns = [
        rs.patterns[rs.locate([x])].tolist()
        for x in (third, np.nextafter(third, 1), np.nextafter(0.5, 0), np.nextafter(0.5, 1))
    ]
    assert patterns == [[0, 0], [1, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize("x", [[2.5, 0.0], [0.0, -2.0000000000000004], [np.nan, 0.0], [np.inf, 0.0], [1e300, -1e300]])
def test_points_outside_the_domain_are_in_no_region(x: list[float]) -> None:
    assert enumerated("crossing").locate(x) == -1
    assert enumerated("crossing").locate([x, [0.1, 0.2]])[0] == -1


def test_points_of_a_domain_with_fixed_inputs_must_have_their_values() -> None:
    rs = al.enumerate(compiled(CROSSING), al.Box([-1, 0.5], [1, 0.5]), workers=1)
    assert rs.points.shape == (len(rs), 2)
    assert set(rs.points[:, 1].tolist()) == {0.5}
    assert rs.locate(rs.points).tolist() == list(range(len(rs)))
    assert rs.locate([0.0, 0.25]) == -1


def test_an_incomplete_set_answers_for_what_it_holds() -> None:
    part = al.enumerate(compiled(CROSSING), BOX, workers=1, max_regions=4)
    whole = al.enumerate(compiled(CROSSING), BOX, workers=1)
    found = part.locate(whole.points)
    assert sorted(found[found >= 0].tolist()) == [0, 1, 2, 3]
    assert np.count_nonzero(found == -1) == len(whole) - 4


def test_one_point_or_many() -> None:
    rs = enumerated("crossing")
    assert isinstance(rs.locate([0.1, 0.2]), int)
    assert rs.locate([[0.1, 0.2]]).shape == (1,)
    assert rs.locate(np.zeros((0, 2))).shape == (0,)
    for wrong in ([0.1], [0.1, 0.2, 0.3], [[0.1], [0.2]], 0.5):
        with pytest.raises(AffineLensError, match="points of 2 numbers"):
            rs.locate(wrong)


# ---------------------------------------------------------------------- a sequence of regions


def test_indexing_slicing_and_iterating() -> None:
    rs = enumerated("crossing")
    assert [region.index for region in rs] == list(range(len(rs)))
    assert rs[-1].index == rs[len(rs) - 1].index == len(rs) - 1
    assert rs[np.int64(2)].index == 2
    np.testing.assert_array_equal(rs[2:8:3].points, rs.points[[2, 5]])
    np.testing.assert_array_equal(rs[-2:].points, rs.points[-2:])
    assert len(rs[5:5]) == 0
    for wrong in (len(rs), -len(rs) - 1):
        with pytest.raises(IndexError, match=str(wrong)):
            rs[wrong]


def test_columns_and_regions_agree() -> None:
    rs = enumerated("mixed")
    assert rs.points.shape == (len(rs), 2)
    assert rs.patterns.shape == (len(rs), 6)
    assert len(rs.facet_offsets) == len(rs) + 1
    assert rs.facet_offsets[-1] == len(rs.facet_values)
    for region in rs:
        assert region.point.tolist() == rs.points[region.index].tolist()
        assert region.pattern.tolist() == rs.patterns[region.index].tolist()
        assert [part.tolist() for part in region.patterns_by_stage] == [
            region.pattern[:4].tolist(),
            region.pattern[4:].tolist(),
        ]
        assert len(region.facets) == len(region.halfspaces[0]) == np.diff(rs.facet_offsets)[region.index] >= 3


def test_facets_are_named() -> None:
    rs = al.enumerate([([[1.0]], [0.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1), workers=1)
    assert sorted(tuple(sorted(region.facets)) for region in rs) == sorted(
        tuple(sorted(pair))
        for pair in ((rs.describe_hyperplane(0), "stage 1, unit 0"), (rs.describe_hyperplane(1), "stage 1, unit 0"))
    )
    assert all(rs.describe_hyperplane(number).startswith("domain") for number in (0, 1))


# ---------------------------------------------------------------------- shown and handed on


def test_texts() -> None:
    rs = enumerated("crossing")
    assert repr(rs).startswith(f"RegionSet({len(rs)} regions, COMPLETE, dimension 2")
    assert repr(rs[0]).startswith("Region(0, point=(")
    page = rs._repr_html_()
    assert page.startswith("<table>")
    assert "</table><img src=" in page
    assert f"<td style='text-align:left'>{len(rs)}</td>" in page
    assert "every region was found" in page
    assert rs.layer_counts[-1] == len(rs)
    assert " -&gt; ".join(str(count) for count in rs.layer_counts) in page


def test_to_pandas() -> None:
    pytest.importorskip("pandas")
    rs = enumerated("mixed")
    frame = rs.to_pandas()
    assert len(frame) == len(rs)
    assert frame.index.name == "region"
    assert frame[["x0", "x1"]].to_numpy().tolist() == rs.points.tolist()
    assert [pattern.tolist() for pattern in frame["pattern"]] == rs.patterns.tolist()
    assert frame["facets"].tolist() == [len(region.facets) for region in rs]


def test_to_arrow() -> None:
    rs = enumerated("mixed")
    table = rs.to_arrow()
    assert table.num_rows == len(rs)
    assert table.column("point").to_pylist() == rs.points.tolist()
    assert table.column("pattern").to_pylist() == rs.patterns.tolist()
    assert [len(facets) for facets in table.column("facets").to_pylist()] == [len(region.facets) for region in rs]
    signs = {sign for row in table.column("facet_signs").to_pylist() for sign in row}
    assert signs == {-1, 1}


def test_a_region_without_a_float64_point_keeps_its_rational_one_in_the_table() -> None:
    layers = [([[1.0], [1.0]], [-1.0, -(1.0 + 2.0**-52)]), ([[1.0, 1.0]], [0.0])]
    rs = al.enumerate(layers, al.Box(0, 2, dim=1), workers=1)
    (thin,) = (region for region in rs if region.pattern.tolist() == [1, 0])
    stored = rs.to_arrow().column("exact_coordinates").to_pylist()
    assert [Fraction(text) for text in stored[thin.index]] == thin.exact_point
    assert [row for i, row in enumerate(stored) if i != thin.index] == [None, None]


def test_sets_without_choices_and_without_regions_are_handed_on_too() -> None:
    single = al.enumerate([([[1.0, 2.0]], [0.5])], BOX, workers=1)
    assert single.to_arrow().num_rows == len(single.to_pandas()) == 1
    empty = al.enumerate(compiled(CROSSING), BOX, workers=1, time_limit=1e-9)
    assert empty.to_arrow().num_rows == len(empty.to_pandas()) == len(empty)
    assert len(list(empty)) == len(empty)
    assert empty.locate([0.1, 0.2]) in range(-1, len(empty))
