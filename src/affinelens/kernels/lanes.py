"""Eight float64 numbers at a time in kernels: loaded, combined with + - * /, compared to a mask, and summed.

Lanes are what vector registers hold, so that a kernel says itself what is done side by side. Whether operations may be
reordered is up to the kernel they are used in, as for single numbers. Compiled kernels see the type below; in the
interpreter (``NUMBA_DISABLE_JIT=1``) lanes are arrays of eight numbers.
"""

from __future__ import annotations

import operator
from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typing import signature as typing_signature
from numba.core.typing.templates import ConcreteTemplate, infer_global
from numba.extending import intrinsic, lower_builtin, register_model

LANES = 8
# For each mask of eight bits, the places of its bits one after another, a byte each.
PLACES = np.array(
    [sum(i << 8 * k for k, i in enumerate(i for i in range(8) if mask >> i & 1)) for mask in range(256)],
    dtype=np.uint64,
)

if nb.config.DISABLE_JIT:

    def load(array: Any, index: Any) -> Any:
        return array.reshape(-1)[index : index + LANES].copy()

    def store(array: Any, index: Any, lanes: Any) -> None:
        array.reshape(-1)[index : index + LANES] = lanes

    def splat(number: Any) -> Any:
        return np.full(LANES, number)

    def above(left: Any, right: Any) -> int:
        return int(np.packbits(left > right, bitorder="little")[0])

    def chosen(mask: Any, yes: Any, no: Any) -> Any:
        return np.where(np.unpackbits(np.array([mask], np.uint8), bitorder="little"), yes, no)

    def total(lanes: Any) -> Any:
        return lanes.sum()

    def largest(lanes: Any) -> Any:
        return lanes.max()

    def sharing(word: Any, words: Any, index: Any, least: Any) -> int:
        counts = [int(w & word).bit_count() >= least for w in words[index : index + LANES]]
        return int(np.packbits(counts, bitorder="little")[0])

    def store_places(array: Any, index: Any, places: Any, start: Any) -> None:
        array[index : index + LANES] = np.array([places]).view(np.uint8) + np.uint32(start)

    def spread(mask: Any) -> Any:
        return np.unpackbits(np.array([mask], np.uint8), bitorder="little").view(np.uint64)[0]

    def store_bytes(array: Any, index: Any, word: Any) -> None:
        array[index : index + LANES] = np.array([word]).view(array.dtype)

