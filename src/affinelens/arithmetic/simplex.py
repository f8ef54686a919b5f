"""Linear programs solved exactly, by a dual simplex over the rationals.

The program is ``maximise c.z  subject to  A z + b >= 0  and  lower <= z <= upper`` with every bound finite. A basis
is a set of tight constraints: variables held at a bound, plus as many rows of A as there are variables left
free. Only the square system of those rows and variables is ever solved, so that a program in hundreds of variables
whose basis holds a few rows stays small.

The corner of the box that is best for c is always dual feasible, hence there is no first phase; the smallest
index rule, used once progress stalls, guarantees termination. A floating-point solver's basis can be offered as a start
and is only ever a hint: nothing is believed that was not computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flint import fmpq, fmpz, fmpz_mat

_STALL_LIMIT = 50


@dataclass(frozen=True)
class Optimum:
    """An upper bound on the objective with its proof, attained at ``point`` when ``reached``.

    ``multipliers`` maps constraints to y > 0 with ``c.z + sum y_i h_i(z) == value`` identically in z, where
    ``h_i >= 0`` is constraint i: hence ``c.z <= value`` wherever the constraints named there hold.
    """

    value: fmpq
    point: list[fmpq]
    multipliers: dict[int, fmpq]
    reached: bool


@dataclass(frozen=True)
class Infeasible:
    """Proof that no point satisfies the constraints: ``sum y_i h_i`` is a negative constant."""

    multipliers: dict[int, fmpq]


@dataclass
class _Basis:
    """Tight constraints: ``side[k]`` is -1/+1 where variable k sits at its lower/upper bound, 0 where it is free."""

    side: list[int]
    rows: list[int]


class _System(NamedTuple):
    """The free variables of a basis, its tight rows, and their square matrix of the free variables' coefficients."""

    free: list[int]
    square: fmpz_mat
    rows: fmpz_mat


@dataclass(frozen=True)
class _Vertex:
    """What a basis determines: the point over a common denominator, and multipliers of tight constraints."""

    numerators: fmpz_mat
    denominator: fmpz
    multipliers: dict[int, fmpq]
    system: _System


