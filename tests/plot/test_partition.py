from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from matplotlib import colormaps
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

import affinelens as al
from affinelens.measure.geometry.shared_sides import shared_sides
from affinelens.plot import partition
from affinelens.plot.fills import class_fills
from support.plot_sets import area, drawn_set, linear_set, rings

REGIONS = drawn_set(2, 8, 8, 3, seed=8)


def polygons(ax: Any) -> PolyCollection:
    [found] = [c for c in ax.collections if isinstance(c, PolyCollection)]
    return found


def class_numbers(collection: PolyCollection) -> np.ndarray:
    """The class that each polygon is painted as."""
    palette = class_fills(np.arange(10))
    return np.abs(collection.get_facecolor()[:, None, :3] - palette[None, :, :3]).sum(axis=2).argmin(axis=1)


def test_every_region_is_one_polygon_of_its_own_area() -> None:
    drawn = rings(polygons(REGIONS.plot()))
    assert len(drawn) == len(REGIONS)
    np.testing.assert_allclose([area(ring) for ring in drawn], REGIONS.volumes(), rtol=1e-9, atol=1e-15)
    assert sum(map(area, drawn)) == pytest.approx(4)


def test_neighbors_have_different_colors() -> None:
    paint = polygons(REGIONS.plot()).get_facecolor()
    for region in REGIONS:
        for other in region.neighbors:
            assert other is None or not np.array_equal(paint[region.index], paint[other])


def test_polygons_have_the_color_of_the_class_there() -> None:
    collection = polygons(REGIONS.plot(color="class"))
    drawn = rings(collection)
    expected = [int(REGIONS.network(ring.mean(axis=0)).argmax()) for ring in drawn]
    assert len(set(expected)) > 1
    np.testing.assert_array_equal(class_numbers(collection), expected)
    assert sum(map(area, drawn)) == pytest.approx(4)


def test_a_class_that_wins_only_inside_a_region_is_drawn() -> None:
    regions = linear_set([[4, 0], [-4, 0], [0, 0]], [-2.5, -5.5, 0])
    # On the right half x > 0.625 is class 0; on the left class 1 would need x < -1.375; class 2 has the rest.
    collection = polygons(regions.plot(color="class"))
    shares = np.bincount(class_numbers(collection), [area(ring) for ring in rings(collection)])
    np.testing.assert_allclose(shares, [0.75, 0, 3.25], atol=1e-12)


def test_a_strip_between_two_classes_is_found_in_one_region() -> None:
    weight = np.array([[1.0, 0], [-1.0, 0], [0.0, 0]])
    regions = al.enumerate([(weight, np.array([0.0, 0.0, 0.25]))], al.Box(-1, 1, dim=2))
    collection = polygons(regions.plot(color="class"))
    shares = np.bincount(class_numbers(collection), [area(ring) for ring in rings(collection)])
    np.testing.assert_allclose(shares, [1.5, 1.5, 1.0])


def test_of_equal_outputs_the_first_has_the_class() -> None:
    regions = linear_set([[1, 0], [1, 0]], [0, 0])
    collection = polygons(regions.plot(color="class"))
    assert set(class_numbers(collection)) == {0}
    assert len(rings(collection)) == len(regions)


@pytest.mark.parametrize(("weight", "bias"), [([[1, -1], [-1, 1]], [0, 0]), ([[1, -1]], [0])], ids=["two", "one"])
def test_the_boundary_of_a_linear_classifier_is_one_straight_line(weight: Any, bias: Any) -> None:
    ax = linear_set(weight, bias).plot(color="class", boundary=True)
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    for collection in lines:
        segments = np.array(collection.get_segments())
        np.testing.assert_allclose(segments[:, :, 0], segments[:, :, 1], atol=1e-12)
        lengths = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)
        assert lengths.sum() == pytest.approx(2 * np.sqrt(2))
    assert lines


def test_at_the_boundary_the_two_largest_outputs_are_equal() -> None:
    ax = REGIONS.plot(boundary=True)
    line = next(c for c in ax.collections if isinstance(c, LineCollection))
    middles = np.array(line.get_segments()).mean(axis=1)
    outputs = np.sort(REGIONS.network(middles), axis=1)
    np.testing.assert_allclose(outputs[:, -1], outputs[:, -2], atol=1e-12)


def test_without_a_boundary_no_line_is_drawn() -> None:
    ax = REGIONS.plot(color="class", boundary=False)
    assert not [c for c in ax.collections if isinstance(c, LineCollection)]


