"""Counts that a formula gives, symmetries that must not change them, and geometry that must add up."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, comb

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import Choice, running
from affinelens.engine.choice import engine_named
from affinelens.walk import Request
from support.brute_force import Layer, box, patterns_by_stage
from support.networks import ABSOLUTE, HARD_TANH, compiled, patterns, relu_layers
from support.random_networks import reference_layers

Point = tuple[Fraction, ...]
Halfspace = tuple[list[Fraction], Fraction]


def regions(layers: Sequence[Layer], domain: al.Domain) -> al.RegionSet:
    return al.enumerate(compiled(layers), domain, workers=1)


# ---------------------------------------------------------------------- formulas


def vertex(rows: Sequence[Sequence[int]]) -> Point | None:
    """The point where d rows ``[w | b]`` vanish, by Cramer's rule; None if they are not independent."""
    size = len(rows)
    matrix = [[Fraction(a) for a in row[:-1]] for row in rows]
    whole = determinant(matrix)
    if not whole:
        return None
    replaced = [
        determinant(
            [[Fraction(-row[-1]) if j == k else matrix[i][j] for j in range(size)] for i, row in enumerate(rows)]
        )
        for k in range(size)
    ]
    return tuple(value / whole for value in replaced)


def determinant(matrix: list[list[Fraction]]) -> Fraction:
    if not matrix:
        return Fraction(1)
    minors = ([row[:k] + row[k + 1 :] for row in matrix[1:]] for k in range(len(matrix)))
    return sum(
        ((-1) ** k * matrix[0][k] * determinant(minor) for k, minor in enumerate(minors) if matrix[0][k]), Fraction(0)
    )


def generic_hyperplanes(dim: int, count: int) -> tuple[list[list[int]], int]:
    """Whole-number hyperplanes in general position and a whole number beyond all coordinates of their vertices."""
    for seed in range(1000):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-9, 10, (count, dim + 1)).tolist()
        vertices = [vertex(chosen) for chosen in combinations(rows, dim)]
        if None not in vertices and len(set(vertices)) == len(vertices):
            return rows, 1 + max(ceil(abs(x)) for v in vertices for x in v)
    raise AssertionError("no general position found")


