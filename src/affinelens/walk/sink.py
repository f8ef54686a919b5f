"""Where regions go while they are found, and who is told now and then how a walk stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from affinelens.walk.columns import Columns
from affinelens.walk.outcome import Outcome


class Sink(Protocol):
    """Takes regions while they are found. A walk calls it from one thread, and one call at a time."""

    def write(self, columns: Columns) -> Any:
        """Take some regions that follow each other; what is returned stands for them in the outcome."""

    def checkpoint(self, so_far: Outcome) -> None:
        """The walk as if it had been stopped here: all that was found is written, and all else is its open work."""


@dataclass(frozen=True, eq=False)
class HandedTo:
    """A sink that hands regions to a function and keeps no checkpoints."""

    function: Callable[[Columns], Any]

    def write(self, columns: Columns) -> Any:
        """Call the function."""
        return self.function(columns)

    def checkpoint(self, so_far: Outcome) -> None:
        """Nothing is kept."""
