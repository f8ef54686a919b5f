"""The maximum of groups of units: a group is a choice, and its winner the piece it is on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
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
from affinelens.network.piecewise_linear import PiecewiseLinear


@dataclass(frozen=True, eq=False)
class MaxGroups(Activation):
    """The maximum of each run ``starts[g] .. starts[g+1]`` of pre-activations; of equal functions the first wins."""

    kind: ClassVar[str] = "max"
    grouped: ClassVar[bool] = True
    tie_sign: ClassVar[int] = 1  # of equal functions the first wins

    starts: Indices

    def __post_init__(self) -> None:
        if len(self.starts) < 2 or self.starts[0] != 0 or np.any(np.diff(self.starts) < 1):
            raise AffineLensError(f"max groups need increasing starts from 0, but got {self.starts.tolist()}")
        object.__setattr__(self, "size_in", int(self.starts[-1]))
        object.__setattr__(self, "size_out", len(self.starts) - 1)
        object.__setattr__(self, "choices", len(self.starts) - 1)
        shape = self.choices, int(np.diff(self.starts).max())
        object.__setattr__(self, "slopes", np.broadcast_to(1.0, shape))
        object.__setattr__(self, "offsets", np.broadcast_to(0.0, shape))

    @cached_property
    def piece_counts(self) -> Indices:
        return np.diff(self.starts)

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

    @cached_property
    def sides(self) -> Sides:
        return Sides(self.piece_of_unit[self.breaks.minus], self.piece_of_unit[self.breaks.plus])

    @cached_property
    def piece_of_unit(self) -> Indices:
        """The piece that its choice is on where a unit wins."""
        return np.arange(self.size_in) - self.starts[self.choice_of_unit]

    def may_win(self, signs: Signs) -> Bools:
        """Which candidates do not lose to another one everywhere."""
        may = np.ones(self.size_in, dtype=bool)
        may[self.breaks.minus[(signs == 1) | (signs == 0)]] = False
        may[self.breaks.plus[signs == -1]] = False
        return may

    def apply(self, z: Floats) -> Floats:
        value: Floats = np.maximum.reduceat(z, self.starts[:-1], axis=0)
        return value

    def apply_exact(self, z: ExactMatrix) -> ExactMatrix:
        values = z.numerators.entries()
        winners = []
        for first, last in pairwise(self.starts.tolist()):
            winners.append(max(range(first, last), key=lambda i: (values[i], -i)))
        return z.rows(winners)

    def pieces_at(self, z: Floats) -> Indices:
        best = self.apply(z)[self.choice_of_unit]
        place = np.where(z == best, self.piece_of_unit[:, None], self.pieces)
        winners: Indices = np.minimum.reduceat(place, self.starts[:-1])
        return winners

    def select(self, form: Enclosure, pattern: Pattern) -> Enclosure:
        if pattern.ndim == 1:
            return form[self.starts[:-1] + pattern]
        lines = self.lines(pattern)
        return form.replaced(lines.taken(form.rows), lines.taken(form.error))

    def select_exact(self, form: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        return form.rows((self.starts[:-1] + pattern).tolist())

    def give_back_exact(self, weights: ExactMatrix, pattern: Pattern) -> ExactMatrix:
        place = np.full(self.size_in, -1)
        place[self.starts[:-1] + pattern] = np.arange(self.choices)
        return weights.rows(place.tolist())

    def pattern_from_signs(self, signs: Signs) -> Pattern:
        pattern = np.zeros(self.choices, dtype=np.int64)
        for group, (first, last) in enumerate(pairwise(self.starts.tolist())):
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

    def signs_on(self, pieces: Indices) -> Signs:
        piece, sides = pieces[self.breaks.choice], self.sides
        signs: Signs = (piece == sides.above[:, None]).astype(np.int8) - (piece == sides.below[:, None]).astype(np.int8)
        return signs

    def decisive(self, pieces: Indices) -> Decisive:
        """The leads of winners over all in their group."""
        group = self.choice_of_unit
        unit = np.broadcast_to(np.arange(self.size_in)[:, None], (self.size_in, pieces.shape[1]))
        return Decisive(self.starts[group][:, None] + pieces[group], unit, np.zeros(self.size_in))

    def piece_beyond(self, choice: int, piece: int, sign: Callable[[int], int | None]) -> int:
        """The winner among those that equal the old one on the hyperplane; of equal functions the first."""
        rivals = [rival for rival in range(int(self.piece_counts[choice])) if rival != piece]
        with_old = zip(rivals, self.constraints(choice, piece), strict=True)
        equal = sorted([piece, *(rival for rival, (index, _) in with_old if sign(index) is not None)])
        for candidate in equal:
            found = [(side, sign(index)) for index, side in self.constraints(choice, candidate)]
            if all(beyond is None or (beyond or self.tie_sign) == side for side, beyond in found):
                return candidate
        raise AssertionError("one of the candidates is the largest")

    def settled(self, signs: Signs) -> Signs:
        """Of two candidates of which one alone may win, that one is ahead."""
        may = self.may_win(signs).astype(np.int8)
        plus, minus = may[self.breaks.plus], may[self.breaks.minus]
        return np.where((signs == OPEN) & (plus + minus < 2), plus - minus, signs)

    def possible_pieces(self, signs: Signs) -> tuple[Indices, Indices]:
        may, place = self.may_win(signs), self.piece_of_unit
        first = np.minimum.reduceat(np.where(may, place, self.size_in), self.starts[:-1])
        return first, np.maximum.reduceat(np.where(may, place, -1), self.starts[:-1])

    def switching_units(self, signs: Signs) -> Bools:
        may = self.may_win(signs)
        rivals = np.add.reduceat(may, self.starts[:-1], dtype=np.int64)
        switching: Bools = may & (rivals > 1)[self.choice_of_unit]
        return switching

    def envelope(
        self, low: Floats, high: Floats, signs: Signs, highest: Callable[[Indices, Indices], Floats]
    ) -> Envelope:
        """Each group's maximum is its likeliest candidate plus what others may be above it."""
        may = self.may_win(signs)
        leader = np.zeros(self.choices, dtype=np.int64)
        rivals: list[tuple[int, int]] = []
        for group, (start, stop) in enumerate(pairwise(self.starts.tolist())):
            members = start + np.flatnonzero(may[start:stop])
            leader[group] = members[np.argmax(low[members] + high[members])]
            rivals += [(group, int(m)) for m in members if m != leader[group]]
        above = np.zeros(self.choices)
        if rivals:
            choice, member = np.array(rivals, dtype=np.int64).T
            np.maximum.at(above, choice, highest(member, leader[choice]))
        half = above / 2
        return Envelope(Lines(leader, np.ones(self.choices), half), half)

    def restricted(self, signs: Signs) -> RestrictedActivation:
        first, _ = self.possible_pieces(signs)
        switching = self.switching_units(signs)
        units = np.flatnonzero(switching)
        choices, sizes = np.unique(self.choice_of_unit[units], return_counts=True)
        pieces = np.zeros((len(choices), int(sizes.max(initial=1))), dtype=np.int64)
        if not len(choices):
            return RestrictedActivation(PiecewiseLinear.relu(0), choices, choices, choices, pieces, first)
        left = MaxGroups(np.append(0, np.cumsum(sizes)))
        pieces[left.choice_of_unit, left.piece_of_unit] = self.piece_of_unit[units]
        breaks = np.flatnonzero(switching[self.breaks.plus] & switching[self.breaks.minus])
        return RestrictedActivation(left, units, choices, breaks, pieces, first)

    def output_labels(self, labels: Indices, first: Indices, last: Indices) -> Indices:
        """Where several may win a group it is labelled by its candidates, if all groups are of one size."""
        alike = len(set(self.piece_counts.tolist())) == 1
        groups = label_rows(labels.reshape(self.choices, -1)) if alike else 1 + np.arange(self.choices)
        return np.where(first == last, labels[self.starts[:-1] + first], int(labels.max(initial=0)) + 1 + groups)

    def parameters(self) -> Iterator[tuple[str, NDArray[np.generic]]]:
        yield "max groups", self.starts

    def describe(self, index: int) -> str:
        group = int(self.breaks.choice[index])
        first = int(self.starts[group])
        return f"group {group}: {self.breaks.plus[index] - first} against {self.breaks.minus[index] - first}"
