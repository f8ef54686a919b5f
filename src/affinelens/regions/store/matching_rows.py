"""Finding some patterns among very many that stream by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Indices, Words
from affinelens.kernels.compilation import array_entry, array_kernel


class WantedRows:
    """Rows of bytes, no two of them equal, to be found in long tables of such rows.

    A row's hash says where to look for it in a table that is mostly empty, so that a row that is not wanted costs one
    look; what is found there is compared in full.
    """

    def __init__(self, wanted: NDArray[np.uint8]) -> None:
        self._wanted = _words(wanted)
        self._slots = _filled(self._wanted, 1 << (8 * len(wanted)).bit_length())

    def find(self, rows: NDArray[np.uint8], start: int, found: Indices) -> None:
        """Note where rows are that are wanted, where no smaller number is known: the first row is number ``start``."""
        _find(_words(rows), self._wanted, self._slots, start, found)


def _words(rows: NDArray[np.uint8]) -> Words:
    """Rows of bytes as rows of whole words, with zeros behind."""
    missing = -rows.shape[1] % 8
    whole = np.pad(rows, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(rows)
    return whole.view(np.uint64)


@array_kernel
def _hash(row: Any) -> Any:
    code = np.uint64(0)
    for w in range(len(row)):
        code = (code ^ row[w]) * np.uint64(0x9E3779B97F4A7C15)
        code ^= code >> np.uint64(32)
    return code


@array_entry
def _filled(wanted: Any, size: int) -> Any:
    slots = np.full(size, -1, dtype=np.int64)
    last = np.uint64(size - 1)
    for k in range(len(wanted)):
        slot = _hash(wanted[k]) & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = k
    return slots


@array_entry
def _find(rows: Any, wanted: Any, slots: Any, start: int, found: Any) -> Any:
    last = np.uint64(len(slots) - 1)
    for i in range(len(rows)):
        slot = _hash(rows[i]) & last
        while slots[slot] >= 0:
            k = slots[slot]
            differing = 0
            for w in range(rows.shape[1]):
                differing += rows[i, w] != wanted[k, w]
            if differing == 0:
                if found[k] < 0 or start + i < found[k]:
                    found[k] = start + i
                break
            slot = (slot + np.uint64(1)) & last
