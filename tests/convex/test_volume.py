"""Volumes of cells: known solids, rational references, and laws that hold for every cell."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.convex.volume import cell_centroids, cell_volumes, scaled_volumes
from support import brute_force
from support.brute_force import Polytope, Row

CLOSE = 1e-12
volume_test = settings(deadline=None, derandomize=True, max_examples=60)
Table = list[list[Fraction]]


def pack(cells: list[Polytope], words: int | None = None) -> tuple[Any, Any, Any]:
    """Cells as the arrays that ``cell_volumes`` takes."""
    words = words or max((cell.constraints + 63) // 64 for cell in cells)
    flat = [pair for cell in cells for pair in cell.vertices]
    vertices = np.array([[float(a) for a in vertex] for vertex, _ in flat])
    tight = np.zeros((len(flat), words), np.uint64)
    for row, (_, names) in zip(tight, flat, strict=True):
        for name in names:
            row[name // 64] |= np.uint64(1 << (name % 64))
    return vertices, np.cumsum([len(cell.vertices) for cell in cells]), tight


def volumes(*cells: Polytope) -> Any:
    return cell_volumes(*pack(list(cells)), dim(cells[0]))


def volume(cell: Polytope) -> float:
    return float(volumes(cell)[0])


def dim(cell: Polytope) -> int:
    return len(cell.vertices[0][0])


def cell_of(points: list[tuple[int, ...]], rows: list[tuple[tuple[int, ...], int]]) -> Polytope:
    """The cell with these vertices, in ``weight x + constant >= 0`` for each row."""
    vertices = []
    for point in points:
        values = [sum(a * x for a, x in zip(weight, point, strict=True)) + constant for weight, constant in rows]
        assert min(values) == 0
        vertices.append(
            (tuple(Fraction(x) for x in point), frozenset(b for b, value in enumerate(values) if value == 0))
        )
    return Polytope(vertices, len(rows))


def units(d: int) -> list[tuple[int, ...]]:
    return [tuple(int(j == k) for j in range(d)) for k in range(d)]


def determinant(matrix: Table) -> Fraction:
    """By Laplace's expansion."""
    if not matrix:
        return Fraction(1)
    return sum(
        ((-1) ** k * a * determinant([row[:k] + row[k + 1 :] for row in matrix[1:]]) for k, a in enumerate(matrix[0])),
        Fraction(0),
    )


def simplex(d: int) -> Polytope:
    """The origin and the unit points."""
    return cell_of([(0,) * d, *units(d)], [((-1,) * d, 1), *((unit, 0) for unit in units(d))])


def cross_polytope(d: int) -> Polytope:
    """The unit points and their opposites; its facets are named by their signs, read as a binary number."""
    vertices = []
    for k, sign in product(range(d), (1, -1)):
        names = frozenset(name for name in range(2**d) if (name >> k & 1) == (sign > 0))
        vertices.append((tuple(Fraction(sign * int(j == k)) for j in range(d)), names))
    return Polytope(vertices, 2**d)


def cube(d: int) -> Polytope:
    return brute_force.box([0] * d, [1] * d)


def times(a: Polytope, b: Polytope) -> Polytope:
    """The product of two cells."""
    vertices = [
        (p + q, on_p | {a.constraints + name for name in on_q}) for p, on_p in a.vertices for q, on_q in b.vertices
    ]
    return Polytope(vertices, a.constraints + b.constraints)


def pyramid(base: Polytope, apex: list[int], *, apex_first: bool) -> Polytope:
    """A base at height 0 and an apex, which lies on every other facet."""
    name = base.constraints
    tip = (tuple(Fraction(a) for a in apex), frozenset(range(name)))
    rest = [((*point, Fraction(0)), names | {name}) for point, names in base.vertices]
    return Polytope([tip, *rest] if apex_first else [*rest, tip], name + 1)


def touched(cell: Polytope, on: set[int]) -> Polytope:
    """The cell with one more hyperplane, on which just some of its vertices lie."""
    name = cell.constraints
    vertices = [(p, names | {name} if i in on else names) for i, (p, names) in enumerate(cell.vertices)]
    return Polytope(vertices, name + 1)


