"""The patterns equal those of a rational brute force, on generic, degenerate and nearly degenerate networks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import affinelens as al
from support import brute_force
from support.brute_force import Layer, patterns_by_stage
from support.degenerate_networks import generic, layers_that_meet, whole, wild
from support.networks import (
    compiled,
    evaluate,
    patterns,
    relu_layers,
)


@dataclass
class Case:
    """A network on a domain, twice: as the package takes it and as brute force takes it."""

    layers: list[Layer]
    domain: al.Domain
    brute_layers: list[Layer]
    brute_domain: brute_force.Polytope


def assert_same_regions(case: Case) -> al.RegionSet:
    expected = patterns_by_stage(case.brute_layers, case.brute_domain)
    model = compiled(case.layers)
    counts = tuple(len(stage) for stage in expected)
    low = case.domain.dim <= 6
    bare = [al.enumerate(model, case.domain, engine="vertex", workers=1, facets=False)] if low else []
    full = [
        al.enumerate(model, case.domain, engine=engine, workers=1)
        for engine in (("linear_program", "vertex") if low else ("linear_program",))
    ]
    for rs in bare + full:
        assert patterns(rs) == expected[-1]
        assert rs.layer_counts == counts
        for region in rs:
            assert evaluate(case.layers, region.exact_point)[1] == region.pattern.tolist()
            assert contains(case.domain, region.exact_point)
    facets = [{tuple(r.pattern.tolist()): sides(r) for r in rs} for rs in full]
    assert facets[0] == facets[-1]
    for engine in ("linear_program", "vertex", "count") if low else ("linear_program",):
        assert al.count(model, case.domain, engine=engine, workers=1) == counts[-1]
    return rs


def sides(region: al.Region) -> list[list[float]]:
    """The region's halfspaces, each scaled to a largest coefficient of 1: hyperplanes that coincide look the same."""
    rows = np.column_stack(region.halfspaces)
    largest = np.abs(rows[:, :-1]).max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        scaled = np.where(np.isfinite(largest) & (largest > 0), rows / largest, 0.0)
    return sorted(np.round(scaled, 9).tolist())


def contains(domain: al.Domain, point: list[Fraction]) -> bool:
    if isinstance(domain, al.Box):
        return all(low <= x <= high for low, x, high in zip(domain.lower, point, domain.upper, strict=True))
    assert isinstance(domain, al.Polytope)
    rows = zip(domain.weight.tolist(), domain.offset.tolist(), strict=True)
    return all(sum((Fraction(a) * x for a, x in zip(row, point, strict=True)), Fraction(b)) >= 0 for row, b in rows)


def on_box(layers: list[Layer], lower: list[float], upper: list[float]) -> Case:
    return Case(layers, al.Box(lower, upper), layers, brute_force.box(lower, upper))


# ---------------------------------------------------------------------- random networks


def random_test(examples: int, *, shrink: bool = True):
    """Where one example takes long, a failure is reported as found: shrinking it would take minutes."""
    return settings(
        deadline=None,
        derandomize=True,
        max_examples=examples,
        phases=[phase for phase in Phase if shrink or phase not in (Phase.shrink, Phase.explain)],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
@random_test(100)
@given(data=st.data())
def test_on_a_cube(dim: int, data: st.DataObject) -> None:
    assert_same_regions(on_box(data.draw(layers_that_meet(dim)), [-1.0] * dim, [1.0] * dim))


@pytest.mark.parametrize("dim", [1, 2, 3])
@random_test(80)
@given(data=st.data())
def test_with_numbers_from_1e_minus_30_to_1e30(dim: int, data: st.DataObject) -> None:
    assert_same_regions(on_box(data.draw(layers_that_meet(dim, wild)), [-1.0] * dim, [1.0] * dim))


@pytest.mark.parametrize("dim", [1, 2, 3])
@random_test(80)
@given(data=st.data())
def test_on_boxes_of_any_size(dim: int, data: st.DataObject) -> None:
    layers = data.draw(layers_that_meet(dim))
    lower = data.draw(st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.1, -1e-9]), min_size=dim, max_size=dim))
    width = data.draw(st.lists(st.sampled_from([1.0, 3.0, 1e-9, 2.0**-50, 1e6]), min_size=dim, max_size=dim))
    upper = [low + w for low, w in zip(lower, width, strict=True)]
    assert_same_regions(on_box(layers, lower, upper))


@pytest.mark.parametrize("dim", [2, 3, 4])
@random_test(60)
@given(data=st.data())
def test_with_fixed_inputs(dim: int, data: st.DataObject) -> None:
    """Brute force gets the network with the fixed inputs put in, and the box of the others."""
    layers = data.draw(layers_that_meet(dim))
    fixed = {
        k: data.draw(st.sampled_from([-1.0, 0.0, 0.1, 1.0]))
        for k in data.draw(st.sets(st.integers(1, dim - 1), min_size=1))
    }
    free = [k for k in range(dim) if k not in fixed]
    lower = [fixed.get(k, -1.0) for k in range(dim)]
    upper = [fixed.get(k, 1.0) for k in range(dim)]
    first = layers[0]
    bias = [
        sum((Fraction(row[k]) * Fraction(value) for k, value in fixed.items()), Fraction(b))
        for row, b in zip(first.weight, first.bias, strict=True)
    ]
    reduced = Layer([[row[k] for k in free] for row in first.weight], bias, first.pieces, first.groups)
    cube = brute_force.box([-1.0] * len(free), [1.0] * len(free))
    assert_same_regions(Case(layers, al.Box(lower, upper), [reduced, *layers[1:]], cube))


