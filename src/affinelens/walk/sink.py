"""Where regions go while they are found, and who is told now and then how a walk stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from affinelens.walk.columns import Columns
from affinelens.walk.outcome import Outcome

if TYPE_CHECKING:
    from affinelens.walk.request import Request


class Sink(Protocol):
    """Takes regions while they are found. A walk calls it from one thread, and one call at a time."""

    def write(self, columns: Columns) -> Any:
        """Take some regions that follow each other; what is returned stands for them in the outcome."""

    def checkpoint(self, so_far: Outcome) -> None:
        """The walk as if it had been stopped here: all that was found is written, and all else is its open work."""


class Deposit(Protocol):
    """Where one job keeps what it finds in a shared place. Nothing is there before it was closed."""

    def write(self, columns: Columns) -> None:
        """Keep some regions that follow each other, behind those kept before."""

    def close(self) -> dict[str, Any] | None:
        """What stands for all that was kept, as plain data; it is there to stay. None if it is of no use any more."""

    def discard(self) -> None:
        """Give up what was kept."""


@dataclass(frozen=True, eq=False)
class SharedPlace:
    """A place where jobs that run elsewhere keep regions themselves, if they can reach it.

    ``opened`` is a function of a module, and so is sent by its name. Called with ``told``, which is plain data, and the
    request, it gives a place to write to, or None where this cannot be reached.
    """

    opened: Callable[[dict[str, Any], Request], Deposit | None]
    told: dict[str, Any]


@runtime_checkable
class SharedSink(Sink, Protocol):
    """A sink that also takes what jobs have kept elsewhere."""

    def shared(self) -> SharedPlace | None:
        """Where jobs may keep regions; None if there is no such place now."""

    def adopt(self, kept: dict[str, Any], regions: Sequence[int]) -> list[Any]:
        """Take what a deposit holds: what stands for each write, which were of so many regions.

        What is not there, or is something else, is an error, and nothing is taken.
        """


@dataclass(frozen=True, eq=False)
class HandedTo:
    """A sink that hands regions to a function and keeps no checkpoints."""

    function: Callable[[Columns], Any]

    def write(self, columns: Columns) -> Any:
        """Call the function."""
        return self.function(columns)

    def checkpoint(self, so_far: Outcome) -> None:
        """Nothing is kept."""
