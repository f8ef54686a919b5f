"""What is left of a stage on a domain: the units that can switch there, and how they are numbered in the network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.network import Activation, MaxGroups, Network, PiecewiseLinear
from affinelens.network.canonical import AffineSum
from affinelens.network.congruence import Labels
from affinelens.restrict.break_signs import OPEN, Signs, StageBounds, may_win, possible_pieces
from affinelens.restrict.subdivision import Subdomain

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Pattern = NDArray[np.integer[Any]]
Clauses = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class RestrictedStage:
    """The part of a stage that can switch, as an activation of its own.

    ``units``, ``choices`` and ``breaks`` are the numbers that its units, choices and breaks have in the stage, and
    ``pieces[c, p]`` is the piece of choice ``choices[c]`` that it calls p. ``pattern`` is the stage's pattern where
    all of them are on their first piece.
    """

    stage: int
    activation: Activation
    units: Indices
    choices: Indices
    breaks: Indices
    pieces: Indices
    pattern: Pattern

    @property
    def pieces_by_choice(self) -> list[Indices]:
        """The pieces that each choice can be on."""
        if isinstance(self.activation, MaxGroups):
            return [row[:size] for row, size in zip(self.pieces, np.diff(self.activation.starts), strict=True)]
        return list(self.pieces)


def restricted_stage(stage: int, activation: Activation, signs: Signs) -> RestrictedStage:
    """What is left of a stage whose breaks have the given signs."""
    if isinstance(activation, MaxGroups):
        return _keep_groups(stage, activation, signs)
    assert isinstance(activation, PiecewiseLinear)
    first, last = possible_pieces(activation, signs)
    units = np.flatnonzero(first < last)
    count = int((last - first)[units].max(initial=0))
    place = first[units, None] + np.arange(count + 1)
    inside = place[:, :-1] < last[units, None]
    place = np.minimum(place, last[units, None])
    row = units[:, None]
    padded = np.concatenate([activation.breakpoints, np.full((activation.size_in, 1), np.inf)], axis=1)
    restricted = PiecewiseLinear(
        np.where(inside, padded[row, place[:, :-1]], np.inf),
        activation.slopes[row, place],
        activation.offsets[row, place],
    )
    return RestrictedStage(stage, restricted, units, units, np.flatnonzero(signs == OPEN), place, first)


def _keep_groups(stage: int, groups: MaxGroups, signs: Signs) -> RestrictedStage:
    may = may_win(groups, signs)
    pattern = np.zeros(groups.choices, dtype=np.int64)
    restricted, units, sizes, pieces = [], [], [], []
    for group, (start, stop) in enumerate(pairwise(groups.starts.tolist())):
        members = np.flatnonzero(may[start:stop])
        pattern[group] = members[0]
        if len(members) > 1:
            restricted.append(group)
            units.append(start + members)
            sizes.append(len(members))
            pieces.append(members)
    table = np.zeros((len(restricted), max(sizes, default=1)), dtype=np.int64)
    for row, members in zip(table, pieces, strict=True):
        row[: len(members)] = members
    numbers = np.concatenate([np.zeros(0, dtype=np.int64), *units])
    left = MaxGroups(np.cumsum([0, *sizes])) if restricted else None
    choices = np.array(restricted, dtype=np.int64)
    if left is None:
        nothing = np.zeros(0, dtype=np.int64)
        return RestrictedStage(stage, PiecewiseLinear.relu(0), nothing, nothing, nothing, table, pattern)
    breaks = groups.break_numbers(numbers[left.breaks.plus], numbers[left.breaks.minus])
    return RestrictedStage(stage, left, numbers, choices, breaks, table, pattern)


@dataclass(frozen=True, eq=False)
class RestrictedNetwork:
    """All stages' switching parts, and how what an engine finds with them reads in the network.

    ``stages`` leaves out those in which nothing switches. ``subdomains`` are parts of the domain with what switches
    there, if it is to be walked part by part.
    """

    network: Network
    bounds: Sequence[StageBounds]
    chart: ExactMatrix
    subdomains: tuple[RestrictedSubdomain, ...] = ()

    @cached_property
    def all_stages(self) -> list[RestrictedStage]:
        return [
            restricted_stage(index, stage.activation, bounds.signs)
            for index, (stage, bounds) in enumerate(zip(self.network.stages, self.bounds, strict=True))
        ]

    @cached_property
    def stages(self) -> list[RestrictedStage]:
        return [stage for stage in self.all_stages if len(stage.choices)]

    @cached_property
    def pattern(self) -> NDArray[np.unsignedinteger[Any]]:
        """The network's pattern where every switching choice is on its first piece."""
        parts = [np.zeros(0, dtype=np.int64), *(stage.pattern for stage in self.all_stages)]
        return np.concatenate(parts).astype(self.network.pattern_type)

    @cached_property
    def choices(self) -> Indices:
        """The network's numbers of the switching choices."""
        offsets = self.network.choice_offsets
        return _joined([offsets[stage.stage] + stage.choices for stage in self.stages])

    @cached_property
    def breaks(self) -> Indices:
        """The network's numbers of the breaks that can be crossed."""
        offsets = self.network.break_offsets
        return _joined([offsets[stage.stage] + stage.breaks for stage in self.stages])

    def open_clauses(self, clauses: Clauses) -> Clauses:
        """Those clauses that may hold, without the breaks that the domain is known to lie above.

        A clause lists breaks of the last stage and holds above all of them; breaks are renumbered as those kept.
        """
        if not clauses:
            return ()
        signs, place = self.bounds[-1].signs, {int(b): i for i, b in enumerate(self.all_stages[-1].breaks)}
        possible = [clause for clause in clauses if not any(signs[b] in (-1, 0) for b in clause)]
        return tuple(tuple(place[b] for b in clause if signs[b] == OPEN) for clause in possible)

    @cached_property
    def labels(self) -> list[Indices]:
        """Labels of all stages' pre-activations: of equal ones the functions are the same."""
        labels, found = Labels(self.chart), []
        for stage, known in zip(self.network.stages, self.bounds, strict=True):
            found.append(labels.of_sum(stage.linear))
            labels.add_outputs(stage.activation, found[-1], *possible_pieces(stage.activation, known.signs))
        return found

    @cached_property
    def leaders(self) -> Indices:
        """For every break that can be crossed the first of its stage that is the same hyperplane, by their places.

        Candidates of a group are compared pair by pair, so their breaks lead themselves.
        """
        found: list[int] = []
        for restricted in self.stages:
            activation, labels = self.network.stages[restricted.stage].activation, self.labels[restricted.stage]
            first: dict[tuple[int, float], int] = {}
            breaks, alone = activation.breaks, isinstance(activation, MaxGroups)
            for place, index in enumerate(restricted.breaks.tolist(), len(found)):
                key = (int(labels[breaks.plus[index]]), float(breaks.threshold[index]))
                found.append(place if alone else first.setdefault(key, place))
        return np.array(found, dtype=np.int64)

    def first_like(self, stage: int) -> Indices:
        """For every unit of a switching stage the first one that is the same function."""
        restricted = self.stages[stage]
        _, first, like = np.unique(
            self.labels[restricted.stage][restricted.units], return_index=True, return_inverse=True
        )
        return first[like.ravel()]

    def dependencies(self, stage: int, index: int) -> Indices:
        """The network's choices that a break of a switching stage can depend on, of those that can switch."""
        here = self.stages[stage]
        breaks = self.network.stages[here.stage].activation.breaks
        number = int(here.breaks[index])
        reached: list[Floats | None] = [None] * (here.stage + 1)
        start = np.zeros((self.network.stages[here.stage].linear.size, 1))
        start[[n for n in (breaks.plus[number], breaks.minus[number]) if n >= 0]] = 1.0
        self._reach(self.network.stages[here.stage].linear, start, reached)
        found = []
        for below in range(here.stage - 1, -1, -1):
            arrived = reached[below + 1]
            if arrived is None:
                continue
            activation, restricted = self.network.stages[below].activation, self.all_stages[below]
            touched = arrived[:, 0] > 0
            found.append(self.network.choice_offsets[below] + restricted.choices[touched[restricted.choices]])
            behind = touched.astype(np.float64)
            if isinstance(activation, MaxGroups):
                behind = np.repeat(behind, np.diff(activation.starts))
            self._reach(self.network.stages[below].linear, behind[:, None], reached)
        return _joined(found)

    def _reach(self, linear: AffineSum, touched: Floats, reached: list[Floats | None]) -> None:
        """Mark what an affine sum's touched entries are computed from."""
        for k, part in linear.sources:
            behind = (part.transposed().apply_absolute(touched) > 0).astype(np.float64)
            present = reached[k]
            reached[k] = behind if present is None else np.maximum(present, behind)

    def pieces(self, patterns: Pattern) -> NDArray[np.unsignedinteger[Any]]:
        """The network's pieces of the switching choices, from patterns of the kept activations."""
        result = np.empty(patterns.shape, dtype=self.network.pattern_type)
        start = 0
        for stage in self.stages:
            for choice, table in enumerate(stage.pieces):
                result[..., start + choice] = table[patterns[..., start + choice]]
            start += len(stage.choices)
        return result


@dataclass(frozen=True, eq=False)
class RestrictedSubdomain:
    """An area of a domain and what can switch there."""

    subdomain: Subdomain
    restricted: RestrictedNetwork


def _joined(parts: Sequence[Indices]) -> Indices:
    return np.concatenate([np.zeros(0, dtype=np.int64), *parts])
