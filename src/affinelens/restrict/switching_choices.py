"""Which of a network's choices patterns are stored for, and how stored patterns read in the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from affinelens.array_types import Bools, Indices, Patterns


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
