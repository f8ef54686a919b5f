"""Element-wise piecewise linear activations: every unit is a choice of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, upward
from affinelens.array_types import Bools, Floats, Indices, Pattern, Signs
from affinelens.errors import AffineLensError
from affinelens.network.activation import (
    OPEN,
    Activation,
    Breaks,
    Decisive,
    Envelope,
    Lines,
    RestrictedActivation,
    Sides,
    label_rows,
)
from affinelens.network.enclosure import Enclosure


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Activation):
    """Element-wise: unit i is ``slopes[i, p] * z + offsets[i, p]`` on its piece p.

    Piece p lies between ``breakpoints[i, p-1]`` and ``breakpoints[i, p]``.

    Rows with fewer breakpoints are filled with +inf. A breakpoint at which nothing changes is dropped, so that
    a LeakyReLU of slope 1 has none. A value on a breakpoint belongs to the piece below it.

    Where all units have the same function, the tables are one row that is shared: views with a stride of 0.
    """

    kind: ClassVar[str] = "piecewise linear"
    grouped: ClassVar[bool] = False
    tie_sign: ClassVar[int] = -1  # a breakpoint belongs to the piece below it

    breakpoints: Floats
    slopes: Floats
    offsets: Floats

    def __post_init__(self) -> None:
        units, count = self.breakpoints.shape
        if self.slopes.shape != (units, count + 1) or self.offsets.shape != (units, count + 1):
            raise AffineLensError(
                f"an activation with breakpoints of shape {(units, count)} needs slopes and offsets of shape "
                f"{(units, count + 1)}, but got {self.slopes.shape} and {self.offsets.shape}"
            )
        tables = (self.breakpoints, self.slopes, self.offsets)
        shared = units > 1 and not any(table.strides[0] for table in tables if table.size)
        rows = [table[:1] for table in tables] if shared else tables
        _require_valid_pieces(*rows)
        for name, table in zip(("breakpoints", "slopes", "offsets"), _without_idle_breakpoints(*rows), strict=True):
            object.__setattr__(self, name, np.broadcast_to(table, (units, table.shape[1])) if shared else table)
        for name in ("size_in", "size_out", "choices"):
            object.__setattr__(self, name, units)
        object.__setattr__(self, "starts", np.arange(units + 1))

    @classmethod
    def two_slopes(cls, below: Floats) -> PiecewiseLinear:
        """The paper's sigma with slope 1 above zero and the given slope below, one unit per entry."""
        units = len(below)
        slopes = np.stack([below, np.ones(units)], axis=1)
        return cls(np.zeros((units, 1)), slopes, np.zeros((units, 2)))

    @classmethod
    def relu(cls, units: int) -> PiecewiseLinear:
        return cls.of(units, [0.0], [0.0, 1.0], [0.0, 0.0])

    @classmethod
    def of(
        cls, units: int, breakpoints: Sequence[float], slopes: Sequence[float], offsets: Sequence[float]
    ) -> PiecewiseLinear:
        """The same function for every unit."""
        rows = (np.asarray(row, dtype=np.float64) for row in (breakpoints, slopes, offsets))
        return cls(*(np.broadcast_to(row, (units, len(row))) for row in rows))

    @cached_property
    def piece_counts(self) -> Indices:
        return 1 + np.bincount(self.breaks.choice, minlength=self.size_in)

    @cached_property
    def breaks(self) -> Breaks:
        unit, position = np.nonzero(np.isfinite(self.breakpoints))
        return Breaks(unit, np.full(len(unit), -1), self.breakpoints[unit, position], unit)

    @cached_property
    def _break_index(self) -> Indices:
        """Index in ``breaks`` of breakpoint (unit, position), or -1."""
        table = np.full(self.breakpoints.shape, -1)
        table[self.breaks.choice, self.sides.below] = np.arange(len(self.breaks))
        return table

    @cached_property
    def sides(self) -> Sides:
        _, position = np.nonzero(np.isfinite(self.breakpoints))
        return Sides(position, position + 1)

    def apply(self, z: Floats) -> Floats:
        _, slopes, offsets = self.lines(self.pieces_at(z))
        return slopes * z + offsets

    def apply_exact(self, z: ExactMatrix) -> ExactMatrix:
        pattern = np.zeros(self.size_in, dtype=np.int64)
        for i, numerator in enumerate(z.numerators.entries()):
            bounds = (t.as_integer_ratio() for t in self.breakpoints[i].tolist() if t < np.inf)
            pattern[i] = sum(1 for over, under in bounds if numerator * under > over * z.denominator)
        return self.select_exact(z, pattern)

    def pieces_at(self, z: Floats) -> Indices:
        pieces: Indices = (z[:, None, :] > self.breakpoints[:, :, None]).sum(axis=1)
        return pieces

    def select(self, form: Enclosure, pattern: Pattern) -> Enclosure:
        _, slopes, offsets = self.lines(pattern)
        return form.scaled(slopes, offsets)

    def select_exact(self, form: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        _, slopes, offsets = self.lines(pattern)
        constant = np.zeros((self.size_in, form.shape[1]))
        constant[:, -1] = offsets
        scaled = form.scaled_rows(ExactMatrix.from_floats(slopes))
        return scaled + ExactMatrix.from_floats(constant) if constant.any() else scaled

    def give_back_exact(self, weights: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        return weights.scaled_rows(ExactMatrix.from_floats(self.lines(pattern).slopes))

    def pattern_from_signs(self, signs: Signs) -> Pattern:
        pattern = np.zeros(self.choices, dtype=np.int64)
        np.add.at(pattern, self.breaks.choice, signs > 0)
        return pattern

    def constraints(self, choice: int, piece: int) -> list[tuple[int, int]]:
        row = self._break_index[choice]
        found = []
        if piece > 0:
            found.append((int(row[piece - 1]), 1))
        if piece < len(row) and row[piece] >= 0:
            found.append((int(row[piece]), -1))
        return found

    def signs_on(self, pieces: Indices) -> Signs:
        return np.where(pieces[self.breaks.choice] > self.sides.below[:, None], 1, -1).astype(np.int8)

    def decisive(self, pieces: Indices) -> Decisive:
        breaks, shape = self.breaks, (len(self.breaks), pieces.shape[1])
        plus, minus = (np.broadcast_to(units[:, None], shape) for units in (breaks.plus, breaks.minus))
        return Decisive(plus, minus, breaks.threshold)

    def piece_beyond(self, choice: int, piece: int, sign: Callable[[int], int | None]) -> int:
        for index, side in self.constraints(choice, piece):
            beyond = sign(index)
            if beyond is not None and (beyond or self.tie_sign) != side:
                return piece - side
        return piece

    def settled(self, signs: Signs) -> Signs:
        return signs

    def possible_pieces(self, signs: Signs) -> tuple[Indices, Indices]:
        unit = self.breaks.choice
        first = np.bincount(unit[signs == 1], minlength=self.size_in)
        return first, first + np.bincount(unit[signs == OPEN], minlength=self.size_in)

    def switching_units(self, signs: Signs) -> Bools:
        switching = np.zeros(self.size_in, dtype=bool)
        switching[self.breaks.plus[signs == OPEN]] = True
        return switching

    def envelope(
        self, low: Floats, high: Floats, signs: Signs, highest: Callable[[Indices, Indices], Floats]
    ) -> Envelope:
        """For every unit the line halfway between the two parallel ones that its graph lies between."""
        first, last = self.possible_pieces(signs)
        _, slopes, offsets = self.lines(first)
        radius = np.zeros(self.size_in)
        for u in np.flatnonzero(first < last).tolist():
            points = [low[u], *self.breakpoints[u, first[u] : last[u]].tolist(), high[u]]
            pieces = [int(first[u]), *range(int(first[u]), int(last[u]) + 1)]
            values = [self.slopes[u, p] * t + self.offsets[u, p] for p, t in zip(pieces, points, strict=True)]
            slopes[u] = (values[-1] - values[0]) / (points[-1] - points[0])
            above = [value - slopes[u] * t for value, t in zip(values, points, strict=True)]
            size = max(abs(value) + abs(slopes[u] * t) for value, t in zip(values, points, strict=True))
            offsets[u] = min(above) + (max(above) - min(above)) / 2
            radius[u] = max(max(above) - offsets[u], offsets[u] - min(above)) + 8 * UNIT_ROUNDOFF * size
        return Envelope(Lines(None, slopes, offsets), np.where(first < last, upward(radius), 0.0))

    def restricted(self, signs: Signs) -> RestrictedActivation:
        first, last = self.possible_pieces(signs)
        units = np.flatnonzero(first < last)
        count = int((last - first)[units].max(initial=0))
        place = first[units, None] + np.arange(count + 1)
        inside = place[:, :-1] < last[units, None]
        place = np.minimum(place, last[units, None])
        row = units[:, None]
        padded = np.concatenate([self.breakpoints, np.full((self.size_in, 1), np.inf)], axis=1)
        left = PiecewiseLinear(
            np.where(inside, padded[row, place[:, :-1]], np.inf), self.slopes[row, place], self.offsets[row, place]
        )
        return RestrictedActivation(left, units, units, np.flatnonzero(signs == OPEN), place, first)

    def output_labels(self, labels: Indices, first: Indices, last: Indices) -> Indices:
        settled = first == last
        _, slopes, offsets = self.lines(first)
        slopes = np.where(settled, slopes, 0.0)
        table = np.hstack([self.breakpoints, self.slopes, self.offsets])
        table[settled] = 0.0
        table = np.hstack([table, np.stack([slopes, np.where(settled, offsets, 0.0), ~settled], axis=1)])
        kinds = np.unique(table, axis=0, return_inverse=True)[1].ravel()
        constant = settled & (slopes == 0.0)
        found = label_rows(np.stack([np.where(constant, 0, labels), kinds], axis=1)) + 1
        at_zero = self.apply(np.zeros((self.size_in, 1)))[:, 0]
        is_zero = np.where(settled, (offsets == 0.0) & (constant | (labels == 0)), (labels == 0) & (at_zero == 0.0))
        return np.where(is_zero, 0, found)

    def describe(self, index: int) -> str:
        unit, threshold = int(self.breaks.choice[index]), float(self.breaks.threshold[index])
        return f"unit {unit}" if threshold == 0 else f"unit {unit} at {threshold:g}"


def _require_valid_pieces(breakpoints: Floats, slopes: Floats, offsets: Floats) -> None:
    if not (np.isfinite(slopes).all() and np.isfinite(offsets).all()) or np.isnan(breakpoints).any():
        raise AffineLensError("an activation's slopes, offsets and breakpoints must be numbers; found NaN or infinity")
    with np.errstate(invalid="ignore"):
        if np.any(np.diff(breakpoints, axis=1) <= 0) or np.any(np.isneginf(breakpoints)):
            raise AffineLensError("an activation's breakpoints must be finite and increase strictly; merge equal ones")
    finite = np.isfinite(breakpoints)
    t = np.where(finite, breakpoints, 0.0)
    left = slopes[:, :-1] * t + offsets[:, :-1]
    right = slopes[:, 1:] * t + offsets[:, 1:]
    size = np.abs(slopes[:, :-1] * t) + np.abs(offsets[:, :-1]) + np.abs(slopes[:, 1:] * t) + np.abs(offsets[:, 1:])
    if np.any(finite & (np.abs(left - right) > 2.0**-50 * size)):
        raise AffineLensError("an activation must be continuous; its pieces do not meet at a breakpoint")


def _without_idle_breakpoints(breakpoints: Floats, slopes: Floats, offsets: Floats) -> tuple[Floats, Floats, Floats]:
    """Drop breakpoints between two equal pieces, and columns that no unit uses."""
    same = (slopes[:, :-1] == slopes[:, 1:]) & (offsets[:, :-1] == offsets[:, 1:])
    keep = np.isfinite(breakpoints) & ~same
    width = int(keep.sum(axis=1).max(initial=0))
    order = np.argsort(~keep, axis=1, kind="stable")[:, :width]
    used = np.take_along_axis(keep, order, axis=1)

    def packed(first: Floats | float, others: Floats) -> Floats:
        return np.where(used, np.take_along_axis(others, order, axis=1), first)

    new_slopes = np.hstack([slopes[:, :1], packed(slopes[:, :1], slopes[:, 1:])])
    new_offsets = np.hstack([offsets[:, :1], packed(offsets[:, :1], offsets[:, 1:])])
    return packed(np.inf, breakpoints), new_slopes, new_offsets
