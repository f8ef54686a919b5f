"""Arrays that begin where vector registers like to load from, and copies of them with more room."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_CACHE_LINE = 64


def aligned(shape: tuple[int, ...], kind: Any = np.float64) -> NDArray[Any]:
    """An array of zeros that begins where a vector register's worth of memory does."""
    size = prod(shape) * np.dtype(kind).itemsize
    memory = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % _CACHE_LINE
    return memory[start : start + size].view(kind).reshape(shape)


def resized(array: Any, length: int) -> Any:
    """A copy of an array or a table of records, followed by zeros."""
    copy = aligned((length, *array.shape[1:]), array.dtype).view(type(array))
    copy[: len(array)] = array
    return copy


def doubled(array: Any) -> Any:
    """A copy followed by as many zeros."""
    return resized(array, 2 * len(array))
