"""When a walk is to stop early, and with how many workers it goes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """When to stop early, and with how many threads or processes to work."""

    max_regions: int | None = None
    time_limit: float | None = None
    workers: int = 1
