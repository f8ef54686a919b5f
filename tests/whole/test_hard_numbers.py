"""Networks made to defeat floating point, against a rational brute force or closed reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.convex.volume import cell_volumes
from affinelens.network.build.builder import GraphBuilder
from support import brute_force
from support.brute_force import Layer, patterns_by_stage
from support.networks import ABSOLUTE, HARD_TANH, LEAKY, ZIGZAG, activation, compiled, evaluate, patterns, relu_layers
from support.random_networks import reference_layers

Floats = Sequence[float]


def check(
    layers: Sequence[Layer],
    domain: al.Domain,
    reference: brute_force.Polytope,
    brute_layers: Sequence[Layer] | None = None,
) -> al.RegionSet:
    """Patterns, counts, points and volumes of both engines against brute force on the same domain."""
    expected = patterns_by_stage(brute_layers or layers, reference)
    network = compiled(layers)
    rs = al.enumerate(network, domain, engine="vertex", workers=1, vertices=True)
    assert patterns(rs) == expected[-1]
    assert rs.layer_counts == tuple(len(stage) for stage in expected)
    assert al.count(network, domain, engine="count", workers=1) == len(rs)
    bare = al.enumerate(network, domain, engine="vertex", workers=1, facets=False)
    assert np.array_equal(bare.patterns, rs.patterns)
    for region in [*rs, *bare]:
        assert evaluate(layers, region.exact_point)[1] == region.pattern.tolist()
    return rs


def check_box(layers: Sequence[Layer], lower: Floats, upper: Floats) -> al.RegionSet:
    return check(layers, al.Box(lower, upper), brute_force.box(lower, upper))


def check_cube(layers: Sequence[Layer]) -> al.RegionSet:
    dim = len(layers[0].weight[0])
    return check_box(layers, [-1.0] * dim, [1.0] * dim)


# ---------------------------------------------------------------------- nearly degenerate


@pytest.mark.parametrize("gap", [0.0, 2.0**-53, 1e-17, -1e-17, 1e-30])
@pytest.mark.parametrize("scale", [1.0, 3e7, 1e-9])
def test_nearly_concurrent_lines(gap: float, scale: float) -> None:
    """Three lines through one point, or around a triangle far below rounding; a second layer looks closer."""
    first = ([[scale, 0.0], [0.0, scale], [scale, scale]], [0.0, 0.0, gap * scale])
    rs = check_cube(relu_layers(first, ([[1.0, -1.0, 0.0], [1.0, 1.0, -1.0]], [0.0, gap])))
    assert rs.layer_counts[0] == (7 if gap else 6)


@pytest.mark.parametrize("dim", [2, 3, 4])
@pytest.mark.parametrize("gap", [0.0, 1e-17, -1e-17])
def test_nearly_concurrent_hyperplanes(dim: int, gap: float) -> None:
    """The coordinate planes and their sum's: a simplex of that size appears or does not."""
    weight, bias = [*np.eye(dim).tolist(), [1.0] * dim], [0.0] * dim + [gap]
    assert len(check_cube(relu_layers((weight, bias)))) == 2 ** (dim + 1) - (1 if gap else 2)


@pytest.mark.parametrize("width", [1e-13, 2.0**-52, 1e-16])
def test_slivers(width: float) -> None:
    weight = [[3.0, 1.0], [3.0, 1.0], [1.0, -2.0], [1.0, -2.0]]
    first = (weight, [0.1, 0.1 + width, 0.3, 0.3 - width])
    check_cube(relu_layers(first, ([[1.0, -1.0, 0.5, 0.5], [-2.0, 2.0, 1.0, -1.0]], [-width / 3, 0.0])))