class ExactProgram:
    """Constraints ``A z + b >= 0``, given as integer rows ``[A | b]``, inside a finite box.

    Constraint i < m is row i; ``m + 2k`` and ``m + 2k + 1`` are the lower and the upper bound of variable k.
    """

    def __init__(self, rows: fmpz_mat, lower: Sequence[fmpq], upper: Sequence[fmpq]) -> None:
        self._rows = rows
        self._count: int = rows.nrows()
        self._variables: int = rows.ncols() - 1
        self._bounds = (list(lower), list(upper))
        self._table: list[list[fmpz]] = rows.tolist() if self._count else []
        self._magnitude = [max(abs(int(a)) for a in row[:-1]).bit_length() for row in self._table]

    def maximise(
        self,
        objective: Sequence[fmpz],
        *,
        start: Sequence[int] | None = None,
        enough: fmpq | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> Optimum | Infeasible:
        """Maximise ``objective . z``; stop early once the bound is proved to be ``enough`` or less.

        ``checkpoint`` is called before each step, and may raise to give up.
        """
        basis, vertex = self._first_basis(list(objective), start)
        stalled = 0
        last_value: fmpq | None = None
        while True:
            checkpoint()
            value = self._objective_value(objective, vertex)
            positive = {i: y for i, y in vertex.multipliers.items() if y > 0}
            if enough is not None and value <= enough:
                return Optimum(value, _point(vertex), positive, reached=False)
            stalled = stalled + 1 if value == last_value else 0
            last_value = value
            entering = self._violated(vertex, smallest_index=stalled > _STALL_LIMIT)
            if entering is None:
                return Optimum(value, _point(vertex), positive, reached=True)
            combination = self._combination(basis, vertex.system, self._normal(entering))
            leaving = _ratio_test(vertex.multipliers, combination)
            if leaving is None:
                proof = {i: -mu for i, mu in combination.items() if mu < 0}
                return Infeasible({**proof, entering: fmpq(1)})
            self._exchange(basis, entering, leaving)
            vertex = self._vertex(basis, list(objective))

    def _first_basis(self, objective: list[fmpz], start: Sequence[int] | None) -> tuple[_Basis, _Vertex]:
        if start is not None:
            basis = self._basis_of(start)
            if basis is not None:
                try:
                    vertex = self._vertex(basis, objective)
                except ZeroDivisionError:
                    pass
                else:
                    if all(y >= 0 for y in vertex.multipliers.values()):
                        return basis, vertex
        corner = _Basis([1 if c > 0 else -1 for c in objective], [])
        return corner, self._vertex(corner, objective)

    def _basis_of(self, start: Sequence[int]) -> _Basis | None:
        basis = _Basis([0] * self._variables, [])
        for constraint in start:
            if constraint < self._count:
                basis.rows.append(constraint)
            else:
                variable, upper = divmod(constraint - self._count, 2)
                basis.side[variable] = 1 if upper else -1
        return basis if len(basis.rows) == basis.side.count(0) else None

    def _bound_index(self, variable: int, side: int) -> int:
        return self._count + 2 * variable + int(side > 0)

    def _system(self, basis: _Basis) -> _System:
        free = [k for k, side in enumerate(basis.side) if side == 0]
        tight = fmpz_mat(len(basis.rows), self._variables + 1, [a for i in basis.rows for a in self._table[i]])
        return _System(
            free, fmpz_mat(len(free), len(free), [self._table[i][k] for i in basis.rows for k in free]), tight
        )

    def _vertex(self, basis: _Basis, objective: list[fmpz]) -> _Vertex:
        system = self._system(basis)
        held = [fmpq(0) if side == 0 else self._bounds[side > 0][k] for k, side in enumerate(basis.side)]
        denominator = fmpz(1)
        for value in held:
            if value.q != 1:
                denominator = denominator.lcm(value.q)
        point = [value.p * (denominator // value.q) for value in held]
        if system.free:
            offsets = system.rows * fmpz_mat(len(point) + 1, 1, [*point, denominator])
            solved, shared = system.square.solve(-offsets).numer_denom()
            point = [p * shared for p in point]
            for k, value in zip(system.free, solved.entries(), strict=True):
                point[k] = value
            denominator *= shared
        multipliers = {i: -mu for i, mu in self._combination(basis, system, objective).items()}
        return _Vertex(fmpz_mat(len(point) + 1, 1, [*point, denominator]), denominator, multipliers, system)

    def _objective_value(self, objective: Sequence[fmpz], vertex: _Vertex) -> fmpq:
        total = sum((c * z for c, z in zip(objective, vertex.numerators.entries()[:-1], strict=True) if c), fmpz(0))
        return fmpq(total, vertex.denominator)

    def _violated(self, vertex: _Vertex, *, smallest_index: bool) -> int | None:
        """A constraint that the vertex breaks: the worst by order of magnitude, or the first."""
        worst: int | None = None
        worst_size = 0
        if self._count:
            for i, slack in enumerate((self._rows * vertex.numerators).entries()):
                if slack < 0:
                    if smallest_index:
                        return i
                    size = int(slack).bit_length() - self._magnitude[i]
                    if worst is None or size > worst_size:
                        worst, worst_size = i, size
        point = vertex.numerators.entries()
        for k in vertex.system.free:
            value = fmpq(point[k], vertex.denominator)
            side = -1 if value < self._bounds[0][k] else 1 if value > self._bounds[1][k] else 0
            if side and worst is None:
                return self._bound_index(k, side)
        return worst

    def _normal(self, constraint: int) -> list[fmpz]:
        if constraint < self._count:
            return self._table[constraint][: self._variables]
        variable, upper = divmod(constraint - self._count, 2)
        normal = [fmpz(0)] * self._variables
        normal[variable] = fmpz(-1 if upper else 1)
        return normal

    def _combination(self, basis: _Basis, system: _System, vector: list[fmpz]) -> dict[int, fmpq]:
        """Coefficients that express a vector in the normals of tight constraints; bounds of no weight are left out."""
        rest = vector
        scale = fmpz(1)
        result: dict[int, fmpq] = {}
        if system.free:
            goal = fmpz_mat(len(system.free), 1, [vector[k] for k in system.free])
            weights, scale = system.square.transpose().solve(goal).numer_denom()
            for i, mu in zip(basis.rows, weights.entries(), strict=True):
                result[i] = fmpq(mu, scale)
            pulled = (weights.transpose() * system.rows).entries()
            rest = [a * scale - b for a, b in zip(vector, pulled, strict=False)]
        for k, side in enumerate(basis.side):
            if side and rest[k]:
                result[self._bound_index(k, side)] = fmpq(-side * rest[k], scale)
        return result

    def _exchange(self, basis: _Basis, entering: int, leaving: int) -> None:
        for constraint, arriving in ((leaving, False), (entering, True)):
            if constraint >= self._count:
                variable, upper = divmod(constraint - self._count, 2)
                basis.side[variable] = (1 if upper else -1) if arriving else 0
            elif arriving:
                basis.rows.append(constraint)
            else:
                basis.rows.remove(constraint)


def _point(vertex: _Vertex) -> list[fmpq]:
    return [fmpq(z, vertex.denominator) for z in vertex.numerators.entries()[:-1]]


def _ratio_test(multipliers: dict[int, fmpq], combination: dict[int, fmpq]) -> int | None:
    """The tight constraint whose multiplier reaches zero first; the smallest index among ties."""
    best: tuple[fmpq, int] | None = None
    for i, mu in combination.items():
        if mu > 0:
            candidate = (multipliers.get(i, fmpq(0)) / mu, i)
            if best is None or candidate < best:
                best = candidate
    return None if best is None else best[1]
