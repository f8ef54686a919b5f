"""The restricted network: what is left of a network on a domain, because the rest is proved not to switch there.

Here is the one place that reads pieces of a restricted stage, and stored patterns, as those of the network, and back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from affinelens.array_types import Bools, Indices, Pattern, Patterns, Signs
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.network.activation import OPEN, RestrictedActivation
from affinelens.network.congruence import Labels
from affinelens.restrict.stage_bounds import StageBounds

Clauses = Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class RestrictedStage(RestrictedActivation):
    """What can switch of a network's stage, as a stage of its own.

    ``stage`` is its number in the network, and ``network_pieces`` the most pieces that a choice has there;
    ``choice_numbers`` and ``break_numbers`` are the numbers that its choices and breaks have there over all stages.
    """

    stage: int
    network_pieces: int
    choice_numbers: Indices
    break_numbers: Indices

    @classmethod
    def of(cls, network: Network, stage: int, signs: Signs) -> RestrictedStage:
        """What is left of a stage whose breaks have the given signs."""
        activation = network.stages[stage].activation
        left = activation.restricted(signs)
        return cls(
            **{field.name: getattr(left, field.name) for field in fields(left)},
            stage=stage,
            network_pieces=activation.pieces,
            choice_numbers=network.choice_offsets[stage] + left.choices,
            break_numbers=network.break_offsets[stage] + left.breaks,
        )

    def in_network(self, pieces: Pattern) -> Indices:
        """Pieces of the choices, a row each, as the network numbers them."""
        choice = np.arange(len(self.choices)).reshape(-1, *(1,) * (pieces.ndim - 1))
        return self.pieces[choice, pieces]

    def from_network(self, pieces: Pattern) -> Indices:
        """Pieces as the stage numbers them, given the network's, a row a choice; 0 for what is not possible here."""
        choice = np.arange(len(self.choices)).reshape(-1, *(1,) * (pieces.ndim - 1))
        return self._places[choice, pieces]

    @cached_property
    def _places(self) -> Indices:
        """The stage's own number of each of the network's pieces."""
        places = np.zeros((len(self.choices), self.network_pieces), dtype=np.int64)
        for piece in range(self.pieces.shape[1] - 1, -1, -1):
            places[np.arange(len(places)), self.pieces[:, piece]] = piece
        return places


@dataclass(frozen=True, eq=False)
class SwitchingChoices:
    """The choices that stored patterns have a column for, and the network's pattern, in which the others never change.

    ``choices`` are the network's numbers, in increasing order.
    """

    choices: Indices
    pattern: Patterns

    @classmethod
    def of_all(cls, count: int) -> SwitchingChoices:
        """All of so many choices."""
        return cls(np.arange(count), np.zeros(count, dtype=np.uint8))

    def with_one_more(self, kind: np.dtype[np.unsignedinteger[Any]]) -> SwitchingChoices:
        """These, and one more choice behind all others, as patterns of a network with one more have them."""
        pattern = np.append(self.pattern, 0).astype(kind)
        return SwitchingChoices(np.append(self.choices, len(self.pattern)), pattern)

    def whole(self, patterns: Patterns) -> Patterns:
        """Patterns of all choices."""
        result = np.broadcast_to(self.pattern, (*patterns.shape[:-1], len(self.pattern))).copy()
        result[..., self.choices] = patterns
        return result

    def pieces(self, patterns: Patterns, choices: Indices) -> Patterns:
        """Patterns of some choices, a row each."""
        columns, stored = self.columns(choices)
        result = np.tile(self.pattern[choices], (len(patterns), 1))
        result[:, stored] = patterns[:, columns[stored]]
        return result

    def columns(self, choices: Indices) -> tuple[Indices, Bools]:
        """The columns of stored patterns that have some choices, and which choices there is one for."""
        columns = np.searchsorted(self.choices, choices)
        stored: Bools = np.append(self.choices, -1)[columns] == choices
        return columns, stored


