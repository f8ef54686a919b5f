"""A domain walked in subdomains has the regions that it has as a whole."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.arithmetic import ExactMatrix
from affinelens.engine import vertex
from affinelens.network import Network, PiecewiseLinear
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.nonlinear import rectify
from affinelens.progress import Progress
from affinelens.restrict import restrict, subdivision
from support.random_networks import dense_network, random_layers, rational_points, small_box
from support.walks import all_ways, facets_by_pattern, walked


@pytest.fixture(autouse=True)
def small_subdomains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut everything, as if a handful of units were many."""
    monkeypatch.setattr(subdivision, "_MANY_SWITCHING", 4)
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)


def _network(seed: int, *, width: int = 8, inputs: int = 2) -> Network:
    return al.network(random_layers([inputs, width, width, width, 2], seed))


@pytest.mark.parametrize("seed", range(40))
def test_any_network(seed: int) -> None:
    generator = np.random.default_rng(2000 + seed)
    inputs = int(generator.integers(1, 5))
    all_ways(dense_network(generator, inputs), small_box(generator, inputs))


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_many_subdomains(inputs: int) -> None:
    network, box = _network(inputs, inputs=inputs), al.Box(-1, 1, dim=inputs)
    assert len(restrict(network, box.frame).subdomains) > 2
    assert len(all_ways(network, box)) > 10


def test_a_polytope_and_a_slice() -> None:
    triangle = al.Polytope([[1, 0], [0, 1], [-1, -1]], [1, 1, 0.5])
    assert restrict(_network(4), triangle.frame).subdomains
    all_ways(_network(4), triangle)
    plane = al.Slice([0.1, 0.2, 0.3], [[1, 0, 1], [0, 1, -1]], al.Box(-1, 1, dim=2))
    assert restrict(_network(5, inputs=3), plane.frame).subdomains
    all_ways(_network(5, inputs=3), plane)


def test_hyperplanes_that_coincide() -> None:
    """Cut along a unit that others repeat, scaled and with the opposite sign, and through the origin."""
    weight = np.array([[1, 0], [2, 0], [-1, 0], [0, 1], [0, -3], [1, 1], [1, -1]], dtype=np.float64)
    rng = np.random.default_rng(0)
    layers = [(weight, np.zeros(7)), (rng.integers(-2, 3, size=(5, 7)), np.zeros(5)), (np.ones((1, 5)), np.zeros(1))]
    network, box = al.network(layers), al.Box(-1, 1, dim=2)
    assert restrict(network, box.frame).subdomains
    whole, part = (walked(network, box, restricted=restricted) for restricted in (False, True))
    assert facets_by_pattern(part).keys() == facets_by_pattern(whole).keys()
    assert part.layer_counts == whole.layer_counts


@pytest.mark.parametrize("seed", range(6))
def test_units_with_several_breaks(seed: int) -> None:
    """A subdomain above the upper break of a unit is above its lower one, even where its box is not."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder((2,))
    z = builder.add_constant(builder.matmul_right(builder.input(), 2 * rng.normal(size=(2, 7))), rng.normal(size=7) / 4)
    clipped = builder.activate(z, PiecewiseLinear.of(7, [-0.05, 0.05], [0, 1, 0], [-0.05, 0, 0.05]), "clip")
    z = builder.add_constant(builder.matmul_right(clipped, rng.normal(size=(7, 6))), rng.normal(size=6) / 20)
    network = builder.finish(rectify(builder, z, np.array(0.0), "relu"))
    assert len(restrict(network, al.Box(-1, 1, dim=2).frame).subdomains) > 2
    all_ways(network, al.Box(-1, 1, dim=2))


@pytest.mark.parametrize("seed", range(5))
def test_subdomains_fill_the_domain_once_and_lie_in_their_boxes(seed: int) -> None:
    generator = np.random.default_rng(seed)
    network, box = _network(seed), al.Box(-1, 1, dim=2)
    found = [subdomain for subdomain, _ in subdivision.bound_subdomains(network, box.frame)]
    assert len(found) > 2
    for point in rational_points(generator, box, 50):
        column = ExactMatrix.from_fractions([[v] for v in (*point, Fraction(1))])
        inside = [a for a in found if all(v >= 0 for v in (a.frame.rows.numerators * column.numerators).entries())]
        strictly = [a for a in inside if all(v > 0 for v in (a.frame.rows.numerators * column.numerators).entries())]
        assert len(strictly) == 1 or (not strictly and inside)
        for subdomain in inside:
            place = subdomain.box.over(ExactMatrix.from_floats(np.eye(3))).to_floats()
            s = np.linalg.solve(place, np.array([*map(float, point), 1.0]))
            assert (np.abs(s) <= 1 + 1e-9).all()


def test_limits_progress_and_a_run_on_disk(tmp_path: Path) -> None:
    network, box = _network(7), al.Box(-1, 1, dim=2)
    seen: list[Progress] = []
    everything = al.enumerate(network, box, run=tmp_path / "run", progress=seen.append)
    assert everything.status is al.Status.COMPLETE
    assert everything.share == 1.0
    assert al.count(network, box) == len(everything)
    again = al.load(tmp_path / "run")
    assert np.array_equal(again.patterns, everything.patterns)
    assert again.locate(everything.points).tolist() == list(range(len(everything)))
    for most in (1, 5, len(everything) - 1, len(everything)):
        some = al.enumerate(network, box, max_regions=most, vertices=True)
        assert len(some) == most == len(some.points)
        assert np.array_equal(some.patterns, everything.patterns[:most])
        assert (some.status is al.Status.COMPLETE) == (most == len(everything))
        assert some.share is not None
        assert 0 < some.share <= 1
    assert np.array_equal(al.enumerate(network, box, workers=1).patterns, everything.patterns)


def test_what_was_walked_is_its_share_of_the_volume() -> None:
    network, box = _network(8), al.Box([0, -1], [2, 1])
    some = al.enumerate(network, box, max_regions=20, vertices=True)
    restricted = restrict(network, box.frame)
    assert restricted.subdomains
    assert some.share is not None
    sizes = [_area(region.vertices) for region in some]
    assert sum(sizes) / 4 == pytest.approx(some.share, rel=1e-9)


def _area(corners: np.ndarray) -> float:
    """That of the convex polygon with the given corners."""
    spokes = corners - corners.mean(axis=0)
    x, y = corners[np.argsort(np.arctan2(spokes[:, 1], spokes[:, 0]))].T
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2


def test_neighbors_lie_beyond_the_borders_of_subdomains() -> None:
    rs = al.enumerate(_network(9), al.Box(-1, 1, dim=2))
    borders = rs.facet_values >= rs.domain.frame.rows.shape[0]
    assert (rs.neighbor_values[borders] >= 0).all()
    for region in rs[:30]:
        for n in region.neighbors:
            assert n is None or region.index in rs[n].neighbors
