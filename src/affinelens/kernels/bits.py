"""Bit sets in kernels: how many bits, and where the lowest is, as single machine instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from affinelens.kernels.intrinsics import natively

ONE = np.uint64(1)
NONE = np.uint64(0)
# Kernels called with a literal are compiled again for it; this one is a plain number.
ZERO: Any = np.int64(0)
_UNDEFINED_FOR_ZERO = ir.Constant(ir.IntType(1), True)


@natively(lambda builder, word: builder.ctpop(word), types.int64, types.uint64)
def count_bits(word: Any) -> int:
    """Number of bits set in a uint64, as an int64."""
    return int(word).bit_count()


@natively(lambda builder, word: builder.cttz(word, _UNDEFINED_FOR_ZERO), types.int64, types.uint64)
def lowest_bit(word: Any) -> int:
    """Place of the lowest bit set in a uint64 that is not zero, as an int64."""
    return (int(word) & -int(word)).bit_length() - 1
