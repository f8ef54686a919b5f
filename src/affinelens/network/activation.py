"""Activations: what a stage does to its pre-activations, and where that breaks.

A stage makes a number of *choices*: an element-wise unit is on one of its pieces, a group of units has one winner. A
pattern holds one small integer a choice, the piece it is on, and there its output is an affine function of one unit. A
:class:`Breaks` table lists every hyperplane on which a choice can change, as a function of the stage's pre-activations
z: ``z[plus] - z[minus] - threshold = 0``. Whatever depends on the kind of activation is a method of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Bools, Floats, Indices, Pattern, Signs
from affinelens.network.enclosure import Enclosure

# The sign of a break that is not known, or not the same everywhere; others are -1 or 1, or 0 for the zero function.
OPEN = 2


@dataclass(frozen=True, eq=False)
class Breaks:
    """The hyperplanes of one stage: row i is ``z[plus[i]] - z[minus[i]] - threshold[i]`` (``minus`` -1: nothing).

    A break between two units has the threshold 0. Those of a choice follow one another.
    """

    plus: Indices
    minus: Indices
    threshold: Floats
    choice: Indices

    def __len__(self) -> int:
        return len(self.plus)

    def __getitem__(self, index: Indices) -> Breaks:
        return Breaks(self.plus[index], self.minus[index], self.threshold[index], self.choice[index])

    @property
    def paired(self) -> Bools:
        """Which breaks compare two units."""
        found: Bools = self.minus >= 0
        return found

    def weights(self, index: Indices, units: int) -> Floats:
        """What units weigh in some breaks, a column each."""
        found, column = np.zeros((units, len(index))), np.arange(len(index))
        found[self.plus[index], column] = 1.0
        paired = self.paired[index]
        found[self.minus[index][paired], column[paired]] = -1.0
        return found

    def exact(self, z: ExactMatrix) -> ExactMatrix:
        """The rows as exact affine functions, given the exact affine functions z ``[W | b]``."""
        constant = np.zeros((len(self), z.shape[1]))
        constant[:, -1] = self.threshold
        taken = z.rows(self.plus.tolist()) - z.rows(self.minus.tolist())
        return taken - ExactMatrix.from_floats(constant)

    def proved_signs(self, low: Floats, high: Floats, labels: Indices | None) -> Signs:
        """The signs that ranges of the pre-activations prove, and OPEN for the others.

        Pre-activations with equal labels, if there are any, are the same function; 0 labels the zero function.
        """
        signs = np.full(len(self), OPEN, dtype=np.int8)
        if labels is not None:
            other = np.where(self.paired, labels[self.minus], 0)
            signs[(labels[self.plus] == other) & (self.threshold == 0.0)] = 0
        signs[low[self.plus] > np.where(self.paired, high[self.minus], self.threshold)] = 1
        signs[high[self.plus] < np.where(self.paired, low[self.minus], self.threshold)] = -1
        return signs


class Lines(NamedTuple):
    """Outputs on chosen pieces: ``slopes * z[unit] + offsets``; a ``unit`` of None is each output's own.

    With several patterns there is a column each.
    """

    unit: Indices | None
    slopes: Floats
    offsets: Floats

    def taken(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of values of all units, a row each, those of the units that outputs are made of."""
        if self.unit is None:
            return values
        if self.unit.ndim == 1:
            return values[self.unit]
        return np.take_along_axis(np.broadcast_to(values, (len(values), self.unit.shape[1])), self.unit, axis=0)

    def given_back(self, values: NDArray[Any], units: int) -> NDArray[Any]:
        """Values of all units, a row each: those of the outputs made of them, and zeros for the others."""
        if self.unit is None:
            return values
        found = np.zeros((units, *values.shape[1:]), dtype=values.dtype)
        if self.unit.ndim == 1:
            found[self.unit] = values
        else:
            np.put_along_axis(found, self.unit, values, axis=0)
        return found


class Sides(NamedTuple):
    """The pieces of its choice that each break separates: where it is negative, and where it is positive."""

    below: Indices
    above: Indices


class Decisive(NamedTuple):
    """Functions ``z[plus] - z[minus] - threshold`` of some patterns, a row each and a column a pattern.

    A ``minus`` of -1 subtracts nothing; a row whose ``plus`` and ``minus`` are the same says nothing.
    """

    plus: Indices
    minus: Indices
    threshold: Floats

    def are(self, plus: Indices, minus: Indices, threshold: Floats) -> Bools:
        """Which are those given for each pattern, or their opposites."""
        same = (self.plus == plus) & (self.minus == minus) | (self.plus == minus) & (self.minus == plus)
        found: Bools = same & (self.threshold[:, None] == threshold)
        return found

    def vanish(self, zero_units: Bools) -> Bools:
        """Which are zero because their units are."""
        zero = np.broadcast_to(zero_units, (len(zero_units), self.plus.shape[1]))
        both = np.take_along_axis(zero, self.plus, axis=0)
        if (self.minus >= 0).any():
            both = both & np.take_along_axis(zero, self.minus, axis=0)
        found: Bools = both & (self.threshold == 0.0)[:, None]
        return found


class Envelope(NamedTuple):
    """Lines that outputs stay close to, whatever their pieces are: each is off by at most its radius."""

    lines: Lines
    radius: Floats


@dataclass(frozen=True, eq=False)
class RestrictedActivation:
    """What can switch of an activation, as an activation of its own.

    ``units``, ``choices`` and ``breaks`` are the numbers that its units, choices and breaks have in the whole one, and
    ``pieces[c, p]`` is the piece of choice ``choices[c]`` that it calls p. ``pattern`` is the whole one's pattern where
    all of them are on their first piece.
    """

    activation: Activation
    units: Indices
    choices: Indices
    breaks: Indices
    pieces: Indices
    pattern: Pattern


