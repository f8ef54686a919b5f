"""In high dimension: networks that see few sums of many inputs have the regions of the few-input networks."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

import affinelens as al
from affinelens.engine.linear_program import depth_first
from affinelens.engine.linear_program.interior_point import EMPTY, INSIDE, look_inside, look_on_sides
from affinelens.errors import AffineLensError
from support.brute_force import Layer
from support.degenerate_networks import with_copies
from support.networks import ABSOLUTE, HARD_TANH, ZIGZAG, compiled, patterns
from support.random_networks import reference_layers

enumerate_regions = partial(al.enumerate, engine="linear_program")
CUBE = al.Box(-1, 1, dim=3)


def averaging(layers: Sequence[Layer], sizes: Sequence[int]) -> list[Layer]:
    """The network of the averages of blocks of inputs; sizes are powers of two, so that nothing is rounded.

    The averages of a cube of inputs fill a cube, and each value of them is taken by a full-dimensional set: regions
    correspond to each other.
    """
    first = layers[0]
    share = np.repeat(1.0 / np.array(sizes), sizes)
    wide = np.repeat(np.array(first.weight, dtype=np.float64), sizes, axis=1) * share
    return [Layer(wide.tolist(), first.bias, first.pieces, first.groups), *layers[1:]]


def with_pieces(layers: Sequence[Layer]) -> list[Layer]:
    kinds = [HARD_TANH, ABSOLUTE, ZIGZAG]
    return [Layer(a.weight, a.bias, [kinds[i % 3] for i in range(len(a.bias))]) for a in layers]


def with_groups(layers: Sequence[Layer]) -> list[Layer]:
    """Each layer's maxima over its units in pairs and a triple, as wide as the next layer takes."""
    return [Layer(a.weight, a.bias, groups=[3, *[2] * ((len(a.bias) - 3) // 2)]) for a in layers]


CASES = {
    "generic": reference_layers([3, 7, 6], 0),
    "three stages": reference_layers([3, 5, 5, 4], 1),
    "integers": reference_layers([3, 7, 5], 2, whole=2, bias=0.5),
    "no bias": reference_layers([3, 6, 5], 3, bias=0),
    "integers, no bias": reference_layers([3, 6, 5], 4, whole=2, bias=0),
    "copies": with_copies(reference_layers([3, 4, 4], 5)),
    "several pieces": with_pieces(reference_layers([3, 4, 3], 6)),
    "several pieces, integers": with_pieces(reference_layers([3, 4, 3], 7, whole=2, bias=0.5)),
    "maxima": with_groups([*reference_layers([3, 9], 8), *reference_layers([4, 5], 9)]),
    "maxima of integers": with_groups(
        [*reference_layers([3, 9], 10, whole=2, bias=0.5), *reference_layers([4, 5], 11, whole=2, bias=0.5)]
    ),
}


@pytest.mark.parametrize("sizes", [(8, 8, 8), (16, 32, 8), (2, 32, 16)])
@pytest.mark.parametrize("name", CASES)
def test_averages_of_many_inputs_have_the_regions_of_few(name: str, sizes: tuple[int, ...]) -> None:
    layers = CASES[name]
    few = al.enumerate(compiled(layers), CUBE, engine="vertex", workers=1)
    wide = compiled(averaging(layers, sizes))
    domain = al.Box(-1, 1, dim=sum(sizes))
    many = enumerate_regions(wide, domain, workers=1, facets=False)
    assert many.status is al.Status.COMPLETE
    assert many.certificate.complete
    assert patterns(many) == patterns(few)
    assert many.layer_counts == few.layer_counts
    assert al.count(wide, domain, workers=1) == len(few)
    for region in many:
        assert many.locate(region.point) == region.index


@pytest.mark.parametrize("sizes", [(8, 8, 8), (16, 4, 32)])
@pytest.mark.parametrize("seed", range(3))
def test_facets_are_those_of_few_inputs_and_the_bounds_within_reach(sizes: tuple[int, ...], seed: int) -> None:
    """One input of a block at its lower bound leaves averages up to ``1 - 2 / size``, and all of those."""
    layers = reference_layers([3, 6, 5], 20 + seed)
    few = al.enumerate(compiled(layers), CUBE, engine="vertex", workers=1, vertices=True)
    many = enumerate_regions(compiled(averaging(layers, sizes)), al.Box(-1, 1, dim=sum(sizes)), workers=1)
    by_pattern = {tuple(region.pattern): region for region in few}
    starts = np.cumsum([0, *sizes])
    assert len(many) == len(few)
    for region in many:
        twin = by_pattern[tuple(region.pattern)]
        own = {number - 6 for number in facet_numbers(few, twin.index) if number >= 6}
        corners = twin.vertices
        expected = {number + 2 * sum(sizes) for number in own}
        for block, size in enumerate(sizes):
            inputs = range(starts[block], starts[block + 1])
            if corners[:, block].min() < 1 - 2 / size:
                expected |= {2 * k for k in inputs}
            if corners[:, block].max() > -1 + 2 / size:
                expected |= {2 * k + 1 for k in inputs}
        assert set(facet_numbers(many, region.index)) == expected


def facet_numbers(regions: al.RegionSet, index: int) -> list[int]:
    facets = regions.outcome.table.facets
    assert facets is not None
    return facets.numbers[facets.offsets[index] : facets.offsets[index + 1]].tolist()


def test_the_result_does_not_depend_on_the_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    network, domain = compiled(averaging(reference_layers([3, 8, 8], 30), (8, 16, 8))), al.Box(-1, 1, dim=32)
    alone = enumerate_regions(network, domain, workers=1)
    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    monkeypatch.setattr(subprocess, "Popen", Recorded)
    together = enumerate_regions(network, domain, workers=2)
    assert len(started) == 1
    assert together.patterns.tolist() == alone.patterns.tolist()
    assert together.points.tobytes() == alone.points.tobytes()
    assert together.facet_values.tolist() == alone.facet_values.tolist()


def test_a_coordinate_without_a_float_between_its_bounds() -> None:
    """All points inside are rational. A fixed input moves one unit's break between two neighboring floats."""
    dim, gap = 24, 2.0**-52
    weight = np.zeros((3, dim + 1))
    weight[0, 1], weight[1, [0, dim]], weight[2, 2:dim] = 1.0, [1.0, -1.0], 1.0
    low, high = [1.0, *[-1.0] * (dim - 1), gap / 2], [1.0 + gap, *[1.0] * (dim - 1), gap / 2]
    layers = [(weight, np.array([0.0, -1.0, 0.5])), (np.ones((1, 3)), np.zeros(1))]
    regions = enumerate_regions(layers, al.Box(low, high), workers=1)
    assert regions.domain.dim == dim
    assert len(patterns(regions)) == 8
    assert sorted(regions.outcome.exact_points) == list(range(8))


def test_a_thin_region_in_a_corner() -> None:
    """Where the sum of all inputs is almost as large as it can be: every lower bound is out of reach there."""
    dim = 40
    layers = [(np.ones((1, dim)), np.array([-(dim - 2.0**-20)])), (np.ones((1, 1)), np.zeros(1))]
    regions = enumerate_regions(layers, al.Box(-1, 1, dim=dim), workers=1)
    facets = {tuple(region.pattern): facet_numbers(regions, region.index) for region in regions}
    assert facets == {(1,): [*range(1, 2 * dim, 2), 2 * dim], (0,): [*range(2 * dim), 2 * dim]}


def test_regions_without_facets() -> None:
    network, domain = compiled(averaging(reference_layers([3, 4], 40), (8, 8, 8))), al.Box(-1, 1, dim=24)
    regions = enumerate_regions(network, domain, workers=1, facets=False)
    assert regions.outcome.table.facets is None
    with pytest.raises(AffineLensError, match="facets"):
        _ = regions[0].facets


# ---------------------------------------------------------------------- the interior-point method


@pytest.mark.parametrize("seed", range(40))
def test_what_is_suggested_is_true_up_to_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, dim = int(rng.integers(1, 9)), int(rng.integers(1, 40))
    normals, offsets = rng.standard_normal((count, dim)), 0.5 * np.sqrt(dim) * rng.standard_normal(count)
    low, high = -rng.random(dim), rng.random(dim)
    rows, signs = rng.permutation(count), rng.choice(np.array([-1, 1], dtype=np.int8), count)
    turned, offset = normals[rows] * signs[:, None], offsets[rows] * signs
    verdict, point, multipliers = look_inside(normals, offsets, rows, signs, low, high)
    assert verdict in (INSIDE, EMPTY)
    if verdict == INSIDE:
        assert np.all((low < point) & (point < high))
        assert np.all(turned @ point + offset > 0)
    else:
        combined = multipliers @ turned
        assert np.all(multipliers >= 0)
        assert multipliers @ offset + np.maximum(combined * low, combined * high).sum() < 0
    found, points = look_on_sides(normals, offsets, rows, signs, low, high, np.arange(2 * dim))
    for k in range(dim):
        assert points[2 * k, k] == low[k]
        assert points[2 * k + 1, k] == high[k]
    assert np.all(points[found] @ turned.T + offset > 0)
    assert verdict == INSIDE or not found.any()


def test_rows_that_meet_in_a_point_are_left_undecided() -> None:
    """The two rows leave a point of the box, with nothing on either side that rounding could not explain."""
    normals, offsets = np.array([[1.0, 1.0], [-1.0, -1.0]]), np.array([-0.5, 0.5])
    rows, signs = np.arange(2), np.ones(2, dtype=np.int8)
    verdict, _, _ = look_inside(normals, offsets, rows, signs, -np.ones(2), np.ones(2))
    assert verdict not in (INSIDE, EMPTY)
