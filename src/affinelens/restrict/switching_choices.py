"""Which of a network's choices patterns are stored for, and how stored patterns read in the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class SwitchingChoices:
    """Which of a network's choices patterns are kept for, and the pattern in which the others stay the same."""

    choices: NDArray[np.int64]
    pattern: NDArray[np.unsignedinteger[Any]]

    def whole(self, patterns: NDArray[np.unsignedinteger[Any]]) -> NDArray[np.unsignedinteger[Any]]:
        """Patterns of all choices."""
        result = np.broadcast_to(self.pattern, (*patterns.shape[:-1], len(self.pattern))).copy()
        result[..., self.choices] = patterns
        return result

    def pieces(
        self, patterns: NDArray[np.unsignedinteger[Any]], choices: NDArray[np.int64]
    ) -> NDArray[np.unsignedinteger[Any]]:
        """Patterns of some choices."""
        place = np.searchsorted(self.choices, choices)
        restricted = np.append(self.choices, -1)[place] == choices
        result = np.tile(self.pattern[choices], (len(patterns), 1))
        result[:, restricted] = patterns[:, place[restricted]]
        return result
