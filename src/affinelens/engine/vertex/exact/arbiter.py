"""Decisions in rational arithmetic: the sign of a hyperplane's function at a vertex, from the model's own parameters.

A vertex is where the hyperplanes meet that it is known to lie on. Those, and the one to be decided, belong to stages
on the way to the current cell, whose pattern is known; so all of them are exact affine functions of the domain's
coordinates.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from fractions import Fraction
from functools import cached_property
from math import gcd
from operator import mul

import numpy as np
from flint import fmpq, fmpq_mat, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic.proportional_rows import direction
from affinelens.engine.vertex.exact.path_rows import ExactRows, Nearby, SwitchingRows
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.state import State

# A row without its common factor, and a point's homogeneous coordinates.
Row = tuple[int, ...]
Point = tuple[int, ...]
_POINTS_KEPT = 100_000


class Arbiter:
    """Answers the requests of walks, one after another or in turn."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._offsets = compiled.program.stage["break_offset"].tolist()
        self._rows = compiled.program.domain_rows
        self._cube = self._rows + self._offsets[-1]
        self._points: OrderedDict[tuple[Row, ...], Point] = OrderedDict()
        self._rows_here: dict[int, tuple[Row, int]] = {}
        self._cleared = self._left_open = 0
        self.decided = 0

    @cached_property
    def _exact_rows(self) -> ExactRows:
        return self._compiled.exact_rows()

    def answer(self, state: State) -> None:
        """Fill in the answers to a state's requests, and make the vertices concerned as accurate as they can be."""
        self._stand(state)
        count = int(state.control.requests)
        places: dict[int, list[int]] = {}
        requests = state.requests[:count]
        asked = zip(requests["vertex"].tolist(), requests["place"].tolist(), strict=True)
        for number, (vertex, place) in enumerate(asked):
            if vertex not in places:
                places[vertex] = self._places(state, vertex)
            requests["answer"][number] = self._sign(state, vertex, places[vertex], place)
        self.decided += count

    def _stand(self, state: State) -> None:
        """Forget the rows of where the walk stood before."""
        stage = int(state.stack.frame["stage"][state.control.depth - 1])
        self._exact_rows.stand(state.rows, max(stage, 0))
        self._rows_here = {}
        self._cleared = self._left_open = 0

    def _sign(self, state: State, vertex: int, meeting: list[int], place: int) -> int:
        """The sign of the row at a place at a vertex, in which the rows at other places meet."""
        sign = self._clear_sign(state, place, meeting)
        if sign != 0:
            return sign
        row, orientation = self._row(state, place)
        rows = [self._row(state, other)[0] for other in meeting]
        if orientation == 0 or row in rows:
            return 0
        point = self._point(state, vertex, rows)
        value = sum(map(mul, row, point))
        return orientation * ((value > 0) - (value < 0))

    def _clear_sign(self, state: State, place: int, meeting: list[int]) -> int:
        """The sign as far as rows in extended precision tell it, or 0.

        If the rows that meet in the vertex are off by at most e_j there, and g are the coefficients by which the row in
        question depends on theirs, its value at the point where the nearby rows vanish is off by e + sum |g_j| e_j.
        What they do not tell is mostly a tie: where that is the rule, they are not asked any more until the walk goes
        on. What was so elsewhere plays no part: a vertex becomes more accurate only where rationals are asked, and the
        same vertices must come out of a walk that was stopped and gone on with.
        """
        if not isinstance(self._exact_rows, SwitchingRows) or self._left_open > self._cleared:
            return 0
        d = self._compiled.program.dim
        asked, *rows = self._nearby_rows(state, self._exact_rows, [place, *meeting[:d]])
        normals = fmpq_mat(d, d, [_rational(a) for row, _ in rows for a in row[:d]])
        if normals.det() == 0:
            return 0
        row, error = asked
        weights = fmpq_mat(1, d, [_rational(a) for a in row[:d]]) * normals.inv()
        shares = [Fraction(int(weights[0, j].p), int(weights[0, j].q)) for j in range(d)]
        value = row[d] - sum((share * other[d] for share, (other, _) in zip(shares, rows, strict=True)), Fraction(0))
        bound = error + sum((abs(share) * off for share, (_, off) in zip(shares, rows, strict=True)), Fraction(0))
        if abs(value) <= bound:
            self._left_open += 1
            return 0
        self._cleared += 1
        return 1 if value > 0 else -1

    def _nearby_rows(self, state: State, source: SwitchingRows, places: list[int]) -> list[Nearby]:
        """Rows by place: the domain's exactly, breaks' in extended precision if they are to be had in that."""
        wanted = {place: self._break(state, place) for place in places if self._rows <= place < self._cube}
        found = source.nearby_rows(list(wanted.values()))
        near = dict(zip(wanted, found, strict=True))
        return [near[place] if place in near else self._exactly_nearby(state, place) for place in places]

    def _exactly_nearby(self, state: State, place: int) -> Nearby:
        row, orientation = self._row(state, place)
        return [Fraction(orientation * a) for a in row], Fraction(0)

    def interior_point(self, state: State, index: int) -> tuple[Fraction, ...] | None:
        """Put a point inside the region just found; if float64 has none, return a rational one."""
        self._stand(state)
        start, count = int(state.control.point_ids), int(state.control.point_count)
        corners = [self._meeting_point(state, int(v)) for v in state.arena.ids[start : start + count]]
        d = len(corners[0]) - 1
        mean = [sum((Fraction(c[k], c[d]) for c in corners), Fraction(0)) / count for k in range(d)]
        shift, scale = ([Fraction(v) for v in array.tolist()] for array in (self._compiled.shift, self._compiled.scale))
        inputs = [float(y * s + c) for y, s, c in zip(mean, scale, shift, strict=True)]
        state.results.points[index] = [
            float((Fraction(x) - c) / s) for x, s, c in zip(inputs, scale, shift, strict=True)
        ]
        tight = np.bitwise_or.reduce(state.tight(state.arena.ids[start : start + count]), axis=0)
        facets = []
        for slot in _bits(tight):
            row, orientation = self._row(state, int(state.stack.slot["place"][slot]))
            facets.append((row, orientation * int(state.stack.slot["side"][slot])))
        if _is_inside([Fraction(y) for y in state.results.points[index].tolist()], facets):
            return None
        digits = 64
        while True:  # the mean itself is inside, but its numerators may be very long
            short = [Fraction(round(y * 2**digits), 2**digits) for y in mean]
            if _is_inside(short, facets):
                return tuple(short)
            digits *= 2

    def _point(self, state: State, vertex: int, rows: list[Row]) -> Point:
        """Where the rows of a vertex meet; its coordinates become as accurate as they can be."""
        point = self._meet(rows)
        d = self._compiled.program.dim
        if not state.arena.is_known[vertex]:
            state.arena.is_known[vertex] = True
            values = [n / point[-1] for n in point[:-1]]
            state.arena.x[vertex, :d] = values
            ratios = [value.as_integer_ratio() for value in values]
            exact = all(p * point[-1] == n * q for (p, q), n in zip(ratios, point[:-1], strict=True))
            state.arena.off[vertex] = 0.0 if exact else 2.0**-52
        return point

    def _meet(self, rows: list[Row]) -> Point:
        """As :func:`_meet`; the same rows meet again in neighboring cells."""
        key = tuple(rows)
        point = self._points.get(key)
        if point is None:
            point = self._points[key] = _meet(rows)
            if len(self._points) > _POINTS_KEPT:
                self._points.popitem(last=False)
        return point

    def _meeting_point(self, state: State, vertex: int) -> Point:
        """A vertex from its hyperplanes, without touching the walk."""
        return self._meet([self._row(state, place)[0] for place in self._places(state, vertex)])

    def _places(self, state: State, vertex: int) -> list[int]:
        """The places of the rows that meet in a vertex."""
        slots = _bits(state.tight(np.array([vertex]))[0])
        places: list[int] = state.stack.slot["place"][slots].tolist()
        return places

    def _row(self, state: State, place: int) -> tuple[Row, int]:
        """A hyperplane's row up to a factor, and the factor's sign, kept while the walk stands still."""
        found = self._rows_here.get(place)
        if found is None:
            found = self._rows_here[place] = direction(self._new_row(state, place))
        return found

    def _new_row(self, state: State, place: int) -> list[int]:
        if place < self._rows:
            return [int(n) for n in self._compiled.rows.row(place)]
        if place >= self._cube:
            return [int(a) for a in state.rows.row[place, : self._compiled.program.dim + 1]]
        return self._exact_rows.row(*self._break(state, place))

    def _break(self, state: State, place: int) -> tuple[int, int]:
        """The stage of the break at a place, and its number there."""
        number = int(state.rows.hyperplane["break_number"][place])
        stage = bisect_right(self._offsets, number) - 1
        return stage, number - self._offsets[stage]


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _is_inside(point: list[Fraction], facets: list[tuple[Row, int]]) -> bool:
    """Whether a point lies strictly on the given side of each hyperplane."""
    return all(side * sum(map(mul, row, [*point, Fraction(1)])) > 0 for row, side in facets)


def _bits(words: NDArray[np.uint64]) -> list[int]:
    found = []
    for w, word in enumerate(words.tolist()):
        while word:
            lowest = word & -word
            found.append(64 * w + lowest.bit_length() - 1)
            word ^= lowest
    return found


def _meet(rows: list[Row]) -> Point:
    """The point where hyperplanes meet, the one direction that all rows map to zero; its last entry is positive."""
    width = len(rows[0])
    reduced, denominator, rank = fmpz_mat(len(rows), width, [n for row in rows for n in row]).rref()
    assert rank == width - 1, "a vertex lies on too few independent hyperplanes"
    pivots = [next(j for j in range(width) if reduced[i, j]) for i in range(rank)]
    free = next(j for j in range(width) if j not in pivots)
    point = [0] * width
    point[free] = int(denominator)
    for i, pivot in enumerate(pivots):
        point[pivot] = -int(reduced[i, free])
    content = gcd(*point) if point[-1] > 0 else -gcd(*point)
    return tuple(n // content for n in point)
