"""Networks in which nearly every decision is a tie: lattices, overlapping pools, and hyperplanes on a grid."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import affinelens as al
from affinelens.restrict import restrict
from affinelens.walk import Limits
from support import brute_force
from support.brute_force import Layer
from support.networks import compiled, relu_layers
from support.walks import facets_by_pattern, walk_by


def assert_all_walks_find(layers: list[Layer], domain: al.Domain, cell: brute_force.Polytope) -> int:
    """Every way of walking finds what rational brute force finds; returns how many regions that is."""
    wanted = brute_force.patterns_by_stage(layers, cell)
    network = compiled(layers)
    for restricted, workers in product((None, restrict(network, domain.frame)), (1, 2)):
        limits = Limits(workers=workers)
        walked = walk_by("vertex", network, domain.frame, restricted, limits=limits)
        assert set(facets_by_pattern(walked)) == wanted[-1]
        assert walked.layer_counts == tuple(len(patterns) for patterns in wanted)
        counted = walk_by("count", network, domain.frame, restricted, limits=limits, regions=False)
        assert counted.regions == len(wanted[-1])
    return len(wanted[-1])


def minima(terms: int) -> tuple[np.ndarray, np.ndarray]:
    """Maps around ReLUs that take the minimum of neighbors: ``min(a, b) = (a + b - |a - b|) / 2``."""
    into = np.zeros((2 * terms, terms))
    out = np.zeros((terms // 2, 2 * terms))
    for pair in range(terms // 2):
        a, b, unit = 2 * pair, 2 * pair + 1, 4 * pair
        into[[unit, unit + 1], a], into[[unit, unit + 1], b] = (1, -1), (1, -1)
        into[[unit + 2, unit + 3], a], into[[unit + 2, unit + 3], b] = (1, -1), (-1, 1)
        out[pair, unit : unit + 4] = 0.5, -0.5, -0.5, -0.5
    return into, out


@pytest.mark.parametrize("seed", range(4))
def test_a_lattice_of_minima(seed: int) -> None:
    """The minimum of eight affine functions, pair by pair: in a cell, later units are zero or repeat earlier ones."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(8, 2)), rng.normal(size=8)
    if seed % 2:
        weight, bias = weight[rng.integers(0, 4, 8)], bias[rng.integers(0, 4, 8)]
    layers, terms = [], 8
    while terms > 1:
        into, out = minima(terms)
        layers.append(((into @ weight).tolist(), (into @ bias).tolist()))
        weight, bias, terms = out, np.zeros(terms // 2), terms // 2
    box = [-1.0, -1.0], [1.0, 1.0]
    assert assert_all_walks_find(relu_layers(*layers), al.Box(*box), brute_force.box(*box)) > 4


@pytest.mark.parametrize("seed", range(3))
def test_pools_of_overlapping_pools(seed: int) -> None:
    """Neighboring windows often have the same winner, and then the next pool compares a function with itself."""
    rng = np.random.default_rng(seed)
    windows = [[i, i + 1, i + 2] for i in range(4)]
    layers = [Layer(rng.normal(size=(6, 2))[np.ravel(windows)].tolist(), [0.0] * 12, groups=[3] * 4)]
    layers.append(Layer(np.eye(4)[np.ravel([[i, i + 1] for i in range(3)])].tolist(), [0.0] * 6, groups=[2] * 3))
    layers.append(Layer(np.eye(3).tolist(), [0.0] * 3, groups=[3]))
    box = [-1.0, -0.5], [1.0, 2.0]
    assert assert_all_walks_find(layers, al.Box(*box), brute_force.box(*box)) > 2


@pytest.mark.parametrize(("dim", "units"), [(2, 14), (3, 8)])
@pytest.mark.parametrize("low", [-3.0, -2.9])
@pytest.mark.parametrize("length", [1, 25, 52])
def test_hyperplanes_on_a_grid(dim: int, units: int, low: float, length: int) -> None:
    """Many meet in a point, whose coordinates are short however long the rows' integers are."""
    rng = np.random.default_rng(units)
    weight, bias = rng.integers(-2, 3, size=(units, dim)), rng.integers(-2, 3, size=units) / 2
    factor = np.ldexp((rng.integers(2 ** (length - 1), 2**length, size=units) | 1).astype(np.float64), -length)
    factor[::3] = 1.0
    layers = relu_layers(((weight * factor[:, None]).tolist(), (bias * factor).tolist()))
    box = [low] * dim, [3.1] * dim
    assert assert_all_walks_find(layers, al.Box(*box), brute_force.box(*box)) > units


def test_hyperplanes_on_a_grid_on_a_simplex() -> None:
    rng = np.random.default_rng(0)
    layers = relu_layers(
        (rng.integers(-2, 3, size=(9, 3)).tolist(), (rng.integers(-2, 3, size=9) / 2).tolist()),
        (rng.integers(-1, 2, size=(4, 9)).tolist(), (rng.integers(-2, 3, size=4) / 2).tolist()),
    )
    rows, offsets = [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [-1.0, -1.0, -1.0]], [1.0, 1.0, 1.0, 1.0]
    cell = brute_force.polytope(rows, offsets, 3.0)
    assert assert_all_walks_find(layers, al.Polytope(rows, offsets), cell) > 20
