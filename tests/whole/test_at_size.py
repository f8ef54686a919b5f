"""Closed formulas and laws at sizes where a single wrong sign among millions would show."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

import affinelens as al
from affinelens.convex.volume import cell_volumes
from support.random_networks import random_layers

BOTH = pytest.mark.parametrize("engine", ["vertex", "count"])
Model = list[tuple[np.ndarray, np.ndarray]]


def single_layer(weight: np.ndarray, bias: np.ndarray) -> Model:
    return [(weight, bias), (np.ones((1, len(bias))), np.zeros(1))]


def normals(dim: int, count: int, seed: int) -> np.ndarray:
    weight = np.random.default_rng(seed).standard_normal((count, dim))
    return weight / np.linalg.norm(weight, axis=1, keepdims=True)


def volumes(rs: al.RegionSet) -> np.ndarray:
    vertices = rs.outcome.table.vertices
    assert vertices is not None
    found = cell_volumes(vertices.points, vertices.offsets[1:], vertices.tight, rs.domain.dim)
    assert len(found) == len(rs)
    assert np.all(found > 0)
    return found


# ---------------------------------------------------------------------- formulas


@BOTH
@pytest.mark.parametrize(("dim", "count"), [(2, 300), (3, 90), (4, 40), (5, 22), (6, 16)])
def test_generic_hyperplanes(engine: str, dim: int, count: int) -> None:
    weight = normals(dim, count, seed=dim)
    bias = 0.01 * np.random.default_rng(50 + dim).standard_normal(count)
    chosen = np.array(list(combinations(range(count), dim)))
    corners = np.linalg.solve(weight[chosen], -bias[chosen][..., None])
    reach = 2.0 * float(np.abs(corners).max())
    found = al.count(single_layer(weight, bias), al.Box(-reach, reach, dim=dim), engine=engine, workers=1)
    assert found == sum(comb(count, i) for i in range(dim + 1))


@BOTH
@pytest.mark.parametrize(("dim", "count"), [(2, 80), (3, 36), (4, 20), (5, 12)])
def test_hyperplanes_through_the_origin(engine: str, dim: int, count: int) -> None:
    network = single_layer(normals(dim, count, seed=dim), np.zeros(count))
    found = al.count(network, al.Box(-1, 1, dim=dim), engine=engine, workers=1)
    assert found == 2 * sum(comb(count - 1, i) for i in range(dim))


def sawtooth(depth: int) -> Model:
    first = (np.array([[2.0], [4.0]]), np.array([0.0, -2.0]))
    further = (np.array([[2.0, -2.0], [4.0, -4.0]]), np.array([0.0, -2.0]))
    return [first, *[further] * (depth - 1), (np.array([[1.0, -1.0]]), np.zeros(1))]


def test_a_sawtooth_of_a_million_teeth() -> None:
    rs = al.enumerate(sawtooth(20), al.Box(0, 1, dim=1), engine="vertex", workers=1, vertices=True)
    assert rs.layer_counts == tuple(2**level for level in range(1, 21))
    ends = np.sort(rs.vertex_values.reshape(-1, 2), axis=1)
    assert np.array_equal(np.sort(ends[:, 0]), np.arange(2**20) / 2**20)
    assert np.all(ends[:, 1] - ends[:, 0] == 2.0**-20)


def test_a_sawtooth_counted() -> None:
    assert al.count(sawtooth(20), al.Box(0, 1, dim=1), engine="count", workers=1) == 2**20


@BOTH
def test_blocks_multiply(engine: str) -> None:
    left, right = random_layers([2, 18, 10, 1], seed=1, bias=1), random_layers([2, 16, 12, 1], seed=2, bias=1)
    both = []
    for (a, b), (c, d) in zip(left, right, strict=True):
        wide = np.zeros((len(b) + len(d), a.shape[1] + c.shape[1]))
        wide[: len(b), : a.shape[1]], wide[len(b) :, a.shape[1] :] = a, c
        both.append((wide, np.concatenate([b, d])))
    counts = [al.count(part, al.Box(-1, 1, dim=2), engine=engine, workers=1) for part in (left, right)]
    assert min(counts) > 60
    assert al.count(both, al.Box(-1, 1, dim=4), engine=engine, workers=1) == counts[0] * counts[1]


# ---------------------------------------------------------------------- additivity


@BOTH
@pytest.mark.parametrize("sizes", [(2, 60, 60, 1), (3, 30, 30, 1), (4, 30, 1), (3, 14, 12, 10, 1)])
def test_halves_add_up(engine: str, sizes: tuple[int, ...]) -> None:
    """A face between two halves cuts as many regions in two as there are regions on the face."""
    network, dim = random_layers(sizes, seed=7, bias=1), sizes[0]
    at = 0.1875
    ends = [(-1.0, at), (at, 1.0), (at, at), (-1.0, 1.0)]
    left, right, face, whole = (
        al.count(network, al.Box([low, *[-1.0] * (dim - 1)], [high, *[1.0] * (dim - 1)]), engine=engine, workers=1)
        for low, high in ends
    )
    assert whole > 1000
    assert left + right - face == whole


@pytest.mark.parametrize("sizes", [(3, 200, 1), (4, 50, 1), (2, 64, 64, 64, 1), (3, 24, 24, 1), (5, 12, 8, 1)])
def test_volumes_add_up_to_the_cubes(sizes: tuple[int, ...]) -> None:
    network, dim = random_layers(sizes, seed=0, bias=1), sizes[0]
    rs = al.enumerate(network, al.Box(-1, 1, dim=dim), engine="vertex", workers=1, vertices=True, facets=False)
    assert len(rs) > (250_000 if sizes == (3, 200, 1) else 1000)
    assert volumes(rs).sum() == pytest.approx(2.0**dim, rel=1e-9)
    assert al.count(network, al.Box(-1, 1, dim=dim), engine="count", workers=1) == len(rs)


@pytest.mark.parametrize(("dim", "sizes"), [(2, (2, 40, 40, 1)), (3, (3, 20, 20, 1)), (4, (4, 14, 8, 1))])
def test_volumes_add_up_on_a_cut_cube(dim: int, sizes: tuple[int, ...]) -> None:
    """The cube without a corner, which is a simplex of side 3/4."""
    rows = np.vstack([np.eye(dim), -np.eye(dim), -np.ones((1, dim))])
    domain = al.Polytope(rows, [1.0] * (2 * dim) + [dim - 0.75])
    network = random_layers(sizes, seed=3, bias=1)
    rs = al.enumerate(network, domain, engine="vertex", workers=1, vertices=True)
    corner = 0.75**dim / float(np.prod(np.arange(1, dim + 1)))
    assert volumes(rs).sum() == pytest.approx(2.0**dim - corner, rel=1e-9)
    assert al.count(network, domain, engine="count", workers=1) == len(rs)


def test_volumes_add_up_where_hyperplanes_meet() -> None:
    rng = np.random.default_rng(0)
    network = [
        (rng.integers(-2, 3, (n, m)).astype(float), rng.integers(-1, 2, n) * 1.0) for m, n in ((3, 14), (14, 10))
    ]
    network.append((np.ones((1, 10)), np.zeros(1)))
    rs = al.enumerate(network, al.Box(-1, 1, dim=3), engine="vertex", workers=1, vertices=True)
    assert volumes(rs).sum() == pytest.approx(8.0, rel=1e-9)
    assert rs.certificate.by_exact_arithmetic > 0