@dataclass(frozen=True, eq=False)
class RestrictedNetwork:
    """What is left of a network on a domain, the frame's, and how what is found with it reads in the network.

    Its numbering is that of ``stages``, which leaves out those in which nothing switches. On a subdomain, ``sides`` are
    the sides of the first stage's breaks that it lies on: the frame's rows are those of the whole domain, then one for
    each of them, in that order. ``subdomains`` are there if the domain is to be walked one after the other.
    """

    network: Network
    frame: Frame
    bounds: Sequence[StageBounds]
    sides: Mapping[int, int] = field(default_factory=dict)
    subdomains: tuple[RestrictedNetwork, ...] = ()

    @cached_property
    def all_stages(self) -> list[RestrictedStage]:
        """All of the network's stages, some of them empty."""
        return [RestrictedStage.of(self.network, index, bounds.signs) for index, bounds in enumerate(self.bounds)]

    @cached_property
    def stages(self) -> list[RestrictedStage]:
        """The stages in which something switches."""
        return [stage for stage in self.all_stages if len(stage.choices)]

    @cached_property
    def switching(self) -> SwitchingChoices:
        """The choices that can switch; the pattern has them on their first piece."""
        pattern = _joined([stage.pattern for stage in self.all_stages]).astype(self.network.pattern_type)
        return SwitchingChoices(_joined([stage.choice_numbers for stage in self.stages]), pattern)

    @cached_property
    def breaks(self) -> Indices:
        """The network's numbers of the breaks that can be crossed."""
        return _joined([stage.break_numbers for stage in self.stages])

    def open_clauses(self, clauses: Clauses) -> Clauses:
        """Those clauses that may hold, without the breaks that the domain is known to lie above.

        A clause lists breaks of the last stage and holds above all of them; they get the restricted stage's numbers.
        """
        if not clauses:
            return ()
        signs, place = self.bounds[-1].signs, {int(b): i for i, b in enumerate(self.all_stages[-1].breaks)}
        possible = [clause for clause in clauses if not any(signs[b] in (-1, 0) for b in clause)]
        return tuple(tuple(place[b] for b in clause if signs[b] == OPEN) for clause in possible)

    @cached_property
    def labels(self) -> list[Indices]:
        """Labels of all stages' pre-activations: of equal ones the functions are the same."""
        labels, found = Labels(self.frame.chart), []
        for stage, known in zip(self.network.stages, self.bounds, strict=True):
            found.append(labels.of_sum(stage.linear))
            labels.add_outputs(stage.activation, found[-1], *stage.activation.possible_pieces(known.signs))
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
            breaks, alone = activation.breaks, activation.grouped
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
        linear, breaks = self.network.stages[here.stage].linear, self.network.stages[here.stage].activation.breaks
        reached: list[Bools | None] = [None] * (here.stage + 1)
        linear.mark_sources(breaks.weights(here.breaks[index : index + 1], linear.size) != 0.0, reached)
        found = []
        for below in range(here.stage - 1, -1, -1):
            arrived = reached[below + 1]
            if arrived is None:
                continue
            source, restricted = self.network.stages[below], self.all_stages[below]
            found.append(restricted.choice_numbers[arrived[restricted.choices, 0]])
            source.linear.mark_sources(arrived[source.activation.choice_of_unit], reached)
        return _joined(found)

    def pieces(self, patterns: Pattern) -> Patterns:
        """Patterns of the switching choices, from patterns in the restricted stages' numbers."""
        result = np.empty(patterns.shape, dtype=self.network.pattern_type)
        start = 0
        for stage in self.stages:
            for column, table in enumerate(stage.pieces, start):  # one at a time: there may be millions of patterns
                result[..., column] = table[patterns[..., column]]
            start += len(stage.choices)
        return result


def _joined(numbers: Sequence[Pattern]) -> Indices:
    return np.concatenate([np.zeros(0, dtype=np.int64), *numbers])
