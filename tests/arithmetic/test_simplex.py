"""The exact simplex finds the best vertex, and its multipliers prove that nothing is better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import pytest
from flint import fmpq, fmpz, fmpz_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from affinelens.arithmetic import ExactProgram, Infeasible, Optimum
from affinelens.arithmetic.rational import fraction

simplex_test = settings(deadline=None, derandomize=True, max_examples=150)


@dataclass(frozen=True)
class Program:
    """Maximise c.z over rows ``[A | b]`` (A z + b >= 0) and a box."""

    rows: list[list[int]]
    lower: list[Fraction]
    upper: list[Fraction]
    objective: list[int]

    @property
    def constraints(self) -> list[list[Fraction]]:
        """All constraints in the package's order, as ``[a | b]``."""
        found = [[Fraction(a) for a in row] for row in self.rows]
        for k, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            unit = [Fraction(int(j == k)) for j in range(len(self.lower))]
            found += [[*unit, -low], [*(-a for a in unit), high]]
        return found

    def solve(self, *, start: Sequence[int] | None = None, enough: Fraction | None = None) -> Optimum | Infeasible:
        size = len(self.lower)
        matrix = fmpz_mat(len(self.rows), size + 1, [fmpz(a) for row in self.rows for a in row])
        bounds = [[fmpq(v.numerator, v.denominator) for v in side] for side in (self.lower, self.upper)]
        stop = None if enough is None else fmpq(enough.numerator, enough.denominator)
        return ExactProgram(matrix, *bounds).maximise([fmpz(c) for c in self.objective], start=start, enough=stop)

    def best(self) -> Fraction | None:
        """The optimum by trying every vertex; None if there is no feasible point."""
        size = len(self.lower)
        constraints = self.constraints
        points = (
            intersection([constraints[i] for i in chosen]) for chosen in combinations(range(len(constraints)), size)
        )
        feasible = [p for p in points if p is not None and all(value(row, p) >= 0 for row in constraints)]
        return max((value([*map(Fraction, self.objective), Fraction(0)], p) for p in feasible), default=None)


def value(row: Sequence[Fraction], point: Sequence[Fraction]) -> Fraction:
    return sum((a * x for a, x in zip(row[:-1], point, strict=True)), row[-1])


def intersection(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """The point where all rows vanish, by elimination; None unless there is exactly one."""
    table = [list(row) for row in rows]
    size = len(table)
    for k in range(size):
        pivot = next((i for i in range(k, size) if table[i][k]), None)
        if pivot is None:
            return None
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [a / table[k][k] for a in table[k]]
        for i in range(size):
            if i != k:
                table[i] = [a - table[i][k] * b for a, b in zip(table[i], table[k], strict=True)]
    return [-row[-1] for row in table]


def combination(program: Program, multipliers: dict[int, fmpq]) -> list[Fraction]:
    """Coefficients of ``sum y_i h_i``, the constant last."""
    assert all(y > 0 for y in multipliers.values())
    constraints = program.constraints
    total = [Fraction(0)] * (len(program.lower) + 1)
    for index, weight in multipliers.items():
        total = [t + fraction(weight) * a for t, a in zip(total, constraints[index], strict=True)]
    return total


def assert_solved(program: Program, result: Optimum | Infeasible) -> None:
    """The answer is that of brute force, and its proof holds."""
    best = program.best()
    if isinstance(result, Infeasible):
        assert best is None
        *slopes, constant = combination(program, result.multipliers)
        assert not any(slopes)
        assert constant < 0
        return
    assert result.reached
    assert fraction(result.value) == best
    point = [fraction(z) for z in result.point]
    assert all(value(row, point) >= 0 for row in program.constraints)
    assert value([*map(Fraction, program.objective), Fraction(0)], point) == best
    assert_bound_proved(program, result)


def assert_bound_proved(program: Program, result: Optimum) -> None:
    """``c.z + sum y_i h_i(z) == value`` identically in z."""
    *slopes, constant = combination(program, result.multipliers)
    assert [c + s for c, s in zip(program.objective, slopes, strict=True)] == [0] * len(slopes)
    assert constant == fraction(result.value)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    size = draw(st.integers(1, 3))
    small = st.integers(-3, 3)
    rows = draw(st.lists(st.lists(small, min_size=size + 1, max_size=size + 1), max_size=5))
    rows += [rows[i] for i in draw(st.lists(st.integers(0, len(rows) - 1), max_size=2))] if rows else []
    bounds = draw(
        st.lists(
            st.tuples(st.fractions(-3, 3, max_denominator=4), st.fractions(0, 4, max_denominator=4)),
            min_size=size,
            max_size=size,
        )
    )
    lower = [low for low, _ in bounds]
    upper = [low + width for low, width in bounds]
    return Program(rows, lower, upper, draw(st.lists(small, min_size=size, max_size=size)))


@simplex_test
@given(programs())
def test_finds_the_best_vertex_and_proves_it(program: Program) -> None:
    assert_solved(program, program.solve())


@simplex_test
@given(programs(), st.data())
def test_a_start_is_only_a_hint(program: Program, data: st.DataObject) -> None:
    count = len(program.rows) + 2 * len(program.lower)
    start = data.draw(st.lists(st.integers(0, count - 1), max_size=4))
    assert_solved(program, program.solve(start=start))


@simplex_test
@given(programs(), st.fractions(-20, 20, max_denominator=3))
def test_stops_as_soon_as_the_bound_is_good_enough(program: Program, enough: Fraction) -> None:
    result = program.solve(enough=enough)
    best = program.best()
    if isinstance(result, Optimum) and fraction(result.value) <= enough:
        assert best is None or best <= fraction(result.value)
        assert_bound_proved(program, result)
    else:
        assert_solved(program, result)


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_a_corner_where_everything_meets(size: int) -> None:
    """All sums of +-z_k vanish at the origin, which is the only feasible point: as degenerate as can be."""
    signs = [[1 if number >> k & 1 else -1 for k in range(size)] for number in range(2**size)]
    program = Program([[*row, 0] for row in signs], [Fraction(-1)] * size, [Fraction(1)] * size, [1] * size)
    result = program.solve()
    assert isinstance(result, Optimum)
    assert result.value == 0
    assert_bound_proved(program, result)


@pytest.mark.parametrize("size", [2, 4, 6, 9])
def test_the_cube_that_fools_the_simplex(size: int) -> None:
    """Klee and Minty's cube: the optimum is 5^n, whatever the path."""
    rows = [[*(-(2 ** (i - j + 1)) for j in range(i)), -1, *[0] * (size - i - 1), 5 ** (i + 1)] for i in range(size)]
    objective = [2 ** (size - 1 - k) for k in range(size)]
    result = Program(rows, [Fraction(0)] * size, [Fraction(10) ** size] * size, objective).solve()
    assert isinstance(result, Optimum)
    assert result.value == 5**size


def test_contradictory_rows_are_refuted_by_those_rows() -> None:
    program = Program([[1, 1, -3], [-1, -1, 2], [1, 0, 5]], [Fraction(-9)] * 2, [Fraction(9)] * 2, [1, 0])
    result = program.solve()
    assert_solved(program, result)
    assert set(result.multipliers) == {0, 1}
