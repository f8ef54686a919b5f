"""Regions on a slice: the same as of the network composed with the slice, in slice coordinates and as inputs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.errors import AffineLensError
from support.random_networks import random_layers

# Whole numbers, so that composing with a slice of whole numbers rounds nothing.
LAYERS = random_layers([6, 9, 8, 3], seed=7, bias=1, whole=4)
ORIGIN = np.array([1.0, 0.0, -2.0, 3.0, 1.0, 0.0])
BASIS = np.array([[1.0, -1.0, 0.0, 2.0, 0.0, 1.0], [0.0, 3.0, 1.0, -1.0, 0.0, 2.0]])
WINDOWS = {
    "box": al.Box(-2, 2, dim=2),
    "triangle": al.Polytope([[1, 0], [0, 1], [-1, -1]], [1, 1, 2]),
    "line": al.Box([-2, 0.5], [2, 0.5]),
}
every_window = pytest.mark.parametrize("window", WINDOWS)


def composed() -> list[tuple[np.ndarray, np.ndarray]]:
    weight, bias = LAYERS[0]
    return [(weight @ BASIS.T, weight @ ORIGIN + bias), *LAYERS[1:]]


@cache
def on_slice(window: str) -> al.RegionSet:
    return al.enumerate(LAYERS, al.Slice(ORIGIN, BASIS, WINDOWS[window]), vertices=True)


@every_window
@pytest.mark.parametrize("engine", ["vertex", "linear_program"])
def test_a_slice_has_the_regions_of_the_composed_network(window: str, engine: str) -> None:
    reference = al.enumerate(composed(), WINDOWS[window], vertices=True)
    found = al.enumerate(LAYERS, al.Slice(ORIGIN, BASIS, WINDOWS[window]), engine=engine)
    assert len(found) == len(reference) > 5
    assert {p.tobytes() for p in found.patterns} == {p.tobytes() for p in reference.patterns}
    assert al.count(LAYERS, al.Slice(ORIGIN, BASIS, WINDOWS[window])) == len(reference)


@every_window
def test_both_kinds_of_coordinates_name_the_same_points(window: str) -> None:
    rs = on_slice(window)
    domain = rs.domain
    assert isinstance(domain, al.Slice)
    assert rs.points.shape == (len(rs), 6)
    assert rs.local.points.shape == (len(rs), domain.dim)
    assert np.array_equal(domain.to_inputs(rs.local.points), rs.points)
    assert np.array_equal(domain.to_inputs(rs.local.vertex_values), rs.vertex_values)
    for region in rs:
        assert np.array_equal(domain.to_inputs(region.local.point), region.point)
        assert np.array_equal(domain.to_inputs(region.local.vertices), region.vertices)
        assert [float(v) for v in region.exact_point] == pytest.approx(region.point.tolist())


@every_window
def test_points_are_located_by_either_kind(window: str) -> None:
    rs = on_slice(window)
    everyone = list(range(len(rs)))
    assert rs.locate(rs.points).tolist() == everyone
    assert rs.locate(rs.local.points).tolist() == everyone
    assert rs.locate(rs.local.points[3]) == rs.locate(rs.points[3]) == 3
    assert rs.points[3] in rs[3]
    assert rs.locate(np.full(rs.domain.dim, 100.0)) == -1
    assert rs.locate(rs.points[0] + [0, 0, 0, 0, 1, 0]) == -1
    with pytest.raises(AffineLensError, match="slice coordinates, but got an array of shape"):
        rs.locate([1.0, 2.0, 3.0, 4.0])


@every_window
def test_halfspaces_and_affine_maps_hold_in_both_kinds(window: str) -> None:
    rs = on_slice(window)
    for region in rs[:40]:
        weight, offset = region.halfspaces
        local_weight, local_offset = region.local.halfspaces
        assert weight.shape == (len(region.facets), 6)
        assert local_weight.shape == (len(region.facets), rs.domain.dim)
        for x, t in ((region.point, region.local.point), *zip(region.vertices, region.local.vertices, strict=True)):
            assert weight @ x + offset == pytest.approx(local_weight @ t + local_offset, abs=1e-9)
            assert np.all(local_weight @ t + local_offset > -1e-9)
        assert np.all(local_weight @ region.local.point + local_offset > 0)
        jacobian, constant = region.affine
        local_jacobian, local_constant = region.local.affine
        assert jacobian.shape == (3, 6)
        assert local_jacobian.shape == (3, rs.domain.dim)
        output = rs.network(region.point)
        assert jacobian @ region.point + constant == pytest.approx(output)
        assert local_jacobian @ region.local.point + local_constant == pytest.approx(output)


def test_facets_on_the_window_say_so() -> None:
    rs = on_slice("box")
    words = {facet for region in rs for facet in region.facets if facet.startswith("domain")}
    assert words == {f"domain, window, t[{i}] {side}" for i in (0, 1) for side in ("<= 2", ">= -2")}
    for region in rs:
        for facet, beyond in zip(region.facets, region.neighbors, strict=True):
            assert (beyond is None) == facet.startswith("domain")
            if beyond is not None:
                assert region.index in rs[beyond].neighbors
    assert rs[0].local.point.tolist() == rs.local.points[0].tolist()
    assert repr(rs[0]).startswith("Region(0, t=(")


@every_window
def test_a_run_on_a_slice_can_be_saved_and_read(window: str, tmp_path: Path) -> None:
    rs = on_slice(window)
    rs.save(tmp_path / "run")
    back = al.load(tmp_path / "run")
    assert isinstance(back.domain, al.Slice)
    assert back.domain.to_json() == rs.domain.to_json()
    assert np.array_equal(back.points, rs.points)
    assert np.array_equal(back.local.vertex_values, rs.local.vertex_values)
    assert back.locate(rs.points).tolist() == list(range(len(rs)))


def test_tables_of_a_slice_hold_slice_coordinates() -> None:
    rs = on_slice("box")
    table = rs.to_arrow()
    assert "point" not in table.column_names
    assert table.column("coordinates").to_pylist() == rs.local.points.tolist()
    pytest.importorskip("pandas")
    assert rs.to_pandas()[["t0", "t1"]].to_numpy().tolist() == rs.local.points.tolist()


def test_a_slice_in_the_diagonal_meets_hyperplanes_through_the_origin_together() -> None:
    """All of x, y, x + y vanish at the origin only, so that the diagonal has two regions and the antidiagonal three."""
    layers = [([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, 1.0]], [0.0])]
    line = al.Box(-1, 1, dim=1)
    assert al.count(layers, al.Slice([0, 0], [[1, 1]], line)) == 2
    antidiagonal = al.enumerate(layers, al.Slice([0, 0], [[1, -1]], line))
    assert len(antidiagonal) == 2  # x + y is zero all along it and cuts nothing
    assert al.count(layers, al.Slice([0, 0.5], [[1, -1]], line)) == 3


def test_an_axis_slice_is_the_box_with_the_other_inputs_fixed() -> None:
    x = np.array([0.5, -1.0, 1.0, 0.25, 2.0, -0.5])
    lower, upper = x.copy(), x.copy()
    lower[[1, 4]], upper[[1, 4]] = -3, 3
    boxed = al.enumerate(LAYERS, al.Box(lower, upper))
    sliced = al.enumerate(LAYERS, al.Slice.axes(x, (1, 4), -3, 3))
    assert np.array_equal(boxed.patterns, sliced.patterns)
    assert np.array_equal(boxed.points, sliced.points)
    assert np.array_equal(boxed.local.points, sliced.local.points)
    assert sliced.locate(boxed.points).tolist() == list(range(len(boxed)))


def test_many_inputs_are_no_matter() -> None:
    """2000 inputs: nothing of that size squared is built."""
    size = 2000
    generator = np.random.default_rng(1)
    layers = [
        (generator.normal(size=(12, size)), generator.normal(size=12)),
        (generator.normal(size=(2, 12)), np.zeros(2)),
    ]
    points = generator.normal(size=(3, size)).astype(np.float32)
    rs = al.enumerate(layers, al.Slice.through(*points, margin=0.5), vertices=True)
    assert rs.locate(rs.points).tolist() == list(range(len(rs)))
    region = rs[rs.locate(points[1])]
    jacobian, constant = region.affine
    assert jacobian.shape == (2, size)
    assert jacobian @ points[1] + constant == pytest.approx(rs.network(points[1]))
    local_jacobian, local_constant = region.local.affine
    assert local_jacobian @ [1, 0] + local_constant == pytest.approx(rs.network(points[1]))
    assert region.halfspaces[0].shape == (len(region.facets), size)
