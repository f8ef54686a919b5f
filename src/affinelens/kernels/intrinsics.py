"""What Numba has no words for: an index that is never negative, and eight bytes at once."""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from affinelens.kernels.lanes import LANES

if nb.config.DISABLE_JIT:

    def index(number: Any) -> Any:
        return number

    def load_bytes(array: Any, place: Any) -> Any:
        return array[place : place + LANES].view(np.uint64)[0]

else:

    @intrinsic
    def index(typing_context: Any, number: Any) -> Any:
        """A number that is known not to be negative, so that indexing by it need not ask whether it is."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.assume(builder.icmp_signed(">=", arguments[0], ir.Constant(arguments[0].type, 0)))
            return arguments[0]

        return types.int64(types.int64), generate

    @intrinsic
    def load_bytes(typing_context: Any, array: Any, place: Any) -> Any:
        """Eight bytes from a place in a contiguous array of bytes, as one word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(array)(context, builder, arguments[0]).data
            word = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(64).as_pointer())
            return builder.load(word, align=1)

        return types.uint64(array, types.intp), generate
