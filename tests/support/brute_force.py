"""An independent reference: regions of small networks by cutting polytopes in rational arithmetic.

A polytope is its vertices, each with the set of constraints that are tight there. A hyperplane cuts it if two
vertices lie strictly on either side; the new vertices are where it meets edges. Two vertices span an edge if no
third one shares all their common tight constraints. Slow, simple, and nothing in it is shared with the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Row = tuple[tuple[Fraction, ...], Fraction]


@dataclass
class Layer:
    """``W, b`` and what follows: per-unit (breakpoints, slopes, offsets), or the sizes of max groups."""

    weight: Sequence[Sequence[float]]
    bias: Sequence[float]
    pieces: Sequence[tuple[Sequence[float], Sequence[float], Sequence[float]]] | None = None
    groups: Sequence[int] | None = None


@dataclass
class Polytope:
    vertices: list[tuple[tuple[Fraction, ...], frozenset[int]]]
    constraints: int

    def positive_part(self, row: Row) -> Polytope | None:
        """The part where the row is >= 0, or None if that has no interior."""
        values = [_value(row, vertex) for vertex, _ in self.vertices]
        if not any(v > 0 for v in values):
            return None
        if not any(v < 0 for v in values):
            return self
        name = self.constraints
        restricted = [
            (vertex, tight | {name} if value == 0 else tight)
            for (vertex, tight), value in zip(self.vertices, values, strict=True)
            if value >= 0
        ]
        for (p, tight_p), value_p in zip(self.vertices, values, strict=True):
            for (n, tight_n), value_n in zip(self.vertices, values, strict=True):
                if value_p > 0 > value_n and self._adjacent(p, n, tight_p & tight_n):
                    share = value_p / (value_p - value_n)
                    point = tuple(a + share * (b - a) for a, b in zip(p, n, strict=True))
                    restricted.append((point, (tight_p & tight_n) | {name}))
        return Polytope(restricted, self.constraints + 1)

    def _adjacent(self, p: tuple[Fraction, ...], n: tuple[Fraction, ...], common: frozenset[int]) -> bool:
        return not any(common <= tight for vertex, tight in self.vertices if vertex not in (p, n))


def box(lower: Sequence[float], upper: Sequence[float]) -> Polytope:
    sides = [(Fraction(lo), Fraction(hi)) for lo, hi in zip(lower, upper, strict=True)]
    vertices = []
    for choice in product((0, 1), repeat=len(sides)):
        point = tuple(side[c] for side, c in zip(sides, choice, strict=True))
        vertices.append((point, frozenset(2 * k + c for k, c in enumerate(choice))))
    return Polytope(vertices, 2 * len(sides))


def polytope(weight: Sequence[Sequence[float]], offset: Sequence[float], reach: float) -> Polytope:
    """``W x + b >= 0``, known to lie inside ``[-reach, reach]^d``."""
    cell: Polytope | None = box([-reach] * len(weight[0]), [reach] * len(weight[0]))
    for w, b in zip(weight, offset, strict=True):
        assert cell is not None
        cell = cell.positive_part((tuple(Fraction(a) for a in w), Fraction(b)))
    assert cell is not None
    return cell


def patterns_by_stage(layers: Sequence[Layer], domain: Polytope) -> list[set[tuple[int, ...]]]:
    """For each stage, the patterns up to it that have a full-dimensional cell."""
    dimension = len(domain.vertices[0][0])
    inputs: list[Row] = [
        (tuple(Fraction(int(j == k)) for j in range(dimension)), Fraction(0)) for k in range(dimension)
    ]
    cells = [(domain, (), inputs)]
    found = []
    for layer in layers:
        cells = [child for cell, pattern, rows in cells for child in split(cell, pattern, _linear(layer, rows), layer)]
        found.append({pattern for _, pattern, _ in cells})
    return found


def split(cell: Polytope, pattern: tuple[int, ...], z: list[Row], layer: Layer):
    """The parts of a cell on which a layer's pieces are fixed: each with its pattern and the layer's outputs there."""
    states = [(cell, pattern, [])]
    for options in _choices(z, layer):
        states = [
            (part, (*done, piece), [*outputs, output])
            for current, done, outputs in states
            for piece, conditions, output in options
            if (part := _restrict(current, conditions)) is not None
        ]
    return states


def _choices(z: list[Row], layer: Layer):
    """For each choice its options: (piece, rows that must be >= 0, output)."""
    if layer.groups is not None:
        first = 0
        for size in layer.groups:
            members = z[first : first + size]
            yield [
                (a, [_minus(members[a], other, strict=b < a) for b, other in enumerate(members) if b != a], members[a])
                for a in range(size)
            ]
            first += size
        return
    for index, row in enumerate(z):
        breakpoints, slopes, offsets = layer.pieces[index] if layer.pieces else ([0.0], [0.0, 1.0], [0.0, 0.0])
        options = []
        for piece, (slope, offset) in enumerate(zip(slopes, offsets, strict=True)):
            conditions = []
            if piece > 0:
                conditions.append((_shift(row, -breakpoints[piece - 1]), True))
            if piece < len(breakpoints):
                conditions.append((_negate(_shift(row, -breakpoints[piece])), False))
            output = (tuple(Fraction(slope) * a for a in row[0]), Fraction(slope) * row[1] + Fraction(offset))
            options.append((piece, conditions, output))
        yield options


def _restrict(cell: Polytope, conditions) -> Polytope | None:
    """Cut by every row; an identically zero row holds unless its condition is strict."""
    current: Polytope | None = cell
    for row, strict in conditions:
        if not any(row[0]) and row[1] == 0:
            if strict:
                return None
            continue
        assert current is not None
        current = current.positive_part(row)
        if current is None:
            return None
    return current


def _linear(layer: Layer, rows: list[Row]) -> list[Row]:
    result = []
    for weights, bias in zip(layer.weight, layer.bias, strict=True):
        exact = [Fraction(w) for w in weights]
        normal = tuple(
            sum((w * row[0][k] for w, row in zip(exact, rows, strict=True)), Fraction(0))
            for k in range(len(rows[0][0]))
        )
        result.append((normal, sum((w * row[1] for w, row in zip(exact, rows, strict=True)), Fraction(bias))))
    return result


def _value(row: Row, point: tuple[Fraction, ...]) -> Fraction:
    return sum((a * x for a, x in zip(row[0], point, strict=True)), row[1])


def _shift(row: Row, amount: float) -> Row:
    return row[0], row[1] + Fraction(amount)


def _negate(row: Row) -> Row:
    return tuple(-a for a in row[0]), -row[1]


def _minus(row: Row, other: Row, *, strict: bool) -> tuple[Row, bool]:
    return (tuple(a - b for a, b in zip(row[0], other[0], strict=True)), row[1] - other[1]), strict
