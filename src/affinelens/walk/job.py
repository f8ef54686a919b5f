"""Open work as a value: a part of the tree that was not walked yet, and what its engine needs to go on there.

A job is plain data, small, and says where in the tree it is by what was decided on the way there, never by the bytes of
an engine's memory: so it can be written down, sent to another machine, and read from a file that nobody vouches for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from affinelens.errors import AffineLensError

Place = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Job:
    """A piece of open work.

    ``engine`` names who can go on with it. ``place`` says where its regions come: those of a job with a smaller place
    come before them, and a walk that goes on with a job leaves jobs with larger places only. ``state`` is the engine's
    own: numbers, texts, and lists and dictionaries of these, or None for all that is at the place.
    """

    engine: str
    place: Place
    state: Any

    def to_json(self) -> dict[str, Any]:
        """The job as plain data."""
        return {"engine": self.engine, "place": list(self.place), "state": self.state}

    @classmethod
    def from_json(cls, data: Any) -> Job:
        """A job from plain data; its engine checks the state when it takes the job up."""
        if not isinstance(data, Mapping) or data.keys() != {"engine", "place", "state"}:
            raise AffineLensError("it has something else where a job belongs")
        engine, place = data["engine"], data["place"]
        if not isinstance(engine, str) or not isinstance(place, list) or not all(type(n) is int for n in place):
            raise AffineLensError("it has a job whose engine or place cannot be read")
        if (engine, place, data["state"]) == ("", [], None):
            return WHOLE_DOMAIN
        return cls(engine, tuple(place), data["state"])


# What there is to do at first, for any engine.
WHOLE_DOMAIN = Job("", (), None)
