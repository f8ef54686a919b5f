"""What is left of a stage on a domain: the units that can switch there, and how they are numbered in the network.

Here is the one place that reads pieces of a restricted stage as pieces of the network, and back.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from affinelens.array_types import Indices, Pattern, Signs
from affinelens.network import Network
from affinelens.network.activation import RestrictedActivation


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
