"""Arrays that begin where vector registers like to load from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_CACHE_LINE = 64


def aligned(shape: tuple[int, ...], kind: Any = np.float64) -> NDArray[Any]:
    """An array of zeros that begins where a vector register's worth of memory does."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    memory = np.zeros(size + _CACHE_LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE
    return memory[start : start + size].view(kind).reshape(shape)
