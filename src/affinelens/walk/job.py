"""Open work as a value: a part of the tree that a walk was stopped in, and what its engine needs to go on there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Job:
    """A piece of open work.

    ``engine`` names who can go on with it. ``place`` says where its regions come: those of a job with a smaller place
    come before them. ``state`` is the engine's own, and None for all that is at the place.
    """

    engine: str
    place: tuple[int, ...]
    state: Any


# What there is to do at first, for any engine.
WHOLE_DOMAIN = Job("", (), None)
