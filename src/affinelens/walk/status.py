"""How a walk ended."""

from __future__ import annotations

from enum import Enum


class Status(Enum):
    """How a walk ended; the value is the sentence shown to the user."""

    COMPLETE = "complete: every region was found"
    REGION_LIMIT = "incomplete: stopped at max_regions; raise it to find more"
    TIME_LIMIT = "incomplete: stopped at the time limit; raise it, or ask for a smaller domain"
    CANCELLED = "incomplete: stopped by the user; what was found so far is kept"

    def __str__(self) -> str:
        return self.value
