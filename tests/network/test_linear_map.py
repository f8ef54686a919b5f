"""Every linear map computes its matrix, exactly and in float64, and its enclosures enclose."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from affinelens.arithmetic import ExactMatrix
from affinelens.errors import AffineLensError
from affinelens.network.composed_maps import Chain, Sum, add, chain
from affinelens.network.convolution import Convolution
from affinelens.network.enclosure import Enclosure
from affinelens.network.linear_map import Dense, LinearMap, Scale, Select, Sparse, identity

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


def picking(rng: np.random.Generator) -> Select:
    """A selection that takes nothing twice."""
    return Select(np.where(rng.random(SIZE) < 0.3, -1, rng.permutation(SIZE)), SIZE)


def convolution(rng: np.random.Generator) -> Convolution:
    """Five entries through a window that hangs over both ends."""
    return Convolution(numbers(rng, 1, 1, 1, 4), (SIZE,), (SIZE,), (2,), (3,), (6,))


def transposed_convolution(rng: np.random.Generator) -> Convolution:
    return convolution(rng).transposed()


def channels(rng: np.random.Generator) -> Convolution:
    """Five channels on a single place."""
    return Convolution(numbers(rng, 1, SIZE, SIZE, 1, 1), (1, 1), (1, 1), (1, 1), (1, 1), (0, 0))


def groups(rng: np.random.Generator) -> Convolution:
    return Convolution(numbers(rng, SIZE, 1, 1, 1), (1,), (1,), (1,), (1,), (0,))


def chained(rng: np.random.Generator) -> Chain:
    return Chain((select(rng), sparse(rng), average(rng), dense(rng)))


def summed(rng: np.random.Generator) -> Sum:
    return Sum((dense(rng), chained(rng), select(rng), sparse(rng), convolution(rng)))


simple = [dense, sparse, scale, average, select, picking, convolution, transposed_convolution, channels, groups]
every_kind = pytest.mark.parametrize("make", [*simple, chained, summed])
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
        case Convolution():
            table = convolution_matrix(part)
            return [list(row) for row in zip(*table, strict=True)] if part.adjoint else table
        case Chain():
            product = matrix_of(part.maps[0])
            for inner in part.maps[1:]:
                product = times(matrix_of(inner), product)
            return product
        case Sum():
            tables = [matrix_of(inner) for inner in part.maps]
            return [[sum(entries) for entries in zip(*rows, strict=True)] for rows in zip(*tables, strict=True)]
    raise AssertionError(part)


def convolution_matrix(part: Convolution) -> list[list[Fraction]]:
    """The matrix of the forward map, entry by entry from the definition."""
    count, outs, ins = part.kernel.shape[:3]
    places_in, places_out = list(np.ndindex(*part.sizes_in)), list(np.ndindex(*part.sizes_out))
    rows = []
    for group, out, place in ((g, o, p) for g in range(count) for o in range(outs) for p in places_out):
        row = {}
        for channel in range(ins):
            for tap in np.ndindex(*part.kernel.shape[3:]):
                source = tuple(
                    p * s + t * d - b
                    for p, s, t, d, b in zip(place, part.strides, tap, part.dilations, part.before, strict=True)
                )
                row[group, channel, source] = Fraction(part.kernel[(group, out, channel, *tap)])
        rows.append([row.get((g, i, p), Fraction(0)) for g in range(count) for i in range(ins) for p in places_in])
    return rows


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
def test_coefficients_are_the_rows_of_the_matrix(make: Maker, seed: int) -> None:
    part = make(np.random.default_rng(seed))
    for output, row in enumerate(matrix_of(part)):
        columns, numerators, denominator = part.coefficients(output)
        assert len(set(columns)) == len(columns)
        assert all(numerators)
        found = dict(zip(columns, numerators, strict=True))
        assert [Fraction(found.get(column, 0), denominator) for column in range(part.size_in)] == row


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
    one, other = select(rng), select(rng)
    both = chain(chain(first, one), other)
    assert both.apply_exact(columns).to_fractions() == times(
        matrix_of(other), times(matrix_of(one), times(matrix_of(first), columns.to_fractions()))
    )
    assert isinstance(both, Chain)
    assert len(both.maps) == 2
    assert add([first]) is first
    assert add([first, second]).apply_exact(columns).to_fractions() == times(
        [[a + b for a, b in zip(p, q, strict=True)] for p, q in zip(matrix_of(first), matrix_of(second), strict=True)],
        columns.to_fractions(),
    )


@every_kind
@every_seed
def test_the_transposed_map_is_the_adjoint(make: Maker, seed: int) -> None:
    """<A x, y> = <x, A^T y>, and transposing twice gives the map back."""
    rng = np.random.default_rng(seed)
    part = make(rng)
    x, y = (ExactMatrix.from_floats(numbers(rng, SIZE, 1)) for _ in range(2))
    forward, backward = part.apply_exact(x).to_fractions(), part.transposed().apply_exact(y).to_fractions()
    pairs = [(forward, y.to_fractions()), (x.to_fractions(), backward)]
    left, right = (sum(a[0] * b[0] for a, b in zip(p, q, strict=True)) for p, q in pairs)
    assert left == right
    assert matrix_of(part.transposed()) == [list(row) for row in zip(*matrix_of(part), strict=True)]
    assert matrix_of(part.transposed().transposed()) == matrix_of(part)


@every_kind
def test_maps_travel_between_processes_after_they_have_been_used(make: Maker) -> None:
    rng = np.random.default_rng(0)
    part, columns = make(rng), numbers(rng, SIZE, 2)
    exact = ExactMatrix.from_floats(columns)
    values, fractions = part.apply(columns), part.apply_exact(exact).to_fractions()
    back = pickle.loads(pickle.dumps(part))
    assert np.array_equal(back.apply(columns), values)
    assert back.apply_exact(exact).to_fractions() == fractions


@pytest.mark.parametrize("seed", range(20))
def test_convolutions_of_any_shape(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes = int(rng.integers(1, 4))

    def sizes(low: int, high: int) -> tuple[int, ...]:
        return tuple(int(n) for n in rng.integers(low, high, axes))

    kernel = numbers(rng, *rng.integers(1, 4, 3), *sizes(1, 4))
    part = Convolution(kernel, sizes(1, 5), sizes(1, 5), sizes(1, 4), sizes(1, 3), sizes(0, 4))
    for linear in (part, part.transposed()):
        columns = numbers(rng, linear.size_in, 3)
        matrix = matrix_of(linear)
        assert linear.apply_exact(ExactMatrix.from_floats(columns)).to_fractions() == times(matrix, exactly(columns))
        form = linear.propagate(Enclosure.values(columns))
        for i, row in enumerate(times(matrix, exactly(columns))):
            for j, value in enumerate(row):
                assert abs(value - Fraction(form.rows[i, j])) <= Fraction(form.error[i, j])


@pytest.mark.parametrize("seed", range(3))
def test_many_columns_give_what_each_gives_alone(seed: int) -> None:
    """Blocks of rows and columns do not show in the result."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *rng.integers(0, 9, 300)])
    sparse_map = Sparse(starts, rng.integers(0, 400, starts[-1]), rng.standard_normal(starts[-1]), 400)
    image = Convolution(rng.standard_normal((2, 3, 2, 3, 3)), (40, 40), (19, 21), (2, 2), (1, 1), (0, 2))
    for linear in (sparse_map, image, image.transposed()):
        columns = rng.standard_normal((linear.size_in, 1500))
        together = linear.apply(columns)
        for k in (0, 700, 1499):
            alone = linear.apply(columns[:, [k]])
            np.testing.assert_allclose(together[:, [k]], alone, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            linear.apply_absolute(columns[:, :2]), linear.apply_absolute(columns)[:, :2], rtol=1e-12
        )


def test_a_convolution_that_does_not_fit_together_is_refused() -> None:
    for sizes_in, strides in (((4, 4), (1,)), ((4,), (0,)), ((0,), (1,))):
        with pytest.raises(AffineLensError):
            Convolution(np.ones((1, 1, 1, 2)), sizes_in, (3,), strides, (1,), (0,))
