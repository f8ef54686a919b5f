"""Columns by name: slopes, outputs, classes, border distances, and how they are asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from support.measured import ABSOLUTE, random_set
from support.random_networks import random_layers


def test_every_column_has_a_row_a_region() -> None:
    rs = random_set(3, 6, 5, 2, seed=0)
    for name in rs.columns:
        assert len(rs.column(name)) == len(rs)
        assert rs.column(name) is rs.column(name)


def test_slopes_and_norms_are_those_of_each_regions_map() -> None:
    rs = random_set(3, 6, 5, 2, seed=0)
    for index in range(0, len(rs), 7):
        jacobian, constant = rs[index].local.affine
        assert rs.column("slopes")[index] == pytest.approx(jacobian, abs=1e-12)
        assert rs.column("constants")[index] == pytest.approx(constant, abs=1e-12)
        assert rs.column("jacobian_norm")[index] == pytest.approx(np.linalg.norm(jacobian, 2), abs=1e-12)
        assert rs.column("jacobian_norm_linf")[index] == pytest.approx(np.linalg.norm(jacobian, np.inf), abs=1e-12)
        assert rs.column("gradient_norm")[index] == pytest.approx(np.linalg.norm(jacobian, axis=1), abs=1e-12)


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_spectral_norms_of_any_shape(outputs: int) -> None:
    rs = random_set(4, 4, outputs, seed=0)
    for index in range(len(rs)):
        norm = np.linalg.norm(rs[index].local.affine[0], 2)
        assert rs.column("jacobian_norm")[index] == pytest.approx(norm, abs=1e-12)


def test_outputs_and_classes_are_the_networks_at_the_points() -> None:
    rs = random_set(2, 10, 10, 3, seed=0)
    outputs = rs.network(rs.points)
    assert rs.column("output") == pytest.approx(outputs, abs=1e-12)
    assert rs.column("class").tolist() == outputs.argmax(axis=1).tolist()


def test_the_class_of_one_output_is_its_sign() -> None:
    rs = al.enumerate([([[1.0]], [0.0]), ([[3.0]], [0.0])], al.Box(-1, 1, dim=1))
    assert rs.column("class").tolist() == [0, 1]  # on the left it is zero, which is not positive


def test_equal_outputs_are_of_the_first_class_exactly() -> None:
    # 0.1 * 3 and 0.3 differ by a rounding; 0.1 + 0.2 and 0.3 too
    three = [([[1.0]], [1.0]), ([[0.1 * 3], [0.3], [0.3]], [0.0, 0.0, 0.0])]
    rs = al.enumerate(three, al.Box(0, 1, dim=1))
    exact = [Fraction(0.1 * 3), Fraction(0.3), Fraction(0.3)]
    assert rs.column("class").tolist() == [exact.index(max(exact))]
    tied = al.enumerate([([[1.0]], [0.0]), ([[1.0], [1.0]], [0.0, 0.0])], al.Box(-1, 1, dim=1))
    assert tied.column("class").tolist() == [0, 0]


def test_crossed_is_where_a_region_has_points_of_two_classes() -> None:
    # outputs relu(x) and 1/2: they meet at 1/2; on the left the second is larger all over
    model = [([[1.0]], [0.0]), ([[1.0], [0.0]], [0.0, 0.5])]
    rs = al.enumerate(model, al.Box(-1, 1, dim=1))
    assert rs.column("crossed").tolist() == [False, True]
    # the boundary of |x| > 0 runs between the two regions and crosses neither
    assert al.enumerate(ABSOLUTE, al.Box(-1, 1, dim=1)).column("crossed").tolist() == [False, False]


def test_crossed_agrees_with_the_classes_of_many_points() -> None:
    rs = random_set(2, 10, 8, 3, seed=0)
    points = np.random.default_rng(0).uniform(-1, 1, (4000, 2))
    classes, where = rs.network(points).argmax(axis=1), rs.locate(points)
    for index in range(len(rs)):
        if len(set(classes[where == index].tolist())) > 1:
            assert rs.column("crossed")[index]
    assert 0 < rs.column("crossed").sum() < len(rs)


def test_distance_from_the_border() -> None:
    grid = [([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [0.5, -0.25, 0.5, -0.25]), ([[1.0] * 4], [0.0])]
    rs = al.enumerate(grid, al.Box(-1, 1, dim=2))
    distances = rs.column("border_distance")
    assert len(rs) == 9
    assert distances[int(rs.locate([0.0, 0.0]))] == 0.5
    assert sorted(distances.tolist()) == [0.0] * 8 + [0.5]


def test_counts_of_facets_and_vertices_of_polygons_agree() -> None:
    rs = random_set(2, 10, 10, 1, seed=0)
    assert rs.column("facet_count").tolist() == rs.column("vertex_count").tolist()


def test_slopes_on_a_slice_are_along_its_coordinates() -> None:
    model, box = [([[3.0, 4.0]], [9.0]), ([[1.0]], [0.0])], al.Box(-1, 1, dim=1)
    assert al.enumerate(model, al.Slice([0.0, 0.0], [[0.0, 0.5]], box)).column("jacobian_norm").tolist() == [2.0]


def test_an_unknown_column_is_named_with_the_nearest_there_is() -> None:
    with pytest.raises(al.AffineLensError, match="no column 'volumes'; did you mean 'volume'"):
        random_set(1, 2, 1, seed=0).column("volumes")


def test_tables_take_columns() -> None:
    rs = random_set(2, 4, 3, 2, seed=0)
    frame = rs.to_pandas(["volume", "center", "class"])
    assert frame["volume"].sum() == pytest.approx(4.0)
    assert frame[["center_0", "center_1"]].to_numpy().tolist() == rs.column("center").tolist()
    table = rs.to_arrow(["slopes"])
    assert table.column("slopes_1_0").to_pylist() == rs.column("slopes")[:, 1, 0].tolist()
    assert "volume" not in rs.to_arrow().column_names


def test_without_facets_what_needs_them_says_so() -> None:
    rs = random_set(2, 4, 3, 2, seed=0, facets=False)
    assert rs.volumes().sum() == pytest.approx(4.0)
    assert np.all(rs.column("border_distance") >= 0)
    with pytest.raises(al.AffineLensError, match="facets=True"):
        rs.column("inradius")


def test_a_linear_network_is_one_region() -> None:
    rs = al.enumerate([([[3.0, 4.0]], [1.0])], al.Box(-1, 1, dim=2))
    assert rs.column("gradient_norm").tolist() == [[5.0]]
    assert rs.column("inradius")[0] == pytest.approx(1.0)


def test_columns_of_units_in_max_groups_and_with_several_breaks() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 8), torch.nn.Hardtanh(), torch.nn.Unflatten(1, (1, 8)), torch.nn.MaxPool1d(2),
        torch.nn.Flatten(), torch.nn.Linear(4, 2),
    ).double()  # fmt: skip
    rs = al.enumerate(model, al.Box(-2, 2, dim=2))
    assert rs.volumes().sum() == pytest.approx(16.0)
    for index in range(0, len(rs), 5):
        weight, offset = rs[index].local.halfspaces
        distances = (weight @ rs.column("center")[index] + offset) / np.linalg.norm(weight, axis=1)
        assert distances.min() == pytest.approx(rs.column("inradius")[index], abs=1e-12)


def test_units_permuted_or_scaled_leave_all_measures_as_they_are() -> None:
    (w0, b0), (w1, b1), last = random_layers([2, 6, 5, 2], seed=0)
    order = [3, 1, 5, 0, 4, 2]
    moved = [(4 * w0[order], 4 * b0[order]), (w1[:, order] / 4, b1), last]
    first = al.enumerate([(w0, b0), (w1, b1), last], al.Box(-1, 1, dim=2))
    second = al.enumerate(moved, al.Box(-1, 1, dim=2))
    for name in ("volume", "inradius", "jacobian_norm", "border_distance"):
        assert np.sort(first.column(name)) == pytest.approx(np.sort(second.column(name)), abs=1e-9)


def test_maps_that_are_not_kept_measure_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    restricted, names = random_set(2, 8, 8, 2, seed=0), ("jacobian_norm", "class", "crossed", "output")
    columns = {name: restricted.column(name) for name in names}
    monkeypatch.setattr("affinelens.measure.maps.affine_maps._NUMBERS_KEPT", 0)
    monkeypatch.setattr("affinelens.regions.region_functions._NUMBERS_AT_ONCE", 200)
    composed = random_set(2, 8, 8, 2, seed=0)
    assert all(composed.column(name) == pytest.approx(columns[name], abs=1e-12) for name in names)