@pytest.mark.parametrize("seed", range(4))
def test_weights_from_1e_minus_30_to_1e30(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors = [10.0 ** rng.integers(-30, 31, (n, 1)) for n in (5, 4)]
    first, second = rng.standard_normal((5, 3)), rng.standard_normal((4, 5))
    layers = relu_layers(
        ((first * factors[0])[:, :2].tolist(), (first * factors[0])[:, 2].tolist()),
        ((second * factors[1] / factors[0].T).tolist(), (rng.standard_normal(4) * factors[1][:, 0]).tolist()),
    )
    check_cube(layers)


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_very_different_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((6, 3)) * 10.0 ** rng.integers(-30, 31, (6, 3))
    check_cube(relu_layers((weight.tolist(), (rng.standard_normal(6) * 10.0 ** rng.integers(-30, 31, 6)).tolist())))


# ---------------------------------------------------------------------- degenerate


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@pytest.mark.parametrize("whole", [False, True])
def test_zero_bias_everywhere(dim: int, whole: bool) -> None:
    check_cube(reference_layers([dim, 5 if dim < 4 else 4, 4, 3], dim, whole=2 * whole, bias=0))


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("factor", [1.0, -1.0, 3.0, -1e-12])
def test_repeated_units(layer: int, factor: float) -> None:
    layers = reference_layers([2, 4, 4, 3], layer)
    weight, bias = [list(row) for row in layers[layer].weight], list(layers[layer].bias)
    weight[-1], bias[-1] = [factor * a for a in weight[0]], factor * bias[0]
    layers[layer] = Layer(weight, bias)
    check_cube(layers)


@pytest.mark.parametrize("factor", [1.0, -1.0, 0.5])
def test_a_unit_that_an_earlier_layer_has_already(factor: float) -> None:
    """relu(z) and relu(-z) of a first-layer unit give z back to the second, on the same hyperplane."""
    (first,) = reference_layers([2, 3], 3)
    weight, bias = [*first.weight, [-a for a in first.weight[0]]], [*first.bias, -first.bias[0]]
    second = ([[factor, 0.0, 0.0, -factor], [0.3, -0.7, 0.2, 0.5], [1.0, 0.0, 0.0, 0.0]], [0.0, 0.1, 0.0])
    check_cube(relu_layers((weight, bias), second))


@pytest.mark.parametrize("dim", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_whole_weights_as_linear_programs_see_them(dim: int, seed: int) -> None:
    layers = reference_layers([dim, 6 if dim < 4 else 5, 5], seed, whole=2)
    domain = al.Box(-2, 2, dim=dim)
    rs = al.enumerate(compiled(layers), domain, engine="vertex", workers=1)
    reference = al.enumerate(compiled(layers), domain, engine="linear_program", workers=1)
    assert patterns(rs) == patterns(reference)
    assert rs.layer_counts == reference.layer_counts
    assert al.count(compiled(layers), domain, engine="count", workers=1) == len(rs)


@pytest.mark.parametrize("value", [0.0, 0.1, -1.0])
def test_fixed_inputs(value: float) -> None:
    layers = reference_layers([3, 5, 4], 5)
    first = layers[0]
    bias = [Fraction(row[1]) * Fraction(value) + Fraction(b) for row, b in zip(first.weight, first.bias, strict=True)]
    reduced = Layer([[row[0], row[2]] for row in first.weight], bias)  # type: ignore[arg-type]
    domain = al.Box([-1.0, value, -1.0], [1.0, value, 1.0])
    check(layers, domain, brute_force.box([-1.0] * 2, [1.0] * 2), [reduced, layers[1]])


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("offset", [1e6, -1e9, 2.0**50])
def test_boxes_far_from_the_origin(dim: int, offset: float) -> None:
    """Hyperplanes through [offset, offset + 1]^d whose biases cancel almost all of it."""
    rng = np.random.default_rng(dim)
    weight = rng.integers(-8, 9, (5, dim)).astype(float)
    bias = [-float(row.sum() * offset) - float(row.sum()) / 2 for row in weight]
    layers = [*relu_layers((weight.tolist(), bias)), *reference_layers([5, 3], dim)]
    rs = check_box(layers, [offset] * dim, [offset + 1.0] * dim)
    assert len(rs) > 1


# ---------------------------------------------------------------------- other activations


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pieces", [LEAKY, HARD_TANH, ABSOLUTE, ZIGZAG])
def test_other_activations_with_ties(pieces: tuple[Floats, Floats, Floats], seed: int) -> None:
    layers = reference_layers([2, 4, 3], seed, whole=2)
    first, second = [Layer(layer.weight, layer.bias, [pieces] * len(layer.bias)) for layer in layers]
    copy = Layer([*first.weight[:3], first.weight[0]], [*first.bias[:3], first.bias[0]], first.pieces)
    check_cube([first, second])
    check_cube([copy, second])


@pytest.mark.parametrize("seed", range(6))
def test_groups_with_ties(seed: int) -> None:
    """Equal candidates, candidates that differ by a constant, and maxima of maxima."""
    first, second = reference_layers([2, 6], seed, whole=2)[0], reference_layers([2, 5], seed + 9, whole=2)[0]
    weight, bias = [list(row) for row in first.weight], list(first.bias)
    weight[1], bias[1] = weight[0], bias[0]
    weight[4], bias[4] = weight[3], bias[3] + 1e-17
    check_cube([Layer(weight, bias, None, [3, 3]), Layer(second.weight, second.bias, None, [2, 3])])


@pytest.mark.parametrize("seed", range(3))
def test_residual_connections(seed: int) -> None:
    """Stages that read the input and all stages before; brute force carries them along as linear units."""
    dim, width = 2, 4
    (a, b, c) = (
        reference_layers([dim, width, width + 1], seed, whole=2 * (seed == 0))[:1]
        + reference_layers([dim + width, width], seed + 20, whole=2 * (seed == 0))
        + reference_layers([dim + 2 * width, width], seed + 40, whole=2 * (seed == 0))
    )
    builder = GraphBuilder((dim,))
    parts = [builder.input()]
    for index, layer in enumerate((a, b, c)):
        weight = np.array(layer.weight)
        total = builder.constant(np.array(layer.bias))
        for tensor in parts:
            columns, weight = weight[:, : tensor.size], weight[:, tensor.size :]
            total = builder.add(total, builder.matmul_right(tensor, columns.T))
        parts.append(builder.activate(total, activation([([0.0], [0.0, 1.0], [0.0, 0.0])] * width), f"stage {index}"))
    network = builder.finish(parts[-1])
    linear = ([], [1.0], [0.0])
    relu = ([0.0], [0.0, 1.0], [0.0, 0.0])
    carried, have = [], dim
    for layer in (a, b, c):
        weight = [*np.eye(have).tolist(), *layer.weight]
        carried.append(Layer(weight, [*[0.0] * have, *layer.bias], [linear] * have + [relu] * width))
        have += width
    found = patterns_by_stage(carried, brute_force.box([-1.0] * dim, [1.0] * dim))
    sizes = [dim + width, dim + 2 * width, dim + 3 * width]
    ends = np.cumsum(sizes)
    expected = {tuple(v for end in ends for v in pattern[end - width : end]) for pattern in found[-1]}
    rs = al.enumerate(network, al.Box(-1, 1, dim=dim), engine="vertex", workers=1)
    assert patterns(rs) == expected
    assert rs.layer_counts == tuple(len(stage) for stage in found)
    assert al.count(network, al.Box(-1, 1, dim=dim), engine="count", workers=1) == len(rs)


# ---------------------------------------------------------------------- many facets, many units, many dimensions


def circle(sides: int) -> np.ndarray:
    """Rational points of the unit circle, as exact floats after scaling by 2**20."""
    angles = 2 * np.pi * (np.arange(sides) + 0.37) / sides
    return np.round(np.column_stack([np.cos(angles), np.sin(angles)]) * 2.0**20) / 2.0**20


@pytest.mark.parametrize("sides", [65, 100, 130])
def test_polygons_of_many_sides(sides: int) -> None:
    rows, offsets = circle(sides), [1.0] * sides
    domain = al.Polytope(rows, offsets)
    layers = reference_layers([2, 4, 3], 1)
    rs = check(layers, domain, brute_force.polytope(rows.tolist(), offsets, 2.0))
    whole = al.enumerate([(np.ones((1, 2)), np.zeros(1))], domain, engine="vertex", workers=1)
    assert len(whole[0].facet_numbers) == sides
    numbers = set(rs.facet_values.tolist())
    assert set(range(sides)) <= numbers


def test_a_prism_of_many_sides() -> None:
    sides = 80
    rows = np.vstack([np.column_stack([circle(sides), np.zeros(sides)]), [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    domain = al.Polytope(rows, [1.0] * (sides + 2))
    network = compiled(reference_layers([3, 4, 3], 2))
    rs = al.enumerate(network, domain, engine="vertex", workers=1, vertices=True)
    assert al.count(network, domain, engine="count", workers=1) == len(rs)
    whole = al.enumerate([(np.ones((1, 3)), np.zeros(1))], domain, engine="vertex", workers=1, vertices=True)
    assert len(whole[0].facet_numbers) == sides + 2
    assert len(whole[0].vertices) == 2 * sides
    totals = []
    for found in (rs, whole):
        table = found.outcome.table.vertices
        assert table is not None
        totals.append(cell_volumes(table.points, table.offsets[1:], table.tight, 3).sum())
    assert totals[0] == pytest.approx(totals[1], rel=1e-12)
    reference = al.enumerate(network, domain, engine="linear_program", workers=1)
    assert patterns(rs) == patterns(reference)


@pytest.mark.parametrize("width", [64, 65, 129])
def test_wide_stages(width: int) -> None:
    """Parallel lines, in two bundles: a grid; and a second wide stage of copies of the first's units."""
    half = width // 2
    weight = [[1.0, 0.0]] * half + [[0.0, 1.0]] * (width - half)
    steps = [-1.0 + 2.0 * (k + 1) / (n + 1) for n in (half, width - half) for k in range(n)]
    first = (weight, [-s for s in steps])
    copies = (np.eye(width).tolist(), [0.0] * width)
    expected = (half + 1) * (width - half + 1)
    for layers in (relu_layers(first), relu_layers(first, copies))[: 2 if width == 65 else 1]:
        network = compiled(layers)
        rs = al.enumerate(network, al.Box(-1, 1, dim=2), engine="vertex", workers=1)
        assert len(patterns(rs)) == expected
        assert np.all(np.diff(rs.facet_offsets) == 4)
        assert al.count(network, al.Box(-1, 1, dim=2), engine="count", workers=1) == expected


@pytest.mark.parametrize(("dim", "units"), [(1, 6), (2, 5), (3, 4), (4, 3), (5, 3), (6, 2)])
def test_every_dimension(dim: int, units: int) -> None:
    check_cube(reference_layers([dim, units, 2], dim))


@pytest.mark.parametrize("units", [1, 3, 5])
def test_ten_dimensions(units: int) -> None:
    """Generic hyperplanes through the middle cut the cube into 2^units; with ``linear_program`` on a second stage."""
    layers = reference_layers([10, units], units, bias=0)
    domain = al.Box(-1, 1, dim=10)
    for engine in ("vertex", "count"):
        assert al.count(compiled(layers), domain, engine=engine, workers=1) == sum(comb(units, i) for i in range(11))
    deeper = compiled([*layers, *reference_layers([units, 2], units + 1)])
    rs = al.enumerate(deeper, domain, engine="vertex", workers=1)
    assert patterns(rs) == patterns(al.enumerate(deeper, domain, engine="linear_program", workers=1))


@pytest.mark.parametrize(
    "pieces",
    [([0.0], [-1.0, 2.0**-60], [0.0, 0.0]), ([0.0, 1.0], [0.0, 1.0, 2.0**-60], [0.0, 0.0, 1.0])],
)
def test_a_change_of_slope_that_float64_rounds_to_one(pieces: tuple[Floats, Floats, Floats]) -> None:
    """The slope 2^-60 is lost in the difference of slopes, and decides the sign of the next unit."""
    check_box([Layer([[1.0]], [0.0], pieces=[pieces]), Layer([[1.0]], [0.0])], [-4.0], [4.0])
    check_box([Layer([[1.0]], [0.0], pieces=[pieces]), Layer([[1.0]], [-1.0])], [-4.0], [4.0])


@pytest.mark.parametrize("exponent", [-505, -500, -470, 0])
@pytest.mark.parametrize("seed", range(8))
def test_errors_whose_squares_underflow(exponent: int, seed: int) -> None:
    """Two of the units nearly cancel the others; everything passes through numbers near 2^exponent."""
    rng = np.random.default_rng(seed)
    slopes, constants, weights = rng.normal(size=4), rng.normal(size=4) + 6, rng.normal(size=4)
    others = -np.array([weights[:2] @ slopes[:2], weights[:2] @ constants[:2]])
    weights[2:] = np.linalg.solve(np.array([slopes[2:], constants[2:]]), others)
    scale = 2.0**exponent
    first = ((scale * slopes)[:, None].tolist(), (scale * constants).tolist())
    check_box(relu_layers(first, ([(weights / scale).tolist()], [0.0])), [-1.0], [1.0])


@pytest.mark.parametrize("seed", range(12))
def test_a_polytope_whose_rows_are_subnormal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    normals, offsets = rng.integers(-9, 10, size=(7, 2)).astype(float), rng.integers(1, 12, size=7).astype(float)
    model = [(rng.normal(size=(4, 2)), rng.normal(size=4) * 0.3), (np.ones((1, 4)), np.zeros(1))]
    found = [
        patterns(al.enumerate(model, al.Polytope(normals * scale, offsets * scale), engine="vertex", workers=1))
        for scale in (1.0, 2.0**-1074)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("exponent", [-530, -400])
@pytest.mark.parametrize("seed", range(10))
def test_nearly_parallel_lines_through_tiny_numbers(exponent: int, seed: int) -> None:
    """A line passes at 2^-37 from where two nearly parallel ones meet, which come through units near 2^exponent."""
    rng = np.random.default_rng(seed)
    scale = 2.0**exponent
    first = rng.normal(size=2)
    lines = np.array([first, first + 2.0**-18 * rng.normal(size=2)])
    constants = -(lines @ (rng.uniform(-0.4, 0.4, size=2) + 3))
    (a, b), (c, d) = ([Fraction(x) for x in line] for line in lines.tolist())
    r, s = (-Fraction(x) for x in constants.tolist())
    meeting = (r * d - s * b) / (a * d - c * b) - 3
    third = float(meeting) + (1 if seed % 2 else -1) * 2.0**-37
    builder = GraphBuilder((2,))
    x = builder.input()
    tiny = builder.add_constant(builder.matmul_right(x, scale * np.eye(2)), np.full(2, 3.0 * scale))
    tiny = builder.activate(tiny, activation([([0.0], [0.0, 1.0], [0.0, 0.0])] * 2), "tiny")
    of_tiny = builder.matmul_right(tiny, np.hstack([lines.T / scale, np.zeros((2, 1))]))
    of_input = builder.matmul_right(x, np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    total = builder.add_constant(builder.add(of_tiny, of_input), np.append(constants, -third))
    network = builder.finish(builder.activate(total, activation([([0.0], [0.0, 1.0], [0.0, 0.0])] * 3), "lines"))
    vertex, reference = (
        patterns(al.enumerate(network, al.Box(-1, 1, dim=2), engine=engine, workers=1))
        for engine in ("vertex", "linear_program")
    )
    assert vertex == reference


def test_a_column_that_underflows() -> None:
    """A slope of 2^-540 times a weight of 2^-540 is below all float64, and still decides a sign."""
    slope = 2.0**-540
    leaky = ([0.0], [slope, 1.0], [0.0, 0.0])
    layers = [
        Layer([[2.0**100], [0.0]], [-(2.0**101), 1.0], pieces=[leaky, leaky]),
        Layer([[slope, 0.0]], [2.0**-985]),
    ]
    check_box(layers, [-1.0], [1.0])


@pytest.mark.parametrize("seed", range(12))
def test_values_that_nearly_overflow(seed: int) -> None:
    """Units may be multiplied by any power of two; the values of some of these reach 2^1024."""
    rng = np.random.default_rng(seed)
    weight, bias = rng.normal(size=(6, 2)), rng.normal(size=6) * 0.2
    largest = 1024 - np.ceil(np.log2((np.abs(weight).sum(axis=1) + np.abs(bias)) * 1.0000001))
    exponent = np.where(rng.integers(0, 2, size=6) > 0, largest, 0).astype(int)
    last = (np.ones((1, 6)), np.zeros(1))
    huge = [(np.ldexp(weight, exponent[:, None]), np.ldexp(bias, exponent)), last]
    domain = al.Box(-0.99, 0.99, dim=2)
    counts = {al.count(huge, domain, engine=engine, workers=1) for engine in ("vertex", "count")}
    assert counts == {al.count([(weight, bias), last], domain, engine="vertex", workers=1)}


def test_an_infinite_coefficient() -> None:
    """1e308 times the half-width of the domain is above all float64."""
    layers = relu_layers(([[1e308, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 1.0]], [0.0, -0.3e10, -0.15e10, 0.1e10]))
    with np.errstate(over="ignore", invalid="ignore"):
        check_box(layers, [-1e10, -1e10], [1e10, 1e10])


def test_a_region_far_below_the_domain_in_size() -> None:
    """The point between 1e-200 and 2e-200 underflows when the domain, of 1e200, is scaled to the unit cube."""
    check_box(relu_layers(([[1.0], [1.0]], [-1e-200, -2e-200])), [-1e200], [1e200])


def test_a_point_with_short_numbers_in_a_cell_of_one_ulp(tmp_path: Path) -> None:
    """Two units differ by one ulp; the mean of the vertices between them has thousands of digits."""
    rng = np.random.default_rng(7)
    weight, bias = rng.normal(size=(6, 6)), 0.1 * rng.normal(size=6)
    weight[1] = weight[0]
    bias[1] = np.nextafter(bias[0], 1.0)
    model = [(weight, bias), (np.ones((1, 6)), np.zeros(1))]
    rs = al.enumerate(model, al.Box(-1, 1, dim=6), engine="vertex", workers=1, run=tmp_path / "run")
    exact = [region.exact_point for region in al.load(tmp_path / "run")]
    assert len(exact) == len(rs)
    assert max(coordinate.denominator.bit_length() for point in exact for coordinate in point) < 4000
