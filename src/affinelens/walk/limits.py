"""When a walk is to stop early, with how many workers or on what else it goes, and how often it says how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """When to stop early, with how many threads or processes to work, and how many seconds lie between checkpoints.

    ``executor`` runs the jobs instead: an executor as those of ``concurrent.futures``, or a Dask client.
    """

    max_regions: int | None = None
    time_limit: float | None = None
    workers: int = 1
    checkpoint_every: float = 20.0
    executor: Any = None