def moved(cell: Polytope, matrix: Table, by: list[Fraction]) -> Polytope:
    def image(point: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        return tuple(
            sum((m * a for m, a in zip(row, point, strict=True)), b) for row, b in zip(matrix, by, strict=True)
        )

    return Polytope([(image(point), names) for point, names in cell.vertices], cell.constraints)


def shuffled(cell: Polytope, seed: int, names: int) -> Polytope:
    """The cell with its vertices in another order, and its hyperplanes named anew with gaps."""
    rng = np.random.default_rng(seed)
    new = [int(name) for name in rng.permutation(names)[: cell.constraints]]
    order = [cell.vertices[i] for i in rng.permutation(len(cell.vertices))]
    return Polytope([(point, frozenset(new[name] for name in on)) for point, on in order], names)


def negated(row: Row) -> Row:
    return tuple(-a for a in row[0]), -row[1]


def parts(cell: Polytope, row: Row) -> list[Polytope]:
    return [part for side in (row, negated(row)) if (part := cell.positive_part(side)) is not None]


# ---------------------------------------------------------------------- known solids


@pytest.mark.parametrize("d", range(1, 11))
def test_boxes(d: int) -> None:
    lower = [k - 2.5 for k in range(d)]
    upper = [k - 2.5 + 0.25 * (k + 1) for k in range(d)]
    assert volume(brute_force.box(lower, upper)) == pytest.approx(0.25**d * factorial(d), rel=CLOSE)


@pytest.mark.parametrize("d", range(1, 7))
def test_simplices(d: int) -> None:
    assert volume(simplex(d)) == pytest.approx(1 / factorial(d), rel=CLOSE)


@pytest.mark.parametrize("d", range(2, 9))
def test_cross_polytopes(d: int) -> None:
    assert volume(cross_polytope(d)) == pytest.approx(2**d / factorial(d), rel=CLOSE)


def test_polygon_of_many_sides() -> None:
    """Sides in no order, more of them than fit into a word."""
    sides = 150
    corners = [(Fraction(k), Fraction(k * k)) for k in range(sides)]
    cell = Polytope([(p, frozenset({k, (k + 1) % sides})) for k, p in enumerate(corners)], sides)
    twice = sum(a[0] * b[1] - a[1] * b[0] for a, b in pairwise([*corners, corners[0]]))
    assert volume(shuffled(cell, 3, 200)) == pytest.approx(float(twice / 2), rel=CLOSE)


@pytest.mark.parametrize("apex_first", [True, False])
@pytest.mark.parametrize("d", range(2, 7))
def test_pyramids_over_cubes(d: int, apex_first: bool) -> None:
    cell = pyramid(cube(d - 1), [*range(d - 1), 3], apex_first=apex_first)
    assert volume(cell) == pytest.approx(3 / d, rel=CLOSE)


@pytest.mark.parametrize("apex_first", [True, False])
def test_pyramids_over_degenerate_bases(apex_first: bool) -> None:
    once = pyramid(cross_polytope(3), [1, 2, 3, 4], apex_first=apex_first)
    twice = pyramid(once, [5, 6, 7, 8, 2], apex_first=apex_first)
    assert volume(once) == pytest.approx(4 / 3, rel=CLOSE)
    assert volume(twice) == pytest.approx(4 / 3 * 2 / 5, rel=CLOSE)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (simplex(1), cross_polytope(3)),
        (cross_polytope(3), simplex(2)),
        (cross_polytope(3), cross_polytope(3)),
        (cross_polytope(4), cube(2)),
        (pyramid(cube(2), [0, 0, 1], apex_first=True), cross_polytope(4)),
    ],
)
def test_products(a: Polytope, b: Polytope) -> None:
    for order in ((a, b), (b, a)):
        assert volume(times(*order)) == pytest.approx(volume(a) * volume(b), rel=CLOSE)


@pytest.mark.parametrize(("d", "expected"), [(3, 20 / 3), (4, 8.0)])
def test_cuboctahedron_and_24_cell(d: int, expected: float) -> None:
    """All places for two entries of 1 or -1 among zeros."""
    points = {p for signs in product((1, -1), repeat=2) for p in permutations((*signs, *[0] * (d - 2)))}
    rows = [(signs, 2) for signs in product((1, -1), repeat=d)]
    rows += [(tuple(sign * a for a in unit), 1) for unit in units(d) for sign in (1, -1)]
    assert volume(cell_of(sorted(points), rows)) == pytest.approx(expected, rel=CLOSE)


# ---------------------------------------------------------------------- rational references


