"""The restricted network: what is left of a network on a domain, because the rest is proved not to switch there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from affinelens.array_types import Bools, Indices, Pattern, Patterns
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.network.activation import OPEN
from affinelens.network.congruence import Labels
from affinelens.restrict.break_signs import StageBounds
from affinelens.restrict.restricted_stage import RestrictedStage
from affinelens.restrict.switching_choices import SwitchingChoices

Clauses = Sequence[Sequence[int]]


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