def test_a_window_shows_what_is_inside_it() -> None:
    for color in ("neighbors", "class"):
        ax = REGIONS.plot(window=(-0.25, 0.5, 0.0, 0.25), color=color)
        drawn = rings(polygons(ax))
        assert sum(map(area, drawn)) == pytest.approx(0.75 * 0.25)
        assert 0 < len(drawn) < len(REGIONS)
        assert (ax.get_xlim(), ax.get_ylim()) == ((-0.25, 0.5), (0.0, 0.25))


def test_an_incomplete_set_is_shown_in_the_whole_domain() -> None:
    regions = al.enumerate(REGIONS.network, REGIONS.domain, max_regions=5)
    ax = regions.plot()
    assert len(rings(polygons(ax))) == len(regions) < len(REGIONS)
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1, 1), (-1, 1))


def test_numbers_become_colors_in_their_order() -> None:
    numbers = np.arange(len(REGIONS), dtype=float)
    ax = REGIONS.plot(color=numbers)
    scale = Normalize(*np.percentile(numbers, [5, 100]))
    np.testing.assert_allclose(polygons(ax).get_facecolor(), colormaps["viridis"](scale(numbers)))
    assert len(ax.child_axes) == 1


@pytest.mark.parametrize("name", ["volume", "gradient", "facets", "vertices", "output"])
def test_columns_have_a_color_bar_with_their_name(name: str) -> None:
    ax = REGIONS.plot(color=name)
    assert name in ax.child_axes[0].get_ylabel()
    assert not REGIONS.plot(color=name, legend=False).child_axes


def test_units_are_drawn_where_they_are_zero_and_by_stage() -> None:
    sides = shared_sides(REGIONS)
    assert len(sides.ends) == (REGIONS.neighbor_values >= 0).sum() / 2
    middles = sides.ends.mean(axis=1)
    for middle, region, number, stage in zip(middles, sides.regions, sides.hyperplanes, sides.stages, strict=True):
        which, unit = REGIONS.hyperplanes.located(int(number))
        assert which == stage
        form = REGIONS.network.exact_forms(REGIONS.domain.frame.chart, REGIONS.pattern(int(region[0])))[stage]
        assert form.to_floats()[unit] @ np.append(middle, 1.0) == pytest.approx(0, abs=1e-12)


def test_the_lines_of_two_stages_have_two_colors() -> None:
    ax = REGIONS.plot(hyperplanes=True)
    [lines] = [c for c in ax.collections if isinstance(c, LineCollection)]
    assert len(np.unique(lines.get_colors(), axis=0)) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["stage 1", "stage 2"]


def test_points_are_drawn_where_they_are() -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    ax = REGIONS.plot(points=points, labels=np.arange(20) % 2)
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), points)
    assert len(np.unique(ax.collections[-1].get_facecolor(), axis=0)) == 2


def test_points_of_a_tensor_that_is_trained_are_drawn() -> None:
    points = torch.tensor([[0.25, -0.5]], requires_grad=True)
    ax = REGIONS.plot(points=points, labels=torch.tensor([1]))
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), [[0.25, -0.5]])


def test_points_on_a_slice_are_inputs_or_slice_coordinates() -> None:
    domain = al.Slice.axes([0.0, 0.5, 0.0], (0, 2), -1, 1)
    regions = al.enumerate([(np.eye(3), np.zeros(3)), (np.ones((1, 3)), np.zeros(1))], domain)
    for points in ([[0.25, 0.5, -0.5]], [[0.25, -0.5]]):
        np.testing.assert_allclose(regions.plot(points=points).collections[-1].get_offsets(), [[0.25, -0.5]])


def test_axes_go_in_and_come_out() -> None:
    ax = Figure().add_subplot()
    assert REGIONS.plot(ax) is ax
    assert partition(REGIONS, ax=ax) is ax


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"color": "color"}, "take one of neighbors, class"),
        ({"color": [1.0, 2.0]}, "one number a region"),
        ({"color": object()}, "a number a region"),
        ({"window": (1, 0, 0, 1)}, "left < right"),
        ({"window": 3}, "left < right"),
        ({"points": [1.0, 2.0, 3.0]}, "rows of 2 coordinates"),
        ({"points": [[0.0, 0.0]], "labels": [0, 1]}, "for each of the 1 points"),
        ({"points": [[0.0, 0.0]], "labels": [-1]}, "0 or more, .* but one is -1; number the classes from 0"),
        ({"points": [[0.0, 0.0]], "labels": [0.5]}, "but one is 0.5"),
        ({"points": [[0.0, 0.0]], "labels": ["cat"]}, "for each of the 1 points, but got"),
        ({"points": "data.csv"}, "rows of 2 coordinates, but got 'data.csv'"),
        ({"explode": 1.0}, "does not take explode"),
        ({"ax": 3}, "leave it out"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(al.AffineLensError, match=says):
        REGIONS.plot(**options)
