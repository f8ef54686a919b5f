"""Functions that are a few machine instructions in kernels, for what Numba has no words for, and Python elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin

Function = TypeVar("Function", bound=Callable[..., Any])

# The type of an argument that is any C-contiguous array.
ARRAY: Any = types.Array


def natively(build: Callable[..., Any], result: Any, *kinds: Any) -> Callable[[Function], Function]:
    """Let kernels have the instructions that ``build`` writes in place of a function of arguments of these types.

    It is given LLVM's builder and the operands; of an array that is a pointer to where its data begin.
    """

    def declare(function: Function) -> Function:
        class Template(AbstractTemplate):  # type: ignore[misc]
            key = function

            def generic(self, given: Any, _: Any) -> Any:
                if len(given) != len(kinds) or not all(map(self.fits, given, kinds)):
                    return None
                return signature(result, *(a if kind is ARRAY else kind for a, kind in zip(given, kinds, strict=True)))

            def fits(self, given: Any, kind: Any) -> bool:
                if kind is ARRAY:
                    return isinstance(given, ARRAY)
                return self.context.can_convert(given, kind) is not None

        infer_global(function, types.Function(Template))

        @lower_builtin(function, *kinds)
        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            operands = [
                context.make_array(kind)(context, builder, a).data if isinstance(kind, ARRAY) else a
                for a, kind in zip(arguments, signature.args, strict=True)
            ]
            made = build(builder, *operands)
            return context.get_dummy_value() if made is None else made

        return function

    return declare


def _known_not_negative(builder: Any, number: Any) -> Any:
    builder.assume(builder.icmp_signed(">=", number, ir.Constant(number.type, 0)))
    return number


@natively(_known_not_negative, types.int64, types.int64)
def index(number: Any) -> Any:
    """A number that is known not to be negative, so that indexing by it need not ask whether it is."""
    return number


def _known_to_be_rare(builder: Any, condition: Any) -> Any:
    bit = ir.IntType(1)
    expected = builder.module.declare_intrinsic("llvm.expect", [bit], ir.FunctionType(bit, [bit, bit]))
    return builder.call(expected, [condition, bit(0)])


@natively(_known_to_be_rare, types.boolean, types.boolean)
def rarely(condition: Any) -> Any:
    """A condition that hardly ever holds: what is done then is kept out of the way of all else."""
    return condition
