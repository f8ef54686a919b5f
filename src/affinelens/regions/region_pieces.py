"""The patterns of regions, read as pieces of the units that can switch."""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Bools, Indices, Patterns
from affinelens.restrict import RestrictedNetwork, SwitchingChoices


class RegionPieces:
    """Which piece each switching choice of each region is on, as the restricted stages number pieces."""

    def __init__(self, restricted: RestrictedNetwork, patterns: Patterns, switching: SwitchingChoices | None) -> None:
        self._restricted = restricted
        self._patterns = patterns
        self._switching = SwitchingChoices.of_all(patterns.shape[1]) if switching is None else switching

    def of(self, index: int, regions: Indices) -> Indices:
        """Those of a switching stage, a row a choice and a column a region."""
        return self._restricted.stages[index].from_network(self.in_network(index, regions))

    def in_network(self, index: int, regions: Indices) -> Indices:
        """The same as the network numbers pieces."""
        choices = self._restricted.stages[index].choice_numbers
        columns, stored = self._switching.columns(choices)
        pieces = np.repeat(self._switching.pattern[choices].astype(np.int64)[:, None], len(regions), axis=1)
        pieces[stored] = self._patterns[regions[:, None], columns[stored]].T
        return pieces

    def change(self, index: int, regions: Indices) -> Bools:
        """Whether a region is on other pieces of a switching stage than the one listed before it."""
        columns, stored = self._switching.columns(self._restricted.stages[index].choice_numbers)
        changed = np.zeros(len(regions), dtype=np.bool_)
        if stored.any():
            own = self._patterns[regions, columns[stored][0] : columns[stored][-1] + 1]
            changed[1:] = (own[1:] != own[:-1]).any(axis=1)
        return changed
