"""Neighbors are mutual, lie beyond a facet of both, and make up one connected whole."""

from __future__ import annotations

import sys

import networkx
import numpy as np
import pytest

import affinelens as al
from affinelens.measure.topology.adjacency import connected
from support.random_networks import random_layers


@pytest.fixture(scope="module")
def rs() -> al.RegionSet:
    return al.enumerate(random_layers([2, 8, 8, 1], seed=0), al.Box(-1, 1, dim=2))


def test_the_matrix_is_symmetric_and_names_the_hyperplane_between(rs: al.RegionSet) -> None:
    adjacency = rs.adjacency()
    assert len(adjacency) == len(rs)
    matrix = adjacency.to_scipy()
    assert matrix.shape == (len(rs), len(rs))
    assert (matrix != matrix.T).nnz == 0
    assert matrix.diagonal().sum() == 0
    domain_rows = rs.domain.frame.rows.shape[0]
    for i, j, number in zip(adjacency.regions, adjacency.neighbors, adjacency.hyperplanes, strict=True):
        changed = np.flatnonzero(rs.patterns[i] != rs.patterns[j])
        stage, inner = rs.network.locate_break(int(number) - domain_rows)
        assert changed.tolist() == [rs.network.choice_offsets[stage] + inner]
        assert rs.describe_hyperplane(int(number)) == f"stage {stage + 1}, unit {inner}"


def test_rows_hold_the_neighbors_of_each_region(rs: al.RegionSet) -> None:
    adjacency = rs.adjacency()
    for region in rs:
        assert adjacency[region.index].tolist() == [n for n in region.neighbors if n is not None]
    assert adjacency.degrees.sum() == 2 * len(adjacency.pairs)
    assert np.all(adjacency.pairs[:, 0] < adjacency.pairs[:, 1])


def test_a_convex_domain_is_connected_through_facets(rs: al.RegionSet) -> None:
    adjacency = rs.adjacency()
    assert adjacency.components().tolist() == [0] * len(rs)
    nothing = np.zeros(len(adjacency.neighbors), dtype=bool)
    assert adjacency.components(nothing).tolist() == list(range(len(rs)))


def test_regions_of_a_line_are_a_path() -> None:
    layers = [(np.ones((3, 1)), np.array([-0.5, 0.0, 0.5])), (np.ones((1, 3)), np.zeros(1))]
    rs = al.enumerate(layers, al.Box(-1, 1, dim=1))
    graph = rs.to_networkx()
    assert networkx.is_isomorphic(graph, networkx.path_graph(4))
    assert sorted(unit for _, _, unit in graph.edges(data="unit")) == [f"stage 1, unit {k}" for k in range(3)]


def test_the_graph_has_what_is_known_of_regions(rs: al.RegionSet) -> None:
    graph = rs.to_networkx()
    assert graph.number_of_nodes() == len(rs)
    assert graph.number_of_edges() == len(rs.adjacency().pairs)
    for region in rs:
        node = graph.nodes[region.index]
        assert node["point"] == tuple(region.point.tolist())
        assert node["facets"] == len(region.facets)
        assert node["on_border"] == any(facet.startswith("domain") for facet in region.facets)
        assert node["on_border"] == (None in region.neighbors)


def test_points_of_the_graph_are_slice_coordinates_on_a_slice() -> None:
    plane = al.Slice.axes(np.zeros(4), (0, 2), -1.0, 1.0)
    rs = al.enumerate(random_layers([4, 8, 1], seed=1), plane)
    assert rs.to_networkx().nodes[0]["point"] == tuple(rs.local.points[0].tolist())


@pytest.mark.parametrize("name", ["networkx", "scipy"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    rs: al.RegionSet, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, f"{name}.sparse", None)
    call = rs.to_networkx if name == "networkx" else rs.adjacency().to_scipy
    with pytest.raises(al.MissingExtraError, match=rf"{name}.*pip install 'affinelens\[graph\]'"):
        call()


def test_connected_things_of_a_long_chain_get_one_number() -> None:
    generator = np.random.default_rng(0)
    names = generator.permutation(1000)
    first, second = names[:-1], names[1:]
    assert connected(1000, first, second).tolist() == [0] * 1000
    cut = np.arange(999) != 499
    labels = connected(1000, first[cut], second[cut])
    assert labels.max() == 1
    assert len(set(labels[names[:500]])) == len(set(labels[names[500:]])) == 1
