"""The part that switches, walked alone, gives the regions of the whole network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.domain import Domain
from affinelens.network import Network
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.nonlinear import rectify
from affinelens.restrict import SwitchingChoices, restrict
from affinelens.walk import Limits, Outcome
from support.random_networks import dense_network, pooled_network, small_box, wide_layers
from support.walks import walk_by


def _regions(outcome: Outcome, switching: SwitchingChoices | None) -> dict[bytes, list[tuple[int, int]]]:
    """Patterns with their facets."""
    table = outcome.table
    patterns = table.patterns if switching is None else switching.whole(table.patterns)
    assert table.facets is not None
    facets = table.facets
    return {
        pattern.tobytes(): sorted(zip(facets.numbers[a:b].tolist(), facets.signs[a:b].tolist(), strict=True))
        for pattern, a, b in zip(patterns, facets.offsets[:-1], facets.offsets[1:], strict=True)
    }


def _require_same(network: Network, domain: Domain) -> int:
    restricted = restrict(network, domain.frame)
    whole = walk_by("vertex", network, domain.frame)
    part = walk_by("vertex", network, domain.frame, restricted, limits=Limits(workers=2))
    count = walk_by("count", network, domain.frame, restricted, regions=False)
    assert part.switching is not None
    assert _regions(part, part.switching) == _regions(whole, None)
    assert len(part.table) == len(whole.table) == part.regions == count.regions
    assert part.layer_counts == whole.layer_counts
    return part.regions


@pytest.mark.parametrize("seed", range(30))
def test_dense_networks(seed: int) -> None:
    generator = np.random.default_rng(1000 + seed)
    inputs = int(generator.integers(1, 4))
    _require_same(dense_network(generator, inputs), small_box(generator, inputs))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("bias", [True, False])
def test_pooling_with_ties(seed: int, bias: bool) -> None:
    generator = np.random.default_rng(seed)
    image = np.where(generator.random((1, 6, 6)) < 0.6, 0.0, generator.random((1, 6, 6)))
    places = [tuple(int(v) for v in generator.integers(0, (1, 6, 6))) for _ in range(2)]
    if places[0] == places[1]:
        places[1] = (0, (places[0][1] + 1) % 6, places[0][2])
    domain = al.Slice.axes(image, places, 0.0, 1.0)
    assert _require_same(pooled_network(generator, bias=bias), domain) > 1


def test_nothing_switches() -> None:
    network = al.network([([[1.0, 1.0]], [10.0]), ([[1.0]], [0.0])])
    assert _require_same(network, al.Box(-1, 1, dim=2)) == 1


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-200])
def test_numbers_so_small_that_their_errors_underflow(size: float) -> None:
    layers = [([[size, 0.0], [0.0, size], [size, -size]], [0.0, 0.0, 0.0]), ([[1.0, 1.0, 1.0]], [0.0])]
    assert _require_same(al.network(layers), al.Box(-1, 1, dim=2)) == 6


def test_large_networks_are_restricted_and_say_which_choices_switch(tmp_path: object) -> None:
    layers, box = wide_layers(seed=0, bias=6), al.Box(-0.05, 0.05, dim=2)
    rs = al.enumerate(layers, box)
    assert rs.outcome.switching is not None
    assert 0 < len(rs.switching) < 200
    assert len(rs) == al.count(layers, box) == len(al.enumerate(layers, box, engine="linear_program"))
    assert rs.patterns.shape == (len(rs), 2400)
    assert np.array_equal(rs.patterns[:, rs.switching], rs.switching_patterns)
    path = rs.save(f"{tmp_path}/run")
    again = al.load(path)
    assert np.array_equal(again.patterns, rs.patterns)
    assert again.locate(rs.points[:5]).tolist() == [0, 1, 2, 3, 4]
    for region in rs[:5]:
        slope, constant = region.affine
        assert np.allclose(slope @ region.point + constant, rs.network(region.point))
        inside = [n for n in region.neighbors if n is not None]
        assert all(region.index in [m for m in rs[n].neighbors if m is not None] for n in inside)


def test_a_function_so_small_that_it_underflows_is_not_zero() -> None:
    """No biases, so that nothing but products contributes to the errors."""
    builder = GraphBuilder((2,))
    z = rectify(builder, builder.matmul_right(builder.input(), 1e-200 * np.eye(2)), np.array(0.0), "relu")
    z = rectify(builder, builder.matmul_right(z, np.array([[1e-200], [-1e-200]])), np.array(0.0), "relu")
    assert _require_same(builder.finish(z), al.Box(0.5, 1, dim=2)) == 2


def test_the_time_limit_holds_while_finding_what_switches(tmp_path: Path) -> None:
    layers, box = wide_layers(seed=0, bias=1), al.Box(-1, 1, dim=2)
    rs = al.enumerate(layers, box, time_limit=1e-3, vertices=True, run=tmp_path / "run")
    assert rs.status is al.Status.TIME_LIMIT
    assert len(rs) == 0
    assert rs.share == 0.0
    assert rs.locate([0.0, 0.0]) == -1
    assert len(al.load(tmp_path / "run")) == 0
    with pytest.raises(al.IncompleteError, match="at least 0 regions"):
        al.count(layers, box, time_limit=1e-3)
