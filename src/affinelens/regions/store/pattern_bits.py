"""Patterns as bits: as many for each choice as the network's pieces need, one after another."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Patterns
from affinelens.network import Network

# The column of files that has patterns like this.
PATTERN_BITS = "pattern_bits"


def bits_for(network: Network) -> int:
    """How many bits a choice takes: one, unless some choice of the network has more than two pieces."""
    return max(1, (int(network.choice_pieces.max(initial=1)) - 1).bit_length())


def bytes_for(choices: int, bits: int) -> int:
    """How many bytes the pattern of a region takes."""
    return -(-choices * bits // 8)


def packed(patterns: Patterns, bits: int) -> NDArray[np.uint8]:
    """Patterns as bytes, a row each; the lowest bit of the first choice is the lowest of the first byte."""
    planes = patterns.astype(np.uint8, copy=False)
    if bits > 1:
        shifted = np.right_shift(patterns[:, :, None], np.arange(bits, dtype=patterns.dtype))
        planes = (shifted & 1).astype(np.uint8).reshape(len(patterns), patterns.shape[1] * bits)
    return np.packbits(planes, axis=1, bitorder="little")


def unpacked(rows: NDArray[np.uint8], choices: int, bits: int, kind: np.dtype[np.unsignedinteger]) -> Patterns:
    """What was packed."""
    planes = np.unpackbits(rows, axis=1, count=choices * bits, bitorder="little")
    if bits == 1:
        return planes.astype(kind, copy=False)
    weights = np.left_shift(1, np.arange(bits)).astype(kind)
    found: Patterns = (planes.reshape(len(rows), choices, bits) * weights).sum(axis=2, dtype=kind)
    return found
