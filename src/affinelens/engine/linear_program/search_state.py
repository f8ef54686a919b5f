"""How far the search of a parent has come, kept beside it: what it takes to go on elsewhere, exactly.

A search hands out its cells as steps, and whoever takes them follows along. So a search that is broken off, lost with
the process that made it, or written down is begun again where the last step that arrived left it, and no cell is found
a second time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from affinelens.engine.linear_program.problem import Cell
from affinelens.errors import AffineLensError

# The pieces of a search's choices.
Key = tuple[int, ...]
Place = tuple[int, ...]


class Step(NamedTuple):
    """A cell that was found, and what changes with it in the state of its search.

    ``choices`` are those that keys of the search are about. ``opened`` are keys to go on from, ``closes`` says that the
    first one so far is done with.
    """

    cell: Cell
    choices: Key = ()
    opened: tuple[Key, ...] = ()
    closes: bool = False


@dataclass
class Search:
    """The state of a parent's search: how many cells it found, and the keys to go on from, in order.

    What a key stands for is the search's own: a cell that is known and still to come, or the last one that was found.
    """

    received: int = 0
    choices: Key = ()
    keys: deque[Key] = field(default_factory=deque)

    def follow(self, step: Step) -> None:
        """Take a step."""
        self.received += 1
        self.choices = step.choices
        if step.closes:
            self.keys.popleft()
        self.keys.extend(step.opened)

    def require_choices(self, choices: Iterable[int]) -> None:
        """Refuse to go on with a search that was about other choices than these."""
        if self.choices != tuple(choices):
            raise does_not_fit()


def does_not_fit() -> AffineLensError:
    """What is said of open work whose parts contradict each other or the network."""
    return AffineLensError(
        "the open work is not of this network and domain, or was altered; go on with what the same request left"
    )


@dataclass
class Task:
    """A cell, its place in the tree, and how far its search has come, if it is a parent to search.

    ``vouched`` says whether the cell is known to be one, or was read from open work and is still to be checked.
    """

    place: Place
    cell: Cell
    search: Search = field(default_factory=Search)
    vouched: bool = True

    @property
    def next_place(self) -> Place:
        """Where its next child will be."""
        return (*self.place, self.search.received)

    def child(self, step: Step) -> Task:
        """The next child that arrives."""
        place = self.next_place
        self.search.follow(step)
        return Task(place, step.cell)


def gaps(places: Iterable[Place]) -> list[Place]:
    """Where tasks begin, given by their next places, that do not follow the one before them at once.

    All in between was found already. Tasks that share cells are refused.
    """
    found = []
    for earlier, later in pairwise(sorted(places)):
        *above, own = (0, *earlier[:-1])
        end, begin = (*above, own + 1), _without_last_zeros((0, *later))
        if begin < end:
            raise does_not_fit()
        if begin > end:
            found.append(begin[1:])
    return found


def _without_last_zeros(place: Place) -> Place:
    """The first place at which something can come that is not before a place."""
    while place and not place[-1]:
        place = place[:-1]
    return place
