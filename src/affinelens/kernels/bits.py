"""Bit sets in kernels: how many bits, and where the lowest is, as single machine instructions."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.core import types
from numba.extending import intrinsic

ONE = np.uint64(1)
NONE = np.uint64(0)
# Kernels called with a literal are compiled again for it; this one is a plain number.
ZERO: Any = np.int64(0)

if nb.config.DISABLE_JIT:

    def count_bits(word: Any) -> int:
        return int(word).bit_count()

    def lowest_bit(word: Any) -> int:
        return (int(word) & -int(word)).bit_length() - 1

else:

    @intrinsic
    def count_bits(typing_context: Any, word: Any) -> Any:
        """Number of bits set in a uint64, as an int64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate

    @intrinsic
    def lowest_bit(typing_context: Any, word: Any) -> Any:
        """Place of the lowest bit set in a uint64 that is not zero, as an int64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            undefined_for_zero = context.get_constant(types.boolean, True)
            return builder.cttz(arguments[0], undefined_for_zero)

        return types.int64(types.uint64), generate