def random_cut_cube(data: st.DataObject, dim: int) -> tuple[list[list[float]], list[float]]:
    """Rows and offsets of a cube with corners cut off; every cut keeps the origin inside."""
    normals = st.lists(data.draw(st.sampled_from([whole, generic])), min_size=dim, max_size=dim)
    cuts = data.draw(st.lists(st.tuples(normals, st.sampled_from([0.25, 1.0, 2.0])), max_size=4))
    cuts = [(normal, offset) for normal, offset in cuts if any(normal)]
    sides = np.concatenate([np.eye(dim), -np.eye(dim)]).tolist()
    return [*sides, *(normal for normal, _ in cuts)], [*[1.0] * (2 * dim), *(offset for _, offset in cuts)]


@pytest.mark.parametrize("dim", [1, 2, 3])
@random_test(80)
@given(data=st.data())
def test_on_cut_cubes(dim: int, data: st.DataObject) -> None:
    layers = data.draw(layers_that_meet(dim))
    rows, offsets = random_cut_cube(data, dim)
    assert_same_regions(Case(layers, al.Polytope(rows, offsets), layers, brute_force.polytope(rows, offsets, 1.0)))


# ---------------------------------------------------------------------- high dimension


def assert_unchanged_by_idle_inputs(
    layers: list[Layer], rows: list[list[float]], offsets: list[float], more: int
) -> None:
    """Times a cube of ``more`` dimensions the domain has the same regions, with the cube's facets besides their own."""
    dim = len(rows[0])
    first = layers[0]
    wide = Layer([[*row, *[0.0] * more] for row in first.weight], first.bias, first.pieces, first.groups)
    sides_of_cube = np.concatenate([np.eye(more), -np.eye(more)])
    domain = al.Polytope(
        [*([*row, *[0.0] * more] for row in rows), *np.hstack([np.zeros((2 * more, dim)), sides_of_cube]).tolist()],
        [*offsets, *[1.0] * (2 * more)],
    )
    rs = assert_same_regions(Case([wide, *layers[1:]], domain, layers, brute_force.polytope(rows, offsets, 1.0)))
    narrow = al.enumerate(compiled(layers), al.Polytope(rows, offsets), workers=1)
    faces = np.hstack([np.zeros((2 * more, dim)), sides_of_cube, np.ones((2 * more, 1))]).tolist()
    own = {tuple(region.pattern): [[*row[:-1], *[0.0] * more, row[-1]] for row in sides(region)] for region in narrow}
    for region in rs:
        assert sides(region) == sorted([*own[tuple(region.pattern)], *faces])


@pytest.mark.parametrize("dim", [1, 2, 3])
@random_test(12, shrink=False)
@given(data=st.data())
def test_inputs_that_nothing_depends_on_change_nothing(dim: int, data: st.DataObject) -> None:
    layers = data.draw(layers_that_meet(dim))
    rows, offsets = random_cut_cube(data, dim)
    assert_unchanged_by_idle_inputs(layers, rows, offsets, data.draw(st.integers(22, 30)))


@pytest.mark.parametrize(
    ("weight", "bias", "cut", "offset"),
    [
        ([[2, 1], [-1, -1]], [-2, 0], [2, 2], 0.25),
        ([[-1, 1], [2, 2]], [0, -1], [2, -2], 0.5),
        ([[-2, -1, 1]], [0], [-2, 2, 1], 1.0),
        ([[1, -1, -2], [-1, 2, 2]], [1, -1], [-2, -2, 2], 1.0),
    ],
)
def test_idle_inputs_beside_two_general_facets(
    weight: list[list[float]], bias: list[float], cut: list[float], offset: float
) -> None:
    dim = len(cut)
    sides = np.concatenate([np.eye(dim), -np.eye(dim)]).tolist()
    assert_unchanged_by_idle_inputs(relu_layers((weight, bias)), [cut, *sides], [offset, *[1.0] * (2 * dim)], 24)


@random_test(12, shrink=False)
@given(data=st.data())
def test_all_inputs_of_a_cube_seen_through_two_of_their_sums(data: st.DataObject) -> None:
    """The network depends on ``A x`` only, and A takes the cube to a zonotope, a polygon whose sides are known."""
    inputs = data.draw(st.integers(24, 34))
    sums = np.array(data.draw(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=inputs, max_size=inputs))).T
    sums[:, :2] = np.eye(2)
    layers = data.draw(layers_that_meet(2, whole))
    first = layers[0]
    wide = Layer((np.array(first.weight) @ sums).tolist(), first.bias, first.pieces, first.groups)
    normals = [(-int(b), int(a)) for a, b in sums.T if a or b]
    reach = [float(sum(abs(n[0] * int(a) + n[1] * int(b)) for a, b in sums.T)) for n in normals]
    rows = [[sign * n[0], sign * n[1]] for n in normals for sign in (1.0, -1.0)]
    polygon = brute_force.polytope(rows, [r for r in reach for _ in range(2)], float(np.abs(sums).sum()))
    assert_same_regions(Case([wide, *layers[1:]], al.Box(-1, 1, dim=inputs), layers, polygon))