@pytest.mark.parametrize(("d", "n"), [(2, 7), (3, 8), (4, 8), (5, 9), (6, 9)])
def test_cyclic_polytopes(d: int, n: int) -> None:
    """Facets by Gale's evenness condition; volume from an inner point, all facets being simplices."""
    points = [tuple(Fraction(t) ** k / n**k for k in range(1, d + 1)) for t in range(n)]
    facets = [
        set(subset)
        for subset in combinations(range(n), d)
        if all(sum(i < k < j for k in subset) % 2 == 0 for i, j in combinations(sorted(set(range(n)) - set(subset)), 2))
    ]
    middle = [sum(column, Fraction(0)) / n for column in zip(*points, strict=True)]
    simplices = [[[a - b for a, b in zip(points[i], middle, strict=True)] for i in facet] for facet in facets]
    expected = sum(abs(determinant(rows)) for rows in simplices) / factorial(d)
    names = [frozenset(b for b, facet in enumerate(facets) if i in facet) for i in range(n)]
    cell = Polytope(list(zip(points, names, strict=True)), len(facets))
    # these cells are flat, so that rounding their vertices to float64 matters
    assert volume(cell) == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_random_simple_cells(d: int, seed: int) -> None:
    """Against Lawrence's sum over vertices, in rational numbers."""
    rng = np.random.default_rng([d, seed])
    rows: list[Row] = []
    for unit in units(d):
        rows += [(tuple(Fraction(sign * a) for a in unit), Fraction(1)) for sign in (1, -1)]
    cell = brute_force.box([-1] * d, [1] * d)
    for _ in range(4):
        row = (tuple(Fraction(int(a)) for a in rng.integers(-999, 999, d)), Fraction(int(rng.integers(99, 999))))
        smaller = cell.positive_part(row)
        assert smaller is not None
        if smaller is not cell:
            cell = smaller
            rows.append(row)
    assert cell.constraints == len(rows) > 2 * d
    assert all(len(names) == d for _, names in cell.vertices)
    direction = [Fraction(int(a)) for a in rng.integers(1000, 9999, d)]
    total = Fraction(0)
    for point, names in cell.vertices:
        normals = [list(rows[name][0]) for name in names]
        below = determinant(normals)
        height = sum((c * a for c, a in zip(direction, point, strict=True)), Fraction(0))
        shares = [determinant([*normals[:k], direction, *normals[k + 1 :]]) / below for k in range(d)]
        total += height**d / (factorial(d) * abs(below) * prod(shares))
    assert volume(cell) == pytest.approx(abs(float(total)), rel=CLOSE)


# ---------------------------------------------------------------------- hyperplanes that are no facets


@pytest.mark.parametrize("d", [2, 3, 4, 5])
@pytest.mark.parametrize("shape", [cube, cross_polytope])
def test_hyperplanes_that_touch_in_any_face(d: int, shape: Any) -> None:
    """A vertex, an edge and every larger face, also a facet once more; before and after the facets' own names."""
    cell = shape(d)
    whole = volume(cell)
    faces = {frozenset[int]()}
    facets = [{i for i, (_, on) in enumerate(cell.vertices) if name in on} for name in range(cell.constraints)]
    for facet in facets:
        faces |= {face & facet for face in faces} | {frozenset(facet)}
    everything = cell
    for face in sorted(faces, key=sorted):
        one_more = touched(cell, set(face))
        assert volume(one_more) == pytest.approx(whole, rel=CLOSE)
        assert volume(shuffled(one_more, len(face), 2 * one_more.constraints)) == pytest.approx(whole, rel=CLOSE)
        everything = touched(everything, set(face))
    assert volume(everything) == pytest.approx(whole, rel=CLOSE)
    assert volume(shuffled(everything, d, everything.constraints)) == pytest.approx(whole, rel=CLOSE)


# ---------------------------------------------------------------------- laws

small = st.integers(-2, 2).map(Fraction)


@st.composite
def integer_rows(draw: st.DrawFn, d: int) -> Row:
    """Rows of small integers: through vertices of a box and of one another more often than not."""
    weight = draw(st.lists(small, min_size=d, max_size=d).filter(any))
    return tuple(weight), draw(small)


@st.composite
def cells(draw: st.DrawFn) -> Polytope:
    """What is left of a box after some cuts, possibly with hyperplanes that only touch it."""
    d = draw(st.integers(1, 4))
    cell = brute_force.box([-1] * d, draw(st.lists(st.sampled_from([1, 2]), min_size=d, max_size=d)))
    for row in draw(st.lists(integer_rows(d), max_size=5)):
        part = parts(cell, row)[0]
        values = [sum((a * x for a, x in zip(row[0], point, strict=True)), row[1]) for point, _ in cell.vertices]
        cell = touched(cell, {i for i, value in enumerate(values) if value == 0}) if part is cell else part
    return cell


@volume_test
@given(st.data())
def test_parts_add_up_to_the_whole(data: st.DataObject) -> None:
    cell = data.draw(cells())
    pieces = [cell]
    for row in data.draw(st.lists(integer_rows(dim(cell)), min_size=1, max_size=4)):
        pieces = [part for piece in pieces for part in parts(piece, row)]
    found = volumes(*pieces)
    assert (found > 0).all()
    assert found.sum() == pytest.approx(volume(cell), rel=CLOSE)


@volume_test
@given(cells(), st.integers(0, 1000), st.sampled_from([64, 65, 200]))
def test_no_order_of_vertices_or_hyperplanes_matters(cell: Polytope, seed: int, names: int) -> None:
    assert volume(shuffled(cell, seed, names)) == pytest.approx(volume(cell), rel=CLOSE)


