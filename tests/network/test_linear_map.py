"""Every linear map computes its matrix, exactly and in float64, and its enclosures enclose."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from affinelens.arithmetic import ExactMatrix
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import Chain, Dense, LinearMap, Scale, Select, Sparse, Sum, add, chain, identity

SIZE = 5
Maker = Callable[[np.random.Generator], LinearMap]


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Floats of very different sizes, some of them zero."""
    values = rng.standard_normal(shape) * 10.0 ** rng.integers(-12, 13, shape)
    return np.where(rng.random(shape) < 0.1, 0.0, values)


def dense(rng: np.random.Generator) -> Dense:
    return Dense(numbers(rng, SIZE, SIZE))


def sparse(rng: np.random.Generator) -> Sparse:
    lengths = [2, 0, 3, 1, 0]
    starts = np.cumsum([0, *lengths])
    return Sparse(starts, rng.integers(0, SIZE, sum(lengths)), numbers(rng, sum(lengths)), SIZE)


def scale(rng: np.random.Generator) -> Scale:
    return Scale(numbers(rng, SIZE))


def average(rng: np.random.Generator) -> Scale:
    return Scale(numbers(rng, SIZE), over=int(rng.choice([3, 9, 2**53 - 1])))


def select(rng: np.random.Generator) -> Select:
    return Select(rng.integers(-1, SIZE, SIZE), SIZE)


def chained(rng: np.random.Generator) -> Chain:
    return Chain((select(rng), sparse(rng), average(rng), dense(rng)))


def summed(rng: np.random.Generator) -> Sum:
    return Sum((dense(rng), chained(rng), select(rng), sparse(rng)))


every_kind = pytest.mark.parametrize("make", [dense, sparse, scale, average, select, chained, summed])
every_seed = pytest.mark.parametrize("seed", range(5))


def matrix_of(part: LinearMap) -> list[list[Fraction]]:
    """The map's matrix, read off its parameters."""
    match part:
        case Dense():
            return [[Fraction(a) for a in row] for row in part.weight.tolist()]
        case Sparse():
            rows = [[Fraction(0)] * part.size_in for _ in range(part.size_out)]
            for i, row in enumerate(rows):
                for k in range(part.starts[i], part.starts[i + 1]):
                    row[part.columns[k]] += Fraction(part.values[k])
            return rows
        case Scale():
            return [
                [Fraction(f) / part.over if i == j else Fraction(0) for j in range(part.size_in)]
                for i, f in enumerate(part.factors)
            ]
        case Select():
            return [[Fraction(int(j == k)) for j in range(part.size_in)] for k in part.indices.tolist()]
        case Chain():
            product = matrix_of(part.maps[0])
            for inner in part.maps[1:]:
                product = times(matrix_of(inner), product)
            return product
        case Sum():
            tables = [matrix_of(inner) for inner in part.maps]
            return [[sum(entries) for entries in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]
    raise AssertionError(part)


def times(left: list[list[Fraction]], right: list[list[Fraction]]) -> list[list[Fraction]]:
    return [
        [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in zip(*right, strict=True)]
        for row in left
    ]


def exactly(values: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(v) for v in row] for row in values.tolist()]


@every_kind
@every_seed
def test_exact_application_is_the_matrix_product(make: Maker, seed: int) -> None:
    rng = np.random.default_rng(seed)
    part, columns = make(rng), numbers(rng, SIZE, 3)
    assert (part.size_out, part.size_in) == (SIZE, SIZE)
    assert part.apply_exact(ExactMatrix.from_floats(columns)).to_fractions() == times(matrix_of(part), exactly(columns))


@every_kind
@every_seed
def test_values_at_points_are_enclosed(make: Maker, seed: int) -> None:
    rng = np.random.default_rng(seed)
    part, points = make(rng), numbers(rng, SIZE, 4)
    form = part.propagate(Enclosure.values(points))
    assert np.array_equal(form.rows, part.apply(points))
    true = times(matrix_of(part), exactly(points))
    for i in range(SIZE):
        for j in range(4):
            assert abs(true[i][j] - Fraction(form.rows[i, j])) <= Fraction(form.error[i, j])
    scale_of_terms = part.apply_absolute(np.abs(points))
    assert np.all(form.error <= 1e-13 * scale_of_terms + 1e-200)


@every_kind
@every_seed
def test_affine_functions_are_enclosed_all_over_the_domain(make: Maker, seed: int) -> None:
    """The largest difference over the box is attained at a corner, where it is a sum of absolute values."""
    rng = np.random.default_rng(seed)
    part = make(rng)
    chart = [[Fraction(int(rng.integers(-9, 10)), int(rng.integers(1, 10))) for _ in range(3)] for _ in range(SIZE)]
    reach = np.array([2.0, 1000.0, 1.0])
    form = part.propagate(Enclosure.affine(ExactMatrix.from_fractions(chart), reach))
    true = times(matrix_of(part), chart)
    for i in range(SIZE):
        worst = sum(abs(true[i][k] - Fraction(form.rows[i, k])) * Fraction(reach[k]) for k in range(3))
        assert worst <= Fraction(form.error[i, 0])


@every_kind
def test_errors_already_there_are_carried_along(make: Maker) -> None:
    rng = np.random.default_rng(0)
    part, points = make(rng), numbers(rng, SIZE, 2)
    error = np.abs(points) * 0.25
    start = Enclosure.values(points)
    form = part.propagate(start.replaced(points, error))
    for signs in ([1, 1, 1, 1, 1], [1, -1, 1, -1, 1], [-1, -1, -1, 1, 1]):
        moved = exactly(points + error * np.array(signs)[:, None])
        true = times(matrix_of(part), moved)
        assert all(
            abs(true[i][j] - Fraction(form.rows[i, j])) <= Fraction(form.error[i, j])
            for i in range(SIZE)
            for j in range(2)
        )


def test_a_rational_factor_keeps_its_denominator() -> None:
    third = Scale(np.array([1.0]), over=3)
    assert third.apply_exact(ExactMatrix.from_floats(np.array([[1.0]]))).entry(0, 0) == Fraction(1, 3)


def test_combining_maps_drops_identities_and_nesting() -> None:
    rng = np.random.default_rng(1)
    first, second = dense(rng), sparse(rng)
    columns = ExactMatrix.from_floats(numbers(rng, SIZE, 2))
    assert chain(identity(SIZE), first) is first
    assert chain(first, identity(SIZE)) is first
    assert chain(chain(first, second), first).apply_exact(columns).to_fractions() == times(
        matrix_of(first), times(matrix_of(second), times(matrix_of(first), columns.to_fractions()))
    )
    assert add([first]) is first
    assert add([first, second]).apply_exact(columns).to_fractions() == times(
        [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(matrix_of(first), matrix_of(second), strict=True)],
        columns.to_fractions(),
    )
