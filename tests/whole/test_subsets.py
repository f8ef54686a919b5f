"""A set that lacks regions has of the others what the complete set has of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.domain import Domain
from affinelens.engine import vertex
from affinelens.errors import AffineLensError
from affinelens.measure.decision.decision_boundary import DecisionBoundary
from affinelens.regions import all_vertices, pattern_index
from affinelens.restrict import subdivision as areas
from support.random_networks import dense_network, pooled_network, random_layers, small_box
from support.subsets import some_of, subset


def whole_numbers(sizes: list[int], seed: int) -> Any:
    """Small integers, so that much coincides."""
    return [(np.round(weight), np.round(2 * bias)) for weight, bias in random_layers(sizes, seed)]


def all_kinds(seed: int) -> tuple[Any, Domain]:
    generator = np.random.default_rng(seed)
    network = dense_network(generator, 2)
    return network, small_box(generator, 2)


def pooled(seed: int, *, bias: bool) -> tuple[Any, Domain]:
    generator = np.random.default_rng(seed)
    image = np.where(generator.random((1, 6, 6)) < 0.6, 0.0, generator.random((1, 6, 6)))
    return pooled_network(generator, bias=bias), al.Slice.axes(image, [(0, 2, 2), (0, 2, 4)], 0.0, 1.0)


def cube(dim: int) -> Domain:
    return al.Box(-1, 1, dim=dim)


CASES: dict[str, Callable[[], tuple[Any, Domain]]] = {
    "line": lambda: (random_layers([1, 8, 8, 2], 0), cube(1)),
    "plane": lambda: (random_layers([2, 9, 8, 3], 1), cube(2)),
    "space": lambda: (random_layers([3, 7, 6, 3], 2), cube(3)),
    "four dimensions": lambda: (random_layers([4, 5, 4, 2], 3), cube(4)),
    "ties in the plane": lambda: (whole_numbers([2, 8, 8, 3], 4), cube(2)),
    "ties in space": lambda: (whole_numbers([3, 6, 5, 3], 5), cube(3)),
    "no bias in the plane": lambda: (random_layers([2, 9, 8, 3], 6, bias=0), cube(2)),
    "no bias in space": lambda: (random_layers([3, 6, 6, 3], 7, bias=0), cube(3)),
    "triangle": lambda: (
        random_layers([2, 9, 8, 3], 1), al.Polytope(np.array([[1.0, 0], [0, 1], [-1, -1]]), np.array([1.0, 1, 0.3]))
    ),
    **{f"all kinds {seed}": lambda seed=seed: all_kinds(seed) for seed in (0, 2, 5, 12, 13, 18)},
    "pooling": lambda: pooled(1, bias=True),
    "pooling without bias": lambda: pooled(2, bias=0),
}  # fmt: skip


@pytest.fixture(scope="module", params=list(CASES))
def sets(request: pytest.FixtureRequest) -> tuple[al.RegionSet, al.RegionSet, np.ndarray]:
    """A complete set, some of its regions, and which they are."""
    model, domain = CASES[request.param]()
    every = al.enumerate(model, domain, workers=1)
    rows = some_of(every, seed=len(every))
    assert 0 < len(rows) < len(every)
    return every, subset(every, rows), rows


Sets = tuple[al.RegionSet, al.RegionSet, np.ndarray]


def corners(rs: al.RegionSet, region: int) -> np.ndarray:
    vertices = all_vertices(rs)
    found = vertices.points[vertices.offsets[region] : vertices.offsets[region + 1]]
    return found[np.lexsort(np.round(found, 9).T)]


def test_regions_have_the_same_vertices(sets: Sets) -> None:
    every, some, rows = sets
    for own, row in enumerate(rows.tolist()):
        np.testing.assert_allclose(corners(some, own), corners(every, row), atol=1e-12)


def test_regions_have_the_same_neighbors(sets: Sets) -> None:
    every, some, rows = sets
    number = np.full(len(every) + 1, -1)
    number[rows] = np.arange(len(rows))
    expected = [number[[-1 if n is None else n for n in every[row].neighbors]] for row in rows.tolist()]
    np.testing.assert_array_equal(some.neighbor_values, np.concatenate(expected))


@pytest.mark.parametrize("decision", [{}, {"output": 1, "threshold": 0.25}, {"output": 0}], ids=str)
def test_the_boundary_is_the_same_in_the_same_regions(sets: Sets, decision: dict[str, Any]) -> None:
    every, some, rows = sets
    found, reference = some.decision_boundary(**decision), every.decision_boundary(**decision)
    assert cells(found, rows) == cells(reference, np.arange(len(every)), rows)
    own = pieces(found, rows)
    assert own == pytest.approx(pieces(reference, np.arange(len(every)), rows), abs=1e-12)
    np.testing.assert_array_equal(rows[found.crossed_regions], rows[np.isin(rows, reference.crossed_regions)])
    ours = np.isin(reference.cells.regions, rows)
    volumes = np.bincount(reference.cells.classes[ours], reference.cells.volumes[ours], len(found.class_volumes))
    np.testing.assert_allclose(found.class_volumes, volumes, atol=1e-12)
    tied = float(reference.cells.volumes[ours & reference.cells.tied].sum())
    assert found.tied_volume == pytest.approx(tied, abs=1e-12)


def cells(boundary: DecisionBoundary, names: np.ndarray, among: np.ndarray | None = None) -> set[tuple[int, int]]:
    """Regions, by their names, with the classes in them."""
    regions = names[boundary.cells.regions]
    wanted = np.isin(regions, names if among is None else among)
    return set(zip(regions[wanted].tolist(), boundary.cells.classes[wanted].tolist(), strict=True))


def pieces(boundary: DecisionBoundary, names: np.ndarray, among: np.ndarray | None = None) -> dict[Any, float]:
    """The measures of pieces by regions and classes on their sides."""
    regions = names[boundary.regions]
    wanted = np.isin(regions, names if among is None else among).all(axis=1)
    keys = np.hstack([regions, boundary.classes])[wanted].tolist()
    found = dict(zip(map(tuple, keys), boundary.measures[wanted].tolist(), strict=True))
    assert len(found) == len(keys)
    return found


def test_a_set_found_in_subdomains_has_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model, domain = random_layers([2, 12, 12, 3], 0), cube(2)
    plain = al.enumerate(model, domain, workers=1)
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)
    monkeypatch.setattr(areas, "_MANY_SWITCHING", 4)
    every = al.enumerate(model, domain, workers=1)
    assert every.outcome.restricted is not None
    assert len(every.outcome.restricted.subdomains) > 1
    assert len(every) == len(plain)
    rows = some_of(every, seed=0)
    some = subset(every, rows)
    test_regions_have_the_same_vertices((every, some, rows))
    test_the_boundary_is_the_same_in_the_same_regions((every, some, rows), {})


def test_patterns_that_are_no_regions_are_refused() -> None:
    every = al.enumerate(random_layers([2, 6, 6, 2], 0), cube(2))
    false = subset(every, np.arange(10))
    false.outcome.patterns[3] ^= 1
    assert pattern_index(every).places(false.outcome.patterns[3:4]).tolist() == [-1]
    with pytest.raises(AffineLensError, match="1 of the set's patterns are no regions of the network"):
        false.vertices()
    with pytest.raises(AffineLensError, match="does not have the network's regions"):
        false.decision_boundary()