@volume_test
@given(st.data())
def test_affine_maps(data: st.DataObject) -> None:
    cell = data.draw(cells())
    d = dim(cell)
    entries = st.lists(st.integers(-3, 3).map(Fraction), min_size=d, max_size=d)
    matrix = data.draw(st.lists(entries, min_size=d, max_size=d))
    by = data.draw(st.lists(st.integers(-50, 50).map(Fraction), min_size=d, max_size=d))
    expected = float(abs(determinant(matrix))) * volume(cell)
    assert volume(moved(cell, matrix, by)) == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("exponent", [-60, -20, 20, 60])
@pytest.mark.parametrize("shape", [cube(3), cross_polytope(4), cube(6), simplex(5)])
def test_scaling_by_powers_of_two_is_exact(shape: Polytope, exponent: int) -> None:
    vertices, ends, tight = pack([shape])
    d = vertices.shape[1]
    scaled = cell_volumes(vertices * 2.0**exponent, ends, tight, d)
    assert scaled.tolist() == (cell_volumes(vertices, ends, tight, d) * 2.0 ** (exponent * d)).tolist()


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("size", [1.5e308, 1e300, 1e-300, 5e-308])
def test_what_lies_beyond_float64_still_has_a_center(d: int, size: float) -> None:
    """Volumes that overflow are infinite, those that underflow zero, and nothing is nan on the way."""
    vertices, ends, tight = pack([cross_polytope(d), cube(d)])
    found = cell_centroids(vertices * size, ends, tight, d)
    with np.errstate(over="ignore", under="ignore"):
        expected = np.array([2.0**d / factorial(d), 1.0]) * np.prod([size] * d)
    np.testing.assert_allclose(found.volumes, expected, rtol=1e-12)
    np.testing.assert_allclose(found.centers, np.array([[0.0] * d, [size / 2] * d]), rtol=CLOSE, atol=CLOSE * size)
    numbers, exponents = scaled_volumes(vertices * size, ends, tight, d)
    logarithms = np.log2(numbers) + exponents - d * np.log2(size)
    np.testing.assert_allclose(logarithms, [d - np.log2(factorial(d)), 0.0], atol=1e-9)


@pytest.mark.parametrize("shape", [cube(2), cube(3), cross_polytope(4), times(cross_polytope(3), cube(2))])
def test_far_from_the_origin(shape: Polytope) -> None:
    """Coordinates that float64 holds exactly: moving the cell changes nothing at all."""
    vertices, ends, tight = pack([shape])
    d = vertices.shape[1]
    assert cell_volumes(vertices + 2.0**50, ends, tight, d).tolist() == cell_volumes(vertices, ends, tight, d).tolist()


# ---------------------------------------------------------------------- many cells at once


@pytest.mark.parametrize("d", range(1, 6))
def test_each_cell_gets_its_own_volume(d: int) -> None:
    boxes = [brute_force.box([0] * d, [side] * d) for side in (1, 2, 3)]
    mixed = [simplex(d), boxes[0], cross_polytope(d), boxes[1], simplex(d), boxes[2]]
    expected = [1 / factorial(d), 1, 2**d / factorial(d), 2**d, 1 / factorial(d), 3**d]
    for words in (1, 3):
        found = cell_volumes(*pack(mixed, words), d)
        assert found.dtype == np.float64
        assert found.tolist() == pytest.approx(expected, rel=CLOSE)


def test_no_cells() -> None:
    none = cell_volumes(np.empty((0, 3)), np.empty(0, np.int64), np.empty((0, 1), np.uint64), 3)
    assert none.shape == (0,)


def test_arguments_are_left_alone() -> None:
    """Also if they may not be written to."""
    arrays = pack([cube(4), simplex(4), cross_polytope(4)])
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    assert cell_volumes(*arrays, 4).tolist() == pytest.approx([1, 1 / 24, 2 / 3], rel=CLOSE)
    for array, copy in zip(arrays, copies, strict=True):
        assert np.array_equal(array, copy)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_vertices_that_rounding_has_merged_or_lined_up(d: int) -> None:
    """Corners cut off so little that the new vertices have the corner's coordinates, or lie on its edges."""
    cell = cube(d)
    for corner in (0, 2**d - 1):
        sign = 1 if corner == 0 else -1
        row = (tuple(Fraction(sign) for _ in range(d)), Fraction(0 if sign == 1 else d) - Fraction(1, 10**30))
        part = cell.positive_part(row)
        assert part is not None
        cell = part
    assert len(cell.vertices) == 2**d + 2 * (d - 1)
    for seed in range(5):
        assert volume(shuffled(cell, seed, 64)) == pytest.approx(1, rel=CLOSE)