class Activation(ABC):
    """A piecewise linear function applied to a stage's pre-activations.

    Choice c, and with it output c, is about the units ``starts[c] .. starts[c + 1]``. On piece p the output is
    ``slopes[c, p] * z + offsets[c, p]``, where z is the choice's only unit or, if choices are ``grouped``, the p-th of
    its units. ``tie_sign`` is the side that a break which is zero everywhere counts as.
    """

    kind: ClassVar[str]
    grouped: ClassVar[bool]
    tie_sign: ClassVar[int]

    size_in: int
    size_out: int
    choices: int
    starts: Indices
    slopes: Floats
    offsets: Floats

    @property
    def pieces(self) -> int:
        """The largest number of pieces any choice has."""
        return int(self.slopes.shape[1])

    @property
    @abstractmethod
    def piece_counts(self) -> Indices:
        """The number of pieces of each choice."""

    @cached_property
    def choice_of_unit(self) -> Indices:
        """The choice that each unit takes part in."""
        return np.repeat(np.arange(self.choices), np.diff(self.starts))

    @property
    @abstractmethod
    def breaks(self) -> Breaks:
        """Every hyperplane on which a choice can change."""

    @property
    @abstractmethod
    def sides(self) -> Sides:
        """The pieces on either side of each break."""

    @abstractmethod
    def apply(self, z: Floats) -> Floats:
        """Value of the function on each column of z."""

    @abstractmethod
    def apply_exact(self, z: ExactMatrix) -> ExactMatrix:
        """Exact value of the function on the single column z."""

    @abstractmethod
    def pieces_at(self, z: Floats) -> Indices:
        """The piece that every choice is on at each column of z, in float64."""

    def line(self, choice: int, piece: int) -> tuple[int, float, float]:
        """The unit, the slope and the offset that an output has on a piece."""
        unit = int(self.starts[choice]) + (piece if self.grouped else 0)
        return unit, float(self.slopes[choice, piece]), float(self.offsets[choice, piece])

    def lines(self, pattern: Pattern) -> Lines:
        """The outputs where a pattern holds, or where several do, a column each."""
        choice = np.arange(self.choices).reshape(-1, *(1,) * (pattern.ndim - 1))
        unit = self.starts[choice] + pattern if self.grouped else None
        return Lines(unit, self.slopes[choice, pattern], self.offsets[choice, pattern])

    @abstractmethod
    def select(self, form: Enclosure, pattern: Pattern) -> Enclosure:
        """What the pattern makes of the pre-activations; values at points take a pattern of one column a point."""

    @abstractmethod
    def select_exact(self, form: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        """As :meth:`select`, exactly."""

    @abstractmethod
    def give_back_exact(self, weights: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        """Weights of the units that weights of the outputs, a column each, come to where the pattern holds."""

    @abstractmethod
    def pattern_from_signs(self, signs: Signs) -> Pattern:
        """The pattern whose breaks have the given signs; a sign of 0 is a break that is identically zero."""

    @abstractmethod
    def constraints(self, choice: int, piece: int) -> list[tuple[int, int]]:
        """The (break, sign) pairs that hold where the choice is on the piece."""

    @abstractmethod
    def signs_on(self, pieces: Indices) -> Signs:
        """The sign of every break where patterns hold, a column each; 0 for one that may have any."""

    @abstractmethod
    def decisive(self, pieces: Indices) -> Decisive:
        """The functions that vanish where a choice changes from the pieces given, a column a pattern."""

    @abstractmethod
    def piece_beyond(self, choice: int, piece: int, sign: Callable[[int], int | None]) -> int:
        """The piece of a choice beyond a hyperplane, given that on this side.

        ``sign`` tells a break's sign beyond if it vanishes on the hyperplane, and None otherwise.
        """

    @abstractmethod
    def settled(self, signs: Signs) -> Signs:
        """The signs with those that are OPEN but decide nothing replaced by such as fit the others."""

    @abstractmethod
    def possible_pieces(self, signs: Signs) -> tuple[Indices, Indices]:
        """The first and the last piece that every choice can be on, where the signs that are not OPEN hold."""

    @abstractmethod
    def switching_units(self, signs: Signs) -> Bools:
        """Which units matter to a choice that can be on several pieces, where the signs that are not OPEN hold."""

    @abstractmethod
    def envelope(
        self, low: Floats, high: Floats, signs: Signs, highest: Callable[[Indices, Indices], Floats]
    ) -> Envelope:
        """Lines near the outputs of pre-activations in the given ranges.

        ``highest`` tells how far the units in its first argument can be above those in its second.
        """

    @abstractmethod
    def restricted(self, signs: Signs) -> RestrictedActivation:
        """What is left of the activation where the signs that are not OPEN hold."""

    @abstractmethod
    def output_labels(self, labels: Indices, first: Indices, last: Indices) -> Indices:
        """Labels of the outputs: equal ones mean equal functions, 0 is the zero function, others mean nothing.

        The pre-activations have the given labels, and choices can be on the pieces from ``first`` to ``last``.
        """

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        """The arrays that determine the activation, as they enter a network's digest."""
        whole: Any = self  # every activation is a data class
        for field in fields(whole):
            yield field.name, getattr(self, field.name)

    @abstractmethod
    def describe(self, index: int) -> str:
        """What break ``index`` is, in words."""


def label_rows(rows: Indices) -> Indices:
    """Labels of rows of integers: equal rows have equal ones, and only rows of zeros have the label 0."""
    labels = 1 + np.unique(rows, axis=0, return_inverse=True)[1].ravel()
    return np.where(rows.any(axis=1), labels, 0)
