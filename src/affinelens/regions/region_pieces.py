"""The patterns of regions, read as pieces of the units that can switch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.restrict import RestrictedNetwork, SwitchingChoices

Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
Patterns = NDArray[np.unsignedinteger[Any]]


class RegionPieces:
    """Which piece each switching choice of each region is on, as the kept stages number pieces."""

    def __init__(self, restricted: RestrictedNetwork, patterns: Patterns, switching: SwitchingChoices | None) -> None:
        self._restricted = restricted
        self._patterns = patterns
        self._stored = np.arange(patterns.shape[1]) if switching is None else switching.choices
        self._switching = switching

    def of(self, index: int, regions: Indices) -> Indices:
        """Those of a switching stage, a row a choice and a column a region."""
        return self._restricted.stages[index].from_network(self.in_network(index, regions))

    def in_network(self, index: int, regions: Indices) -> Indices:
        """The same as the network numbers pieces."""
        numbers, columns = self._columns(index)
        pieces: Indices = self._patterns[regions[:, None], columns].T.astype(np.int64)
        if self._switching is not None:
            missing = self._stored[columns] != numbers
            pieces[missing] = self._switching.pattern[numbers[missing], None]
        return pieces

    def change(self, index: int, regions: Indices) -> Bools:
        """Whether a region is on other pieces of a switching stage than the one listed before it."""
        _, columns = self._columns(index)
        changed = np.zeros(len(regions), dtype=np.bool_)
        if len(columns):
            own = self._patterns[regions, columns[0] : columns[-1] + 1]
            changed[1:] = (own[1:] != own[:-1]).any(axis=1)
        return changed

    def _columns(self, index: int) -> tuple[Indices, Indices]:
        """The choices of a switching stage, and the columns of the stored patterns that have them."""
        numbers = self._restricted.stages[index].choice_numbers
        return numbers, np.minimum(np.searchsorted(self._stored, numbers), len(self._stored) - 1)
