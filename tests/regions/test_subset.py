"""Some regions of a set as a set of their own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest

import affinelens as al
from support.random_networks import random_layers


@pytest.fixture(scope="module")
def rs() -> al.RegionSet:
    return al.enumerate(random_layers([2, 8, 8, 2], 3, bias=1), al.Box(-1, 1, dim=2), vertices=True)


def test_rows_slices_and_masks_select_the_same_regions(rs: al.RegionSet) -> None:
    mask = np.zeros(len(rs), dtype=bool)
    mask[2:5] = True
    for chosen in (rs[2:5], rs[[2, 3, 4]], rs[np.array([2, 3, 4])], rs[mask], rs[mask.tolist()]):
        assert chosen.status is al.Status.SELECTION
        assert not chosen.certificate.complete
        assert chosen.share is None
        np.testing.assert_array_equal(chosen.points, rs.points[2:5])
        np.testing.assert_array_equal(chosen.patterns, rs.patterns[2:5])
        np.testing.assert_array_equal(chosen.volumes(), rs.volumes()[2:5])
        np.testing.assert_array_equal(chosen[1].vertices, rs[3].vertices)
        assert chosen[1].facets == rs[3].facets


def test_cells_after_a_stage_are_those_with_selected_regions(rs: al.RegionSet) -> None:
    everything = rs[:]
    assert everything.layer_counts == rs.layer_counts
    one = rs[[4]]
    assert one.layer_counts == (1, 1)
    assert repr(one) == "RegionSet(1 region, SELECTION, dimension 2, by vertex)"
    assert len(rs[[]]) == 0
    assert rs[[]].layer_counts == (0, 0)


def test_a_selection_is_measured_saved_and_drawn_as_a_set(rs: al.RegionSet, tmp_path: object) -> None:
    chosen = rs[rs.volumes() > np.median(rs.volumes())]
    assert 0 < len(chosen) < len(rs)
    assert chosen.metrics()["complete"] == 0
    assert chosen.decision_boundary().measure <= rs.decision_boundary().measure
    again = al.load(chosen.save(f"{tmp_path}/run"))
    assert again.status is al.Status.SELECTION
    np.testing.assert_array_equal(again.points, chosen.points)
    assert len(chosen.plot().collections)


def test_filter_keeps_what_is_within_bounds(rs: al.RegionSet) -> None:
    volumes = rs.volumes()
    np.testing.assert_array_equal(
        rs.filter("volume", at_least=0.01, at_most=0.1).volumes(), volumes[(volumes >= 0.01) & (volumes <= 0.1)]
    )
    first = rs.filter("class", equals=0)
    assert len(first) + len(rs.filter("class", equals=1)) == len(rs)
    with pytest.raises(al.AffineLensError, match=r"column 'center' has several numbers a region"):
        rs.filter("center", at_least=0)


@pytest.mark.parametrize("index", [1.0, True, "0", None, [0.5], [[0, 1]], (slice(2), 1), {3}])
def test_what_names_no_region_gets_a_sentence(rs: al.RegionSet, index: object) -> None:
    with pytest.raises(al.AffineLensError, match=r"^a region is chosen by its row.*rs\.at\(x\)"):
        rs[index]  # type: ignore[call-overload]


def test_masks_and_rows_must_fit(rs: al.RegionSet) -> None:
    with pytest.raises(al.AffineLensError, match="a mask needs one bool a region"):
        rs[[True, False]]
    with pytest.raises(IndexError, match="there is no region 1000000"):
        rs[[0, 1000000]]


def test_the_region_of_a_point_or_where_the_point_lies(rs: al.RegionSet) -> None:
    assert rs.at([0.25, -0.5]).index == rs.locate([0.25, -0.5])
    for point, sentence in [
        ([2.0, 0.0], r"outside the domain: x\[0\] <= 1 does not hold"),
        ([0.0, -1.5], r"outside the domain: x\[1\] >= -1 does not hold"),
        ([np.nan, 0.0], "NaN or infinite"),
        ([[0.0, 0.0], [0.1, 0.1]], "at takes one point, but got 2"),
        ([0.0], "points of 2 numbers"),
        ("here", "a point is an array of numbers"),
    ]:
        with pytest.raises(al.AffineLensError, match=sentence):
            rs.at(point)
    missing = rs[1:]
    with pytest.raises(al.AffineLensError, match="where no region of this set is: the set is incomplete"):
        missing.at(rs.points[0])


def test_points_beside_a_slice_or_a_fixed_input() -> None:
    layers = random_layers([3, 6, 1], 0, bias=1)
    plane = al.enumerate(layers, al.Slice.through([0, 0, 0], [1, 0, 0], [0, 1, 0]))
    assert plane.at([0.2, 0.3]).index == plane.locate([0.2, 0.3, 0.0])
    with pytest.raises(al.AffineLensError, match="does not lie on the slice"):
        plane.at([0.2, 0.3, 0.4])
    with pytest.raises(al.AffineLensError, match=r"window, t\[0\] <= "):
        plane.at([9.0, 0.0, 0.0])
    fixed = al.enumerate(layers, al.Box([0, 0, 0.5], [1, 1, 0.5]))
    with pytest.raises(al.AffineLensError, match="differs from the domain in a fixed input"):
        fixed.at([0.5, 0.5, 0.25])


@pytest.mark.parametrize("travel", [lambda rs: pickle.loads(pickle.dumps(rs)), copy.deepcopy, copy.copy])
def test_a_set_travels_after_everything_was_computed(travel: Callable[[al.RegionSet], al.RegionSet]) -> None:
    rs = al.enumerate(random_layers([2, 6, 6, 2], 1, bias=1), al.Box(-1, 1, dim=2))
    rs.neighbor_values, rs.metrics(), rs.to_networkx(), rs.plot(color="class"), rs.locate([0.0, 0.0]), rs[0].affine
    again = travel(rs)
    assert type(again) is al.RegionSet
    assert again.status is rs.status
    np.testing.assert_array_equal(again.patterns, rs.patterns)
    np.testing.assert_array_equal(again.neighbor_values, rs.neighbor_values)
    assert again.metrics() == rs.metrics()
