"""Decisions in rational arithmetic: the sign of a hyperplane's function at a vertex, from the model's own parameters.

A vertex is where the hyperplanes meet that it is known to lie on. Those, and the one to be decided, belong to stages
on the way to the current cell, whose pattern is known; so all of them are exact affine functions of the domain's
coordinates.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.engine.vertex.exact_rows import Nearby
from affinelens.engine.vertex.program import BREAK_OFFSET, Compiled
from affinelens.engine.vertex.state import (
    ANSWER,
    BREAK,
    KNOWN,
    PLACE,
    POINT_COUNT,
    POINT_IDS,
    REQUESTS,
    ROW_PLACE,
    SIDE,
    VERTEX,
    State,
)

Floats = NDArray[np.float64]
_VERTICES_KEPT = 100_000


class Arbiter:
    """Answers the requests of one walk."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._exact_rows = compiled.exact_rows()
        self._offsets = compiled.program.stage[:, BREAK_OFFSET].tolist()
        self._rows = compiled.program.domain_rows
        self._cube = self._rows + self._offsets[-1]
        self._vertices: list[list[fmpz]] = []
        self._rows_here: dict[int, list[fmpz]] = {}
        self._forgotten = 0
        self.decided = 0

    def answer(self, state: State) -> None:
        """Fill in the answers to a state's requests, and make the vertices concerned as accurate as they can be."""
        self._rows_here = {}
        count = int(state.control[REQUESTS])
        for i in range(count):
            vertex, place = int(state.requests[i, VERTEX]), int(state.requests[i, ROW_PLACE])
            sign = self._clear_sign(state, vertex, place)
            if sign == 0:
                point = self._vertex(state, vertex)
                row = self._row(state, place)
                value = sum((a * b for a, b in zip(row, point, strict=True)), fmpz(0))
                sign = (value > 0) - (value < 0)
            state.requests[i, ANSWER] = sign
        self.decided += count

    def _clear_sign(self, state: State, vertex: int, place: int) -> int:
        """The sign as far as rows in extended precision tell it, or 0.

        If the rows that meet in the vertex are off by at most e_j there, and g are the coefficients by which the row in
        question depends on theirs, its value at the point where the nearby rows vanish is off by e + sum |g_j| e_j.
        """
        d = self._compiled.program.dim
        slots = _bits(state.tight(np.array([vertex]))[0])
        found = self._nearby_rows(state, [place, *(int(state.stack.slot[slot, PLACE]) for slot in slots[:d])])
        if found is None or len(found) <= d:
            return 0
        asked, rows = found[0], found[1:]
        normals = fmpq_mat(d, d, [_rational(a) for row, _ in rows for a in row[:d]])
        if normals.det() == 0:
            return 0
        row, error = asked
        weights = fmpq_mat(1, d, [_rational(a) for a in row[:d]]) * normals.inv()
        shares = [Fraction(int(weights[0, j].p), int(weights[0, j].q)) for j in range(d)]
        value = row[d] - sum((share * other[d] for share, (other, _) in zip(shares, rows, strict=True)), Fraction(0))
        bound = error + sum((abs(share) * off for share, (_, off) in zip(shares, rows, strict=True)), Fraction(0))
        return 0 if abs(value) <= bound else (1 if value > 0 else -1)

    def _nearby_rows(self, state: State, places: list[int]) -> list[Nearby] | None:
        """Rows by place: the domain's exactly, breaks' in extended precision if they are to be had in that."""
        wanted = {}
        for place in places:
            if self._rows <= place < self._cube:
                number = int(state.rows.whole[place, self._compiled.program.dim + BREAK])
                stage = int(np.searchsorted(self._offsets, number, side="right")) - 1
                wanted[place] = stage, number - self._offsets[stage]
        found = self._exact_rows.nearby_rows(state.rows, list(wanted.values()))
        if found is None:
            return None
        near = dict(zip(wanted, found, strict=True))
        exact = {p: ([Fraction(int(a)) for a in self._row(state, p)], Fraction(0)) for p in places if p not in near}
        return [near[place] if place in near else exact[place] for place in places]

    def interior_point(self, state: State, index: int) -> tuple[Fraction, ...] | None:
        """Put a point inside the region just found; if float64 has none, return a rational one."""
        self._rows_here = {}
        start, count = int(state.control[POINT_IDS]), int(state.control[POINT_COUNT])
        corners = [self._meeting_point(state, int(v)) for v in state.arena.ids[start : start + count]]
        d = len(corners[0]) - 1
        mean = [sum((Fraction(int(c[k]), int(c[d])) for c in corners), Fraction(0)) / count for k in range(d)]
        shift, scale = ([Fraction(v) for v in array.tolist()] for array in (self._compiled.shift, self._compiled.scale))
        inputs = [float(y * s + c) for y, s, c in zip(mean, scale, shift, strict=True)]
        state.results.points[index] = [
            float((Fraction(x) - c) / s) for x, s, c in zip(inputs, scale, shift, strict=True)
        ]
        tight = np.bitwise_or.reduce(state.tight(state.arena.ids[start : start + count]), axis=0)
        facets = [
            (self._row(state, int(state.stack.slot[slot, PLACE])), int(state.stack.slot[slot, SIDE]))
            for slot in _bits(tight)
        ]
        if _is_inside([Fraction(y) for y in state.results.points[index].tolist()], facets):
            return None
        digits = 64
        while True:  # the mean itself is inside, but its numerators may be very long
            short = [Fraction(round(y * 2**digits), 2**digits) for y in mean]
            if _is_inside(short, facets):
                return tuple(short)
            digits *= 2

    def _vertex(self, state: State, vertex: int) -> list[fmpz]:
        """Homogeneous coordinates, the last one positive."""
        d = self._compiled.program.dim
        known = int(state.arena.whole[vertex, d + KNOWN]) - 1 - self._forgotten
        if known >= 0:
            return self._vertices[known]
        point = self._meeting_point(state, vertex)
        if len(self._vertices) >= _VERTICES_KEPT:
            self._forgotten += len(self._vertices)
            self._vertices = []
        self._vertices.append(point)
        state.arena.whole[vertex, d + KNOWN] = self._forgotten + len(self._vertices)
        below = int(point[-1])
        values = [int(n) / below for n in point[:-1]]
        state.arena.x[vertex, :d] = values
        exact = all(Fraction(v) == Fraction(int(n), below) for v, n in zip(values, point[:-1], strict=True))
        state.arena.off[vertex] = 0.0 if exact else 2.0**-52
        return point

    def _meeting_point(self, state: State, vertex: int) -> list[fmpz]:
        """A vertex from its hyperplanes, without touching the walk."""
        slots = _bits(state.tight(np.array([vertex]))[0])
        return _meet([self._row(state, int(state.stack.slot[slot, PLACE])) for slot in slots])

    def _row(self, state: State, place: int) -> list[fmpz]:
        """A hyperplane's function as integers (any positive multiple of it), kept while the walk stands still."""
        if place not in self._rows_here:
            self._rows_here[place] = self._new_row(state, place)
        return self._rows_here[place]

    def _new_row(self, state: State, place: int) -> list[fmpz]:
        if place < self._rows:
            return self._compiled.rows.row(place)
        if place >= self._cube:
            return [fmpz(int(a)) for a in state.rows.row[place, : self._compiled.program.dim + 1]]
        number = int(state.rows.whole[place, self._compiled.program.dim + BREAK])
        stage = int(np.searchsorted(self._offsets, number, side="right")) - 1
        return self._exact_rows.row(state.rows, stage, number - self._offsets[stage])


