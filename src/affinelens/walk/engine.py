"""What an engine is to those who use one: a name, what it can do, where it fits, and how it walks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from affinelens.deadline import Deadline
from affinelens.restrict import RestrictedNetwork
from affinelens.walk.outcome import Outcome
from affinelens.walk.request import Ability, Request

Restriction = Callable[[], RestrictedNetwork]


@dataclass(frozen=True, eq=False)
class Fit:
    """Why an engine should not be used for a request, or why it should, and the restricted network that it walks."""

    obstacle: str | None = None
    reason: str = ""
    restricted: RestrictedNetwork | None = None


class Engine(Protocol):
    """One way to find regions. All engines find the same ones."""

    name: str
    abilities: frozenset[Ability]

    def fit(self, request: Request, restriction: Restriction, *, freely: bool) -> Fit:
        """Whether it can be used on this network and domain; chosen freely, it has to pay as well.

        ``restriction`` restricts the network to what can switch on the domain, at most once however often it is asked.
        """

    def walk(self, request: Request, restricted: RestrictedNetwork | None, deadline: Deadline) -> Outcome:
        """Find the regions, until there is no open work or a limit or Ctrl-C ends it; what is left is in the outcome.

        The deadline is for what comes before the walk, whose time limit is counted from here without the compiling of
        kernels.
        """
