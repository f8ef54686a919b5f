"""Finding patterns among many: a hash table of rows, in which what is found is always compared in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.array_types import Indices, Patterns
from affinelens.kernels.compilation import array_entry
from affinelens.network import Network
from affinelens.regions.keeping import kept

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


class PatternIndex:
    """The rows of a matrix of patterns, each piece below ``pieces``; of equal rows the first is found.

    A row's hash is the exclusive or of a random number for each of its entries, so that of a row with one entry changed
    follows at once.
    """

    def __init__(self, patterns: Patterns, pieces: int) -> None:
        self._patterns = patterns
        generator = np.random.default_rng(0)
        self._codes = generator.integers(0, 2**63, size=(patterns.shape[1], pieces), dtype=np.uint64)
        self._hashes = _hashed(patterns, self._codes)
        self._slots = _filled(self._hashes, 1 << (2 * len(patterns)).bit_length())

    def with_one_changed(self, rows: Indices, columns: Indices, pieces: Indices) -> Indices:
        """Where there is a pattern like one of the rows but for one entry, or -1."""
        return self._found(self._patterns, self._hashes, rows, columns, pieces)

    def places(self, patterns: Patterns) -> Indices:
        """Where each of the given patterns is, or -1."""
        rows = np.arange(len(patterns))
        unchanged = np.full(len(patterns), -1)
        return self._found(patterns, _hashed(patterns, self._codes), rows, unchanged, unchanged)

    def _found(self, wanted: Patterns, hashes: Any, rows: Indices, columns: Indices, pieces: Indices) -> Indices:
        own = self._patterns, self._codes, self._hashes, self._slots
        found: Indices = _find(*own, wanted, hashes, rows, columns, pieces)
        return found


def most_pieces(network: Network) -> int:
    """How many pieces a choice of the network has at most."""
    return int(network.choice_pieces.max(initial=1))


@kept
def pattern_index(regions: Regions) -> PatternIndex:
    """The patterns of a set's regions, of the choices :attr:`Regions.switching`, to be looked up."""
    return PatternIndex(np.asarray(regions.switching_patterns), most_pieces(regions.network))


@array_entry
def _hashed(patterns: Any, codes: Any) -> Any:
    hashes = np.zeros(len(patterns), dtype=np.uint64)
    for i in range(len(patterns)):
        total = np.uint64(0)
        for c in range(patterns.shape[1]):
            total ^= codes[c, patterns[i, c]]
        hashes[i] = total
    return hashes


@array_entry
def _filled(hashes: Any, size: int) -> Any:
    slots = np.full(size, -1, dtype=np.int64)
    last = np.uint64(size - 1)
    for i in range(len(hashes)):
        slot = hashes[i] & last
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & last
        slots[slot] = i
    return slots


@array_entry
def _find(
    patterns: Any, codes: Any, hashes: Any, slots: Any, wanted: Any, wanted_hashes: Any,
    rows: Any, columns: Any, pieces: Any,
) -> Any:  # fmt: skip
    """Where the wanted rows are, with the piece in one column changed; a column of -1 leaves a row as it is."""
    places = np.full(len(rows), -1, dtype=np.int64)
    last = np.uint64(len(slots) - 1)
    for k in range(len(rows)):
        row, column, piece = rows[k], columns[k], pieces[k]
        target, changes = wanted_hashes[row], 0
        if column >= 0:
            if piece < 0 or piece >= codes.shape[1]:
                continue
            target ^= codes[column, wanted[row, column]] ^ codes[column, piece]
            changes = int(wanted[row, column] != piece)
        slot = target & last
        while slots[slot] >= 0:
            found = slots[slot]
            if hashes[found] == target and (column < 0 or patterns[found, column] == piece):
                differing = 0
                for c in range(patterns.shape[1]):
                    differing += patterns[found, c] != wanted[row, c]
                if differing == changes:
                    places[k] = found
                    break
            slot = (slot + np.uint64(1)) & last
    return places
