"""Limits as users give them: checked, and named if they make no sense."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

from affinelens.engine import require_executor
from affinelens.errors import AffineLensError
from affinelens.walk import Limits

# Options that may differ from sitting to sitting.
LIMITS = ("workers", "max_regions", "time_limit")


def checked_limits(workers: Any, max_regions: Any, time_limit: Any, executor: Any = None) -> Limits:
    """Limits as the engine takes them, or an error that names the one that makes no sense."""
    processes = _whole(workers, "workers") or _available_cores()
    if executor is not None:
        require_executor(executor)
    return Limits(_whole(max_regions, "max_regions"), _seconds(time_limit), processes, executor=executor)


def limits_given(workers: Any, max_regions: Any, time_limit: Any) -> dict[str, Any]:
    """The limits as plain data."""
    return {
        "workers": _whole(workers, "workers"),
        "max_regions": _whole(max_regions, "max_regions"),
        "time_limit": _seconds(time_limit),
    }


def _available_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _whole(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise AffineLensError(f"{name} must be a whole number of at least 1, but got {value!r}")
    return int(value)


def _seconds(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < float("inf"):
        raise AffineLensError(f"time_limit must be a number of seconds above 0, but got {value!r}")
    return float(value)