else:
    _double, _word = ir.DoubleType(), ir.IntType(64)
    _vector = ir.VectorType(_double, LANES)

    class LanesType(types.Type):
        """The type of eight numbers in compiled kernels."""

        def __init__(self) -> None:
            super().__init__(name="Lanes")

    lanes_type = LanesType()

    @register_model(LanesType)
    class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, _vector)

    def _place(context: Any, builder: Any, kind: Any, arguments: Any, pointee: Any) -> Any:
        """Where an element of a C-contiguous array is, given both, as a pointer to something larger."""
        data = context.make_array(kind)(context, builder, arguments[0]).data
        return builder.bitcast(builder.gep(data, [arguments[1]]), pointee.as_pointer())

    def _native(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
        return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)

    def _repeated(builder: Any, kind: Any, number: Any) -> Any:
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), None)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), zeros)

    def _splat(builder: Any, number: Any) -> Any:
        return _repeated(builder, _vector, number)

    def _mask(builder: Any, bits: Any) -> Any:
        return builder.zext(builder.bitcast(bits, ir.IntType(LANES)), _word)

    @intrinsic
    def load(typing_context: Any, array: Any, index: Any) -> Any:
        """Eight numbers from a place in a contiguous array, counted flat."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, array, arguments, _vector), align=8)

        return lanes_type(array, types.intp), generate

    @intrinsic
    def store(typing_context: Any, array: Any, index: Any, lanes: Any) -> Any:
        """Write eight numbers to a place in a contiguous array, counted flat."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], _place(context, builder, array, arguments, _vector), align=8)
            return context.get_dummy_value()

        return types.void(array, types.intp, lanes_type), generate

    @intrinsic
    def splat(typing_context: Any, number: Any) -> Any:
        """The same number eight times."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _splat(builder, arguments[0])

        return lanes_type(types.float64), generate

    @intrinsic
    def above(typing_context: Any, left: Any, right: Any) -> Any:
        """In which lanes the left is greater than the right, as the lowest eight bits of an int64."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _mask(builder, builder.fcmp_ordered(">", *arguments))

        return types.int64(lanes_type, lanes_type), generate

    @intrinsic
    def chosen(typing_context: Any, mask: Any, yes: Any, no: Any) -> Any:
        """One number or another in each lane, as the bits of a mask say."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bits = builder.bitcast(builder.trunc(arguments[0], ir.IntType(LANES)), ir.VectorType(ir.IntType(1), LANES))
            return builder.select(bits, arguments[1], arguments[2])

        return lanes_type(types.int64, lanes_type, lanes_type), generate

    @intrinsic
    def total(typing_context: Any, lanes: Any) -> Any:
        """The sum of eight numbers, in any order."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            function = _native(builder, "llvm.vector.reduce.fadd.v8f64", _double, _double, _vector)
            return builder.call(function, [ir.Constant(_double, -0.0), arguments[0]])

        return types.float64(lanes_type), generate

    @intrinsic
    def largest(typing_context: Any, lanes: Any) -> Any:
        """The largest of eight numbers that are not NaN."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            function = _native(builder, "llvm.vector.reduce.fmax.v8f64", _double, _vector)
            return builder.call(function, [arguments[0]], fastmath=("nnan", "nsz"))

        return types.float64(lanes_type), generate

    @intrinsic
    def sharing(typing_context: Any, word: Any, words: Any, index: Any, least: Any) -> Any:
        """Which of eight bit sets from a place in an array share at least a number of bits with a given one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(_word, LANES)
            found = builder.load(_place(context, builder, words, arguments[1:], kind), align=8)
            count = _native(builder, "llvm.ctpop.v8i64", kind, kind)
            counts = builder.call(count, [builder.and_(found, _repeated(builder, kind, arguments[0]))])
            return _mask(builder, builder.icmp_signed(">=", counts, _repeated(builder, kind, arguments[3])))

        return types.int64(types.uint64, words, types.intp, types.int64), generate

    @intrinsic
    def store_places(typing_context: Any, array: Any, index: Any, places: Any, start: Any) -> Any:
        """Write eight bytes, plus a number each, to a place in an array of uint32."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.IntType(32), LANES)
            offsets = builder.zext(builder.bitcast(arguments[2], ir.VectorType(ir.IntType(8), LANES)), kind)
            first = _repeated(builder, kind, builder.trunc(arguments[3], ir.IntType(32)))
            place = _place(context, builder, array, arguments, kind)
            builder.store(builder.add(offsets, first), place, align=4)
            return context.get_dummy_value()

        return types.void(array, types.intp, types.uint64, types.int64), generate

    @intrinsic
    def spread(typing_context: Any, mask: Any) -> Any:
        """Eight bits as eight bytes of 0 or 1."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bits = builder.bitcast(builder.trunc(arguments[0], ir.IntType(LANES)), ir.VectorType(ir.IntType(1), LANES))
            return builder.bitcast(builder.zext(bits, ir.VectorType(ir.IntType(8), LANES)), _word)

        return types.uint64(types.int64), generate

    @intrinsic
    def store_bytes(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
        """Write eight bytes to a place in an array of bytes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], _place(context, builder, array, arguments, _word), align=1)
            return context.get_dummy_value()

        return types.void(array, types.intp, types.uint64), generate

    def _define(function: Any, build: str) -> None:
        """Let an operator of two numbers also take lanes, and lanes with one number."""
        pairs = (lanes_type, lanes_type), (lanes_type, types.float64), (types.float64, lanes_type)

        @infer_global(function)
        class LanesTemplate(ConcreteTemplate):  # type: ignore[misc]
            cases = [typing_signature(lanes_type, *pair) for pair in pairs]  # noqa: RUF012

        def lower(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = zip(arguments, signature.args, strict=True)
            operands = [a if kind == lanes_type else _splat(builder, a) for a, kind in kinds]
            return getattr(builder, build)(*operands)

        for pair in pairs:
            lower_builtin(function, *pair)(lower)

    for _function, _build in (
        (operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv"),
    ):  # fmt: skip
        _define(_function, _build)

    @infer_global(abs)
    class _AbsoluteTemplate(ConcreteTemplate):  # type: ignore[misc]
        cases = [typing_signature(lanes_type, lanes_type)]  # noqa: RUF012

    @lower_builtin(abs, lanes_type)
    def _absolute(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.call(_native(builder, "llvm.fabs.v8f64", _vector, _vector), arguments)