@pytest.fixture(autouse=True, params=["vertex", "linear_program"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every answer is asked of both kinds of engine (where ``count`` stands for ``vertex`` when counting)."""

    def chosen(asked: Request, deadline: object = None) -> Choice:
        name = "count" if request.param == "vertex" and not asked.regions else request.param
        return Choice(engine_named(name), "a test")

    monkeypatch.setattr(running, "choose", chosen)
    return request.param


@pytest.mark.parametrize(("dim", "count"), [(1, 1), (1, 9), (2, 2), (2, 8), (3, 3), (3, 7), (4, 4), (4, 6)])
def test_generic_hyperplanes(dim: int, count: int) -> None:
    rows, reach = generic_hyperplanes(dim, count)
    layers = relu_layers(([row[:-1] for row in rows], [row[-1] for row in rows]))
    assert len(regions(layers, al.Box(-reach, reach, dim=dim))) == sum(comb(count, i) for i in range(dim + 1))


@pytest.mark.parametrize(("dim", "count"), [(1, 4), (2, 2), (2, 9), (3, 6), (4, 6)])
@pytest.mark.parametrize("scale", [1.0, 2.0**-40])
def test_hyperplanes_through_one_interior_point(dim: int, count: int, scale: float) -> None:
    rows, _ = generic_hyperplanes(dim, count) if dim > 1 else ([[1, 0]], 0)
    normals = [row[:-1] for row in rows] if dim > 1 else [[1]] * count
    center = np.arange(1, dim + 1) / 8
    biases = [-float(np.dot(normal, center)) * scale for normal in normals]
    layers = relu_layers(([[a * scale for a in normal] for normal in normals], biases))
    distinct = count if dim > 1 else 1
    assert len(regions(layers, al.Box(-1, 1, dim=dim))) == 2 * sum(comb(distinct - 1, i) for i in range(dim))


@pytest.mark.parametrize("depth", [1, 2, 5, 7])
def test_the_sawtooth_has_two_to_the_depth_teeth(depth: int) -> None:
    """The tent map ``relu(2 x) - relu(4 x - 2)``, composed with itself."""
    first = ([[2.0], [4.0]], [0.0, -2.0])
    further = ([[2.0, -2.0], [4.0, -4.0]], [0.0, -2.0])
    rs = regions(relu_layers(first, *[further] * (depth - 1)), al.Box(0, 1, dim=1))
    assert rs.layer_counts == tuple(2**level for level in range(1, depth + 1))


@pytest.mark.parametrize(("pieces", "dim", "depth"), [(2, 1, 4), (3, 1, 3), (2, 2, 2), (3, 2, 2), (2, 3, 2), (5, 1, 2)])
def test_folding_networks(pieces: int, dim: int, depth: int) -> None:
    """Every layer folds each coordinate of the unit cube ``pieces`` times onto [0, 1]."""
    unit_in = np.kron(np.eye(dim), np.full((pieces, 1), float(pieces)))
    bias = np.tile(-np.arange(pieces, dtype=float), dim)
    fold = np.kron(np.eye(dim), [[1.0, *[2.0 * (-1) ** k for k in range(1, pieces)]]])
    first = (unit_in.tolist(), bias.tolist())
    further = ((unit_in @ fold).tolist(), bias.tolist())
    rs = regions(relu_layers(first, *[further] * (depth - 1)), al.Box(0, 1, dim=dim))
    assert rs.layer_counts == tuple(pieces ** (dim * level) for level in range(1, depth + 1))


@pytest.mark.parametrize("seed", range(3))
def test_blocks_multiply(seed: int) -> None:
    left, right = reference_layers([1, 3, 3], seed), reference_layers([2, 3, 2], seed + 50)
    both = []
    for a, b in zip(left, right, strict=True):
        wide = np.zeros((len(a.bias) + len(b.bias), len(a.weight[0]) + len(b.weight[0])))
        wide[: len(a.bias), : len(a.weight[0])] = a.weight
        wide[len(a.bias) :, len(a.weight[0]) :] = b.weight
        both.append(Layer(wide.tolist(), [*a.bias, *b.bias]))
    parts = [regions(layers, al.Box(-1, 1, dim=dim)).layer_counts for layers, dim in ((left, 1), (right, 2))]
    assert regions(both, al.Box(-1, 1, dim=3)).layer_counts == tuple(a * b for a, b in zip(*parts, strict=True))


# ---------------------------------------------------------------------- what must not change the count


@pytest.mark.parametrize("whole", [0, 3], ids=["generic", "whole numbers"])
@pytest.mark.parametrize("seed", range(3))
class TestInvariance:
    def layers(self, whole: int, seed: int) -> list[Layer]:
        return reference_layers([2, 4, 4], seed, whole=whole)

    def test_permuting_units(self, whole: int, seed: int) -> None:
        first, second = self.layers(whole, seed)
        order = [2, 0, 3, 1]
        moved = Layer([first.weight[i] for i in order], [first.bias[i] for i in order])
        after = Layer([[row[i] for i in order] for row in second.weight], second.bias)
        original = patterns(regions([first, second], al.Box(-1, 1, dim=2)))
        permuted = patterns(regions([moved, after], al.Box(-1, 1, dim=2)))
        assert permuted == {(*(p[i] for i in order), *p[4:]) for p in original}

    def test_scaling_units(self, whole: int, seed: int) -> None:
        first, second = self.layers(whole, seed)
        factors = np.array([2.0**-30, 4.0, 1.0, 2.0**20])
        scaled = Layer((np.array(first.weight) * factors[:, None]).tolist(), (np.array(first.bias) * factors).tolist())
        after = Layer((np.array(second.weight) / factors).tolist(), second.bias)
        domain = al.Box(-1, 1, dim=2)
        assert patterns(regions([scaled, after], domain)) == patterns(regions([first, second], domain))

    def test_duplicating_a_unit(self, whole: int, seed: int) -> None:
        first, second = self.layers(whole, seed)
        doubled = Layer([*first.weight, first.weight[1]], [*first.bias, first.bias[1]])
        after = Layer([[*row, 0.0] for row in second.weight], second.bias)
        domain = al.Box(-1, 1, dim=2)
        original = patterns(regions([first, second], domain))
        assert patterns(regions([doubled, after], domain)) == {(*p[:4], p[1], *p[4:]) for p in original}

    def test_changing_coordinates(self, whole: int, seed: int) -> None:
        """x = A y: the first map becomes W A, the box becomes a parallelogram."""
        first, second = self.layers(whole, seed)
        exact = Layer((np.round(np.array(first.weight) * 256) / 256).tolist(), first.bias)
        change = np.array([[2.0, 1.0], [-3.0, 2.0]])
        moved = Layer((np.array(exact.weight) @ change).tolist(), exact.bias)
        parallelogram = al.Polytope([*change, *-change], [1.0] * 4)
        assert patterns(regions([moved, second], parallelogram)) == patterns(
            regions([exact, second], al.Box(-1, 1, dim=2))
        )


@pytest.mark.parametrize("pieces", [([0.0], [1.0, 1.0], [0.0, 0.0]), ([], [1.0], [0.0])])
def test_units_that_do_not_bend_cut_nothing(pieces: tuple[list[float], list[float], list[float]]) -> None:
    layers = [Layer(layer.weight, layer.bias, [pieces] * 5) for layer in reference_layers([3, 5, 5], 0)]
    rs = regions(layers, al.Box(-1, 1, dim=3))
    assert rs.layer_counts == (1, 1)
    assert len(rs[0].halfspaces[1]) == 6


def test_a_network_without_activations_has_one_region() -> None:
    rs = al.enumerate([([[1.0, 2.0]], [0.5])], al.Box(-1, 1, dim=2), workers=1)
    assert len(rs) == 1
    assert rs.layer_counts == (1,)
    assert rs.locate([0.2, 0.3]) == 0


@pytest.mark.parametrize("seed", range(4))
def test_cutting_at_the_outputs_is_one_more_stage(seed: int) -> None:
    *hidden, last = reference_layers([2, 4, 3, 2], seed)
    model = compiled(hidden, output=(last.weight, last.bias))
    domain = al.Box(-1, 1, dim=2)
    expected = patterns_by_stage([*hidden, last], box([-1, -1], [1, 1]))
    assert al.enumerate(model, domain, workers=1).layer_counts == tuple(len(stage) for stage in expected[:-1])
    cut = al.enumerate(model, domain, workers=1, cut_outputs=True)
    assert patterns(cut) == expected[-1]
    assert al.count(model, domain, workers=1, cut_outputs=True) == len(expected[-1])


# ---------------------------------------------------------------------- geometry


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(2))
def test_every_point_lies_in_one_region_whose_map_gives_the_output(dim: int, seed: int) -> None:
    layers = reference_layers([dim, 5, 4], seed)
    model = compiled(layers, output=generic_output(seed, 4))
    rs = al.enumerate(model, al.Box(-1, 1, dim=dim), workers=1)
    points = np.random.default_rng(seed).uniform(-1, 1, (40, dim))
    containing = np.array([np.all(points @ region.halfspaces[0].T + region.halfspaces[1] > 0, axis=1) for region in rs])
    assert containing.sum(axis=0).tolist() == [1] * 40
    assert rs.locate(points).tolist() == containing.argmax(axis=0).tolist()
    for x, index, output in zip(points, containing.argmax(axis=0), model(points), strict=True):
        jacobian, constant = rs[index].affine
        np.testing.assert_allclose(jacobian @ x + constant, output, rtol=1e-10, atol=1e-12)


def generic_output(seed: int, size: int) -> tuple[list[list[float]], list[float]]:
    rng = np.random.default_rng(seed + 77)
    return rng.standard_normal((2, size)).tolist(), rng.standard_normal(2).tolist()


def clip(corners: list[Point], halfspaces: list[Halfspace]) -> list[Point]:
    """The part of a convex polygon where every ``w x + b >= 0``."""
    for normal, offset in halfspaces:
        restricted: list[Point] = []
        for p, q in zip(corners, [*corners[1:], *corners[:1]], strict=True):
            at_p, at_q = (normal[0] * x[0] + normal[1] * x[1] + offset for x in (p, q))
            if at_p >= 0:
                restricted.append(p)
            if at_p * at_q < 0:
                share = at_p / (at_p - at_q)
                restricted.append((p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])))
        corners = restricted
    return corners


def area(corners: list[Point]) -> Fraction:
    return (
        abs(
            sum(
                (p[0] * q[1] - p[1] * q[0] for p, q in zip(corners, [*corners[1:], *corners[:1]], strict=True)),
                Fraction(0),
            )
        )
        / 2
    )


def square(reach: int) -> list[Point]:
    return [(Fraction(x), Fraction(y)) for x, y in ((-reach, -reach), (reach, -reach), (reach, reach), (-reach, reach))]


def halfspaces_of(region: al.Region) -> list[Halfspace]:
    weight, offset = region.halfspaces
    return [([Fraction(a) for a in row], Fraction(b)) for row, b in zip(weight.tolist(), offset.tolist(), strict=True)]


REACH = 3
PLANE_CASES = {
    "relu": reference_layers([2, 5, 4], 1, whole=3),
    "degenerate": [*reference_layers([2, 6], 2, whole=1), *reference_layers([6, 5], 3, whole=1)],
    "three stages": reference_layers([2, 4, 4, 4], 4, whole=2),
    "mixed": [
        Layer(layer.weight, layer.bias, [HARD_TANH, ABSOLUTE] * 2) for layer in reference_layers([2, 4, 4], 5, whole=2)
    ],
    "max": [
        Layer(layer.weight, layer.bias, None, [3, 3])
        for seed in (6, 7)
        for layer in reference_layers([2, 6], seed, whole=3)
    ],
}
in_the_plane = pytest.mark.parametrize("name", PLANE_CASES)


@in_the_plane
def test_areas_add_up_to_the_domains(name: str) -> None:
    rs = regions(PLANE_CASES[name], al.Box(-REACH, REACH, dim=2))
    polygons = [clip(square(REACH), halfspaces_of(region)) for region in rs]
    assert len(rs) > 10
    assert all(area(polygon) > 0 for polygon in polygons)
    assert sum(area(polygon) for polygon in polygons) == 4 * REACH**2
    for region in rs:
        assert all(w[0] * x + w[1] * y + b > 0 for w, b in halfspaces_of(region) for x, y in [region.exact_point])


@in_the_plane
def test_no_halfspace_can_be_left_out(name: str) -> None:
    for region in regions(PLANE_CASES[name], al.Box(-REACH, REACH, dim=2)):
        halfspaces = halfspaces_of(region)
        whole = area(clip(square(3 * REACH), halfspaces))
        assert area(clip(square(REACH), halfspaces)) == whole
        for i in range(len(halfspaces)):
            assert area(clip(square(3 * REACH), halfspaces[:i] + halfspaces[i + 1 :])) > whole
        assert len(region.facets) == len(set(region.facets)) == len(halfspaces)


@in_the_plane
def test_beyond_every_interior_facet_lies_another_region(name: str) -> None:
    rs = regions(PLANE_CASES[name], al.Box(-REACH, REACH, dim=2))
    described = [halfspaces_of(region) for region in rs]
    for index, region in enumerate(rs):
        polygon = clip(square(REACH), described[index])
        for facet, (normal, offset) in zip(region.facets, described[index], strict=True):
            ends = {p for p in polygon if normal[0] * p[0] + normal[1] * p[1] + offset == 0}
            assert len(ends) == 2
            # An irrational-looking share of the edge, so that the point is no corner of a region on the other side.
            (px, py), (qx, qy) = sorted(ends)
            middle = (px + (qx - px) * Fraction(4999, 10007), py + (qy - py) * Fraction(4999, 10007))
            touching = [
                other
                for other, halfspaces in enumerate(described)
                if other != index and all(w[0] * middle[0] + w[1] * middle[1] + b >= 0 for w, b in halfspaces)
            ]
            assert len(touching) == (0 if facet.startswith("domain") else 1)


@pytest.mark.parametrize("seed", range(3))
def test_facets_of_a_generic_network_in_three_dimensions_are_seen_from_both_sides(seed: int) -> None:
    """Step across each facet: the pattern there belongs to a region with the same facet, turned round."""
    layers = reference_layers([3, 4, 3], seed)
    rs = regions(layers, al.Box(-1, 1, dim=3))
    turned = 0
    for region in rs:
        weight, offset = region.halfspaces
        for row, b, facet in zip(weight, offset, region.facets, strict=True):
            distance = (row @ region.point + b) / (row @ row)
            beyond = region.point - row * distance * (1 + 1e-6)
            others = weight @ beyond + offset > 0
            if facet.startswith("domain") or others.sum() < len(offset) - 1:
                continue
            neighbor = rs.locate(beyond)
            assert neighbor not in (-1, region.index)
            assert facet in rs[neighbor].facets
            turned += 1
    assert turned > len(rs)


@pytest.mark.parametrize("whole", [0, 3], ids=["generic", "whole numbers"])
@pytest.mark.parametrize("sizes", [(1, 6, 5, 4), (2, 5, 4, 3), (3, 5, 4), (4, 4, 3)])
def test_cells_of_every_stage_are_those_of_brute_force(whole: int, sizes: tuple[int, ...]) -> None:
    layers = reference_layers(sizes, 11, whole=whole)
    expected = patterns_by_stage(layers, box([-1] * sizes[0], [1] * sizes[0]))
    rs = regions(layers, al.Box(-1, 1, dim=sizes[0]))
    assert rs.layer_counts == tuple(len(stage) for stage in expected)
    assert patterns(rs) == expected[-1]
