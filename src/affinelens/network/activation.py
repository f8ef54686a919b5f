"""Activations: what a stage does to its pre-activations, and where that breaks.

A stage makes a number of *choices*: a unit of :class:`PiecewiseLinear` is on one of its pieces, a group of
:class:`MaxGroups` has one winner. A pattern holds one small integer a choice. A :class:`Breaks` table lists every
hyperplane on which a choice can change, as a function of the stage's pre-activations z: ``z[plus] - z[minus] -
threshold = 0``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.errors import AffineLensError
from affinelens.network.enclosure import Enclosure

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Pattern = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Breaks:
    """The hyperplanes of one stage: row i is ``z[plus[i]] - z[minus[i]] - threshold[i]`` (``minus`` -1: nothing)."""

    plus: Indices
    minus: Indices
    threshold: Floats
    choice: Indices

    def __len__(self) -> int:
        return len(self.plus)

    def __getitem__(self, index: Indices) -> Breaks:
        return Breaks(self.plus[index], self.minus[index], self.threshold[index], self.choice[index])

    def exact(self, z: ExactMatrix) -> ExactMatrix:
        """The rows as exact affine functions, given the exact affine functions z ``[W | b]``."""
        constant = np.zeros((len(self), z.shape[1]))
        constant[:, -1] = self.threshold
        taken = z.rows(self.plus.tolist()) - z.rows(self.minus.tolist())
        return taken - ExactMatrix.from_floats(constant)


class Activation(ABC):
    """A piecewise linear function applied to a stage's pre-activations."""

    size_in: int
    size_out: int
    choices: int

    @property
    @abstractmethod
    def pieces(self) -> int:
        """The largest number of options any choice has."""

    @property
    @abstractmethod
    def breaks(self) -> Breaks:
        """Every hyperplane on which a choice can change."""

    @abstractmethod
    def apply(self, z: Floats) -> Floats:
        """Value of the function on each column of z."""

    @abstractmethod
    def apply_exact(self, z: ExactMatrix) -> ExactMatrix:
        """Exact value of the function on the single column z."""

    @abstractmethod
    def select(self, form: Enclosure, pattern: Pattern) -> Enclosure:
        """What the pattern makes of the pre-activations; values at points take a pattern of one column a point."""

    @abstractmethod
    def select_exact(self, form: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        """As :meth:`select`, exactly."""

    @abstractmethod
    def pattern_from_signs(self, signs: NDArray[np.int8]) -> Pattern:
        """The pattern whose breaks have the given signs; a sign of 0 is a break that is identically zero."""

    @abstractmethod
    def constraints(self, choice: int, piece: int) -> list[tuple[int, int]]:
        """The (break, sign) pairs that hold where the choice is on the piece."""

    @abstractmethod
    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        """Named arrays that determine the activation."""

    @abstractmethod
    def describe(self, index: int) -> str:
        """What break ``index`` is, in words."""


@dataclass(frozen=True, eq=False)
class PiecewiseLinear(Activation):
    """Element-wise: unit i is ``slopes[i, p] * z + offsets[i, p]`` on its piece p.

    Piece p lies between ``breakpoints[i, p-1]`` and ``breakpoints[i, p]``.

    Rows with fewer breakpoints are filled with +inf. A breakpoint at which nothing changes is dropped, so that
    a LeakyReLU of slope 1 has none. A value on a breakpoint belongs to the piece below it.
    """

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
        _require_valid_pieces(self)
        trimmed = _without_idle_breakpoints(self.breakpoints, self.slopes, self.offsets)
        for name, value in zip(("breakpoints", "slopes", "offsets"), trimmed, strict=True):
            object.__setattr__(self, name, value)
        for name in ("size_in", "size_out", "choices"):
            object.__setattr__(self, name, units)

    @classmethod
    def two_slopes(cls, below: Floats) -> PiecewiseLinear:
        """The paper's sigma with slope 1 above zero and the given slope below, one unit per entry."""
        units = len(below)
        slopes = np.stack([below, np.ones(units)], axis=1)
        return cls(np.zeros((units, 1)), slopes, np.zeros((units, 2)))

    @classmethod
    def relu(cls, units: int) -> PiecewiseLinear:
        return cls.two_slopes(np.zeros(units))

    @classmethod
    def of(
        cls, units: int, breakpoints: Sequence[float], slopes: Sequence[float], offsets: Sequence[float]
    ) -> PiecewiseLinear:
        """The same function for every unit."""
        rows = (np.asarray(row, dtype=np.float64) for row in (breakpoints, slopes, offsets))
        return cls(*(np.tile(row, (units, 1)) for row in rows))

    @property
    def pieces(self) -> int:
        return int(self.slopes.shape[1])

    @cached_property
    def breaks(self) -> Breaks:
        unit, position = np.nonzero(np.isfinite(self.breakpoints))
        return Breaks(unit, np.full(len(unit), -1), self.breakpoints[unit, position], unit)

    @cached_property
    def _break_index(self) -> Indices:
        """Index in ``breaks`` of breakpoint (unit, position), or -1."""
        finite = np.isfinite(self.breakpoints)
        table = np.full(self.breakpoints.shape, -1)
        table[finite] = np.arange(int(finite.sum()))
        return table

    def apply(self, z: Floats) -> Floats:
        piece = (z[:, None, :] > self.breakpoints[:, :, None]).sum(axis=1)
        unit = np.arange(self.size_in)[:, None]
        value: Floats = self.slopes[unit, piece] * z + self.offsets[unit, piece]
        return value

    def apply_exact(self, z: ExactMatrix) -> ExactMatrix:
        pattern = np.zeros(self.size_in, dtype=np.int64)
        for i, numerator in enumerate(z.numerators.entries()):
            bounds = (t.as_integer_ratio() for t in self.breakpoints[i].tolist() if t < np.inf)
            pattern[i] = sum(1 for over, under in bounds if numerator * under > over * z.denominator)
        unit = np.arange(self.size_in)
        scaled = z.scaled_rows(ExactMatrix.from_floats(self.slopes[unit, pattern]))
        return scaled + ExactMatrix.from_floats(self.offsets[unit, pattern])

    def select(self, form: Enclosure, pattern: Pattern) -> Enclosure:
        unit = np.arange(self.size_in).reshape(-1, *(1,) * (pattern.ndim - 1))
        return form.scaled(self.slopes[unit, pattern], self.offsets[unit, pattern])

    def select_exact(self, form: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        unit = np.arange(self.size_in)
        constant = np.zeros((self.size_in, form.shape[1]))
        constant[:, -1] = self.offsets[unit, pattern]
        scaled = form.scaled_rows(ExactMatrix.from_floats(self.slopes[unit, pattern]))
        return scaled + ExactMatrix.from_floats(constant) if constant.any() else scaled

    def pattern_from_signs(self, signs: NDArray[np.int8]) -> Pattern:
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

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        yield "breakpoints", self.breakpoints
        yield "slopes", self.slopes
        yield "offsets", self.offsets

    def describe(self, index: int) -> str:
        unit, threshold = int(self.breaks.choice[index]), float(self.breaks.threshold[index])
        return f"unit {unit}" if threshold == 0 else f"unit {unit} at {threshold:g}"


@dataclass(frozen=True, eq=False)
class MaxGroups(Activation):
    """The maximum of each run ``starts[g] .. starts[g+1]`` of pre-activations; of equal functions the first wins."""

    starts: Indices

    def __post_init__(self) -> None:
        if len(self.starts) < 2 or self.starts[0] != 0 or np.any(np.diff(self.starts) < 1):
            raise AffineLensError(f"max groups need increasing starts from 0, but got {self.starts.tolist()}")
        object.__setattr__(self, "size_in", int(self.starts[-1]))
        object.__setattr__(self, "size_out", len(self.starts) - 1)
        object.__setattr__(self, "choices", len(self.starts) - 1)

    @property
    def pieces(self) -> int:
        return int(np.diff(self.starts).max())

    @cached_property
    def breaks(self) -> Breaks:
        """Every pair of a group, the groups one after the other."""
        sizes = np.diff(self.starts)
        parts = [np.empty((0, 3), dtype=np.int64)]
        for size in np.unique(sizes).tolist():
            groups = np.flatnonzero(sizes == size)
            first, second = np.triu_indices(size, 1)
            table = np.stack(np.broadcast_arrays(first, second, groups[:, None]), axis=-1)
            table[..., :2] += self.starts[groups][:, None, None]
            parts.append(table.reshape(-1, 3))
        rows = np.concatenate(parts)
        rows = rows[np.argsort(rows[:, 2], kind="stable")]
        return Breaks(rows[:, 0], rows[:, 1], np.zeros(len(rows)), rows[:, 2])

    @cached_property
    def _pair_index(self) -> dict[tuple[int, int], int]:
        pairs = zip(self.breaks.plus.tolist(), self.breaks.minus.tolist(), strict=True)
        return {pair: i for i, pair in enumerate(pairs)}

    def break_numbers(self, plus: Indices, minus: Indices) -> Indices:
        """The numbers of the breaks between pairs of candidates, the earlier one first."""
        pairs = zip(plus.tolist(), minus.tolist(), strict=True)
        return np.array([self._pair_index[pair] for pair in pairs], dtype=np.int64)

    def apply(self, z: Floats) -> Floats:
        value: Floats = np.maximum.reduceat(z, self.starts[:-1], axis=0)
        return value

    def apply_exact(self, z: ExactMatrix) -> ExactMatrix:
        values = z.numerators.entries()
        winners = []
        for first, last in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            winners.append(max(range(first, last), key=lambda i: (values[i], -i)))
        return z.rows(winners)

    def select(self, form: Enclosure, pattern: Pattern) -> Enclosure:
        if pattern.ndim == 1:
            return form[self.starts[:-1] + pattern]
        winners = self.starts[:-1, None] + pattern
        rows, error = (np.take_along_axis(part, winners, axis=0) for part in (form.rows, form.error))
        return form.replaced(rows, error)

    def select_exact(self, form: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        return form.rows((self.starts[:-1] + pattern).tolist())

    def pattern_from_signs(self, signs: NDArray[np.int8]) -> Pattern:
        pattern = np.zeros(self.choices, dtype=np.int64)
        for group, (first, last) in enumerate(zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)):
            winner = first
            for rival in range(first + 1, last):
                if signs[self._pair_index[winner, rival]] < 0:
                    winner = rival
            pattern[group] = winner - first
        return pattern

    def constraints(self, choice: int, piece: int) -> list[tuple[int, int]]:
        first, last = int(self.starts[choice]), int(self.starts[choice + 1])
        winner = first + piece
        above = [(self._pair_index[rival, winner], -1) for rival in range(first, winner)]
        below = [(self._pair_index[winner, rival], 1) for rival in range(winner + 1, last)]
        return above + below

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        yield "max groups", self.starts

    def describe(self, index: int) -> str:
        group = int(self.breaks.choice[index])
        first = int(self.starts[group])
        return f"group {group}: {self.breaks.plus[index] - first} against {self.breaks.minus[index] - first}"


def _require_valid_pieces(activation: PiecewiseLinear) -> None:
    breakpoints, slopes, offsets = activation.breakpoints, activation.slopes, activation.offsets
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
