"""A moment by which long work must end: it is handed to the work, which looks at it between its steps."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf


class TimeIsUp(Exception):  # noqa: N818 (it is not an error)
    """The deadline came before the work was done."""


@dataclass(frozen=True)
class Deadline:
    """A moment on the clock of ``time.monotonic``."""

    moment: float = inf

    @property
    def left(self) -> float | None:
        """How many seconds are left, or None if there is no limit."""
        return None if self.moment == inf else self.moment - time.monotonic()

    def postponed(self, seconds: float) -> Deadline:
        """One that leaves out time spent on something else."""
        return Deadline(self.moment + seconds)

    def check(self) -> None:
        """Stop here if no time is left."""
        if time.monotonic() >= self.moment:
            raise TimeIsUp


NEVER = Deadline()
