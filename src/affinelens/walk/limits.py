"""When a walk is to stop early, with how many workers it goes, and how often it says how it stands."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """When to stop early, with how many threads or processes to work, and how many seconds lie between checkpoints."""

    max_regions: int | None = None
    time_limit: float | None = None
    workers: int = 1
    checkpoint_every: float = 20.0