# ---------------------------------------------------------------------- nearly degenerate


@pytest.mark.parametrize("gap", [0.0, 5e-324, 1e-300, 1e-30, 1e-17, 1e-13, 1e-6])
def test_three_nearly_concurrent_lines(gap: float) -> None:
    """x = 0, y = 0 and x + y = gap meet in one point or bound a triangle of that size."""
    rs = assert_same_regions(on_box(relu_layers(([[1, 0], [0, 1], [1, 1]], [0, 0, -gap])), [-1.0, -1.0], [1.0, 1.0]))
    assert len(rs) == (7 if gap else 6)


@pytest.mark.parametrize("gap", [1e-200, 1e-30, 1e-17, 1e-13])
def test_what_follows_a_tiny_triangle_is_still_decided(gap: float) -> None:
    layers = relu_layers(
        ([[1, 0], [0, 1], [-1, -1]], [0, 0, gap]),
        ([[1, 1, 1], [1, -1, 0], [3, 0, -1]], [-gap, 0, 0]),
    )
    assert_same_regions(on_box(layers, [-1.0, -1.0], [1.0, 1.0]))


@pytest.mark.parametrize("gap", [1e-20, 1e-17, 1e-13, 1e-9])
def test_slivers_between_nearly_equal_units(gap: float) -> None:
    layers = relu_layers(([[3, 1], [3, 1], [1, -2]], [0.1, 0.1 + gap, 0.3]), ([[1, -1, 0.5], [-2, 2, 1]], [0, gap]))
    assert_same_regions(on_box(layers, [-1.0, -1.0], [1.0, 1.0]))


def test_a_region_without_a_float64_point_is_kept_with_a_rational_one() -> None:
    """Between 3 x = 1 and 3 x = 1 + 2^-52, near 1/3, there is no float64; neither is there in (1, 1 + 2^-52)."""
    layers = relu_layers(([[3.0], [3.0], [1.0], [1.0]], [-1.0, -(1.0 + 2.0**-52), -1.0, -(1.0 + 2.0**-52)]))
    rs = assert_same_regions(on_box(layers, [0.0], [2.0]))
    assert len(rs) == 5
    thin = [region for region in rs if region.pattern.tolist() in ([1, 0, 0, 0], [1, 1, 1, 0])]
    assert len(thin) == 2
    for region in thin:
        (x,) = region.exact_point
        low, high = (
            (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 3 * 2**52))
            if x < 0.5
            else (Fraction(1), 1 + Fraction(1, 2**52))
        )
        assert low < x < high


def test_children_of_a_region_without_a_float64_point() -> None:
    """The middle of (1, 1 + 2^-52) is cut again by 2 (relu(x - 1) - relu(x - 1 - 2^-52)) - 2^-52."""
    ulp = 2.0**-52
    layers = relu_layers(([[1.0], [1.0]], [-1.0, -(1.0 + ulp)]), ([[2.0, -2.0]], [-ulp]))
    rs = assert_same_regions(on_box(layers, [0.0], [2.0]))
    assert rs.layer_counts == (3, 4)


def test_a_domain_of_one_ulp() -> None:
    ulp = 2.0**-52
    layers = relu_layers(([[2.0, 0.0], [1.0, 1.0]], [-2.0 - ulp, -1.0 - ulp]))
    assert_same_regions(on_box(layers, [1.0, 0.0], [1.0 + ulp, 5.0 * ulp]))


def test_units_that_float64_takes_for_constant() -> None:
    """(1 + e)^2 rounds to 1 + 2 e, so float64 sees (1 + e) (1 + e) x - (1 + 2 e) x as zero; it is e^2 x."""
    e = 2.0**-30
    layers = relu_layers(([[1 + e], [1 + 2 * e]], [4.0, 4.0 * (1 + e)]), ([[1 + e, -1.0]], [0.0]))
    assert_same_regions(on_box(layers, [-1.0], [2.0]))


def test_units_whose_slopes_underflow() -> None:
    """1e-200 x, times 1e-200, is below every float64 and still changes sign at 0."""
    layers = relu_layers(([[1e-200], [0.0]], [3e-200, 3e-200]), ([[1e-200, -1e-200]], [0.0]))
    assert_same_regions(on_box(layers, [-1.0], [2.0]))


def test_units_whose_slopes_overflow() -> None:
    """1e200 x, times 1e200, is beyond every float64 and still changes sign at 0."""
    layers = relu_layers(([[1e200], [0.0]], [3e200, 3e200]), ([[1e200, -1e200]], [0.0]))
    with np.errstate(over="ignore", invalid="ignore"):
        assert_same_regions(on_box(layers, [-1.0], [2.0]))
