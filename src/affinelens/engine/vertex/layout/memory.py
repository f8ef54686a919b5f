"""More room for a walk: copies of arrays and of tables of records, followed by zeros."""

from __future__ import annotations

from typing import Any

from affinelens.kernels.aligned import aligned


def resized(array: Any, length: int) -> Any:
    """A copy of an array or a table of records, followed by zeros."""
    copy = aligned((length, *array.shape[1:]), array.dtype).view(type(array))
    copy[: len(array)] = array
    return copy


def doubled(array: Any) -> Any:
    """A copy followed by as many zeros."""
    return resized(array, 2 * len(array))
