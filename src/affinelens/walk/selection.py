"""Regions that a walk is confined to, by their patterns: only what lies in one of them is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from affinelens.array_types import Indices, Patterns
from affinelens.restrict import RestrictedNetwork
from affinelens.walk.outcome import Outcome


class Selected(NamedTuple):
    """Regions as a walk knows them: patterns of the first so many stages that it walks."""

    patterns: Patterns
    stages: int


# One region of no stages, in which all others lie.
EVERYTHING = Selected(np.zeros((1, 0), dtype=np.uint8), 0)


@dataclass(frozen=True, eq=False)
class Selection:
    """The regions of an outcome, which are made by the first so many stages of the network that is walked."""

    regions: Outcome
    stages: int

    def read_by(self, restricted: RestrictedNetwork | None) -> Selected:
        """Those regions that lie where a restricted network is all that switches, in its own numbers."""
        if restricted is None:
            return Selected(self.regions.pieces(np.arange(self._choices)), self.stages)
        here = [stage for stage in restricted.stages if stage.stage < self.stages]
        switching = restricted.switching
        patterns = self._agreeing(switching.pattern, switching.choices[switching.choices < self._choices])
        places, inside, start = np.empty_like(patterns), np.ones(len(patterns), dtype=bool), 0
        for stage in here:
            columns = slice(start, start + len(stage.choices))
            own_pieces = stage.from_network(patterns[:, columns].T)
            inside &= (patterns[:, columns] == stage.in_network(own_pieces).T).all(axis=1)
            places[:, columns] = own_pieces.T
            start = columns.stop
        return Selected(places[inside], len(here))

    @property
    def _choices(self) -> int:
        switching = self.regions.switching
        return self.regions.patterns.shape[1] if switching is None else len(switching.pattern)

    def _agreeing(self, pattern: Patterns, choices: Indices) -> Patterns:
        """Patterns of some choices, of those regions that have a pattern's pieces of all the others."""
        switching, stored = self.regions.switching, self.regions.patterns
        fixed = np.setdiff1d(np.arange(self._choices), choices)
        column = fixed
        if switching is not None:
            constant = np.setdiff1d(fixed, switching.choices)
            if not np.array_equal(switching.pattern[constant], pattern[constant]):
                stored = stored[:0]
            fixed = np.intersect1d(fixed, switching.choices)
            column = np.searchsorted(switching.choices, fixed)
        rows = np.arange(len(stored))
        for c, piece in zip(column.tolist(), pattern[fixed].tolist(), strict=True):
            rows = rows[stored[rows, c] == piece]  # few are left soon, where the domain is walked in subdomains
        return stored[rows][:, choices] if switching is None else switching.pieces(stored[rows], choices)