def _rational(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def _is_inside(point: list[Fraction], facets: list[tuple[list[fmpz], int]]) -> bool:
    """Whether a point lies strictly on the given side of each hyperplane."""
    return all(
        side * sum((int(a) * b for a, b in zip(row, [*point, Fraction(1)], strict=True)), Fraction(0)) > 0
        for row, side in facets
    )


def _bits(words: NDArray[np.uint64]) -> list[int]:
    return [64 * w + i for w, word in enumerate(words.tolist()) for i in range(64) if word >> i & 1]


def _meet(rows: list[list[fmpz]]) -> list[fmpz]:
    """The point where hyperplanes meet: the one direction that all rows map to zero."""
    width = len(rows[0])
    reduced, denominator, rank = fmpz_mat(len(rows), width, [n for row in rows for n in row]).rref()
    assert rank == width - 1, "a vertex lies on too few independent hyperplanes"
    pivots = [next(j for j in range(width) if reduced[i, j]) for i in range(rank)]
    free = next(j for j in range(width) if j not in pivots)
    point = [fmpz(0)] * width
    point[free] = denominator
    for i, pivot in enumerate(pivots):
        point[pivot] = -reduced[i, free]
    content = fmpz(0)
    for n in point:
        content = content.gcd(n)
    if point[-1] < 0:
        content = -content
    return [n // content for n in point]
