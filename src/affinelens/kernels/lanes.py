"""Eight float64 numbers at a time in kernels: loaded, combined with + - * /, compared to a mask, and summed.

Lanes are what vector registers hold, so that a kernel says itself what is done side by side. Whether operations may be
reordered is up to the kernel they are used in, as for single numbers. Compiled kernels see the type below; in Python
lanes are arrays of eight numbers. Arrays are C-contiguous, and places in them are counted flat.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import register_model

from affinelens.kernels.intrinsics import ARRAY, natively

LANES = 8
# For each mask of eight bits, the places of its bits one after another, a byte each.
PLACES = np.array(
    [sum(i << 8 * k for k, i in enumerate(i for i in range(8) if mask >> i & 1)) for mask in range(256)],
    dtype=np.uint64,
)
_BIT, _BYTE, _HALF, _WORD, _DOUBLE = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64), ir.DoubleType()
_BITS, _BYTES, _HALVES, _WORDS, _DOUBLES = (ir.VectorType(k, LANES) for k in (_BIT, _BYTE, _HALF, _WORD, _DOUBLE))


class _LanesType(types.Type):
    """The type of eight numbers in compiled kernels."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


_LANES = _LanesType()


@register_model(_LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _DOUBLES)


def _place(builder: Any, array: Any, index: Any, pointee: Any) -> Any:
    """Where an element of an array is, as a pointer to something larger."""
    return builder.bitcast(builder.gep(array, [index]), pointee.as_pointer())


def _loaded(builder: Any, array: Any, index: Any, kind: Any = _DOUBLES, align: int = 8) -> Any:
    return builder.load(_place(builder, array, index, kind), align=align)


def _stored(builder: Any, array: Any, index: Any, value: Any, align: int = 8) -> None:
    builder.store(value, _place(builder, array, index, value.type), align=align)


def _library(builder: Any, name: str, result: Any, *operands: Any, **options: Any) -> Any:
    """Call one of LLVM's own functions."""
    kind = ir.FunctionType(result, [operand.type for operand in operands])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), operands, **options)


def _repeated(builder: Any, number: Any) -> Any:
    kind = ir.VectorType(number.type, LANES)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(_HALF, 0))
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), ir.Constant(_HALVES, None))


def _as_mask(builder: Any, bits: Any) -> Any:
    return builder.zext(builder.bitcast(bits, _BYTE), _WORD)


def _as_bits(builder: Any, mask: Any) -> Any:
    return builder.bitcast(builder.trunc(mask, _BYTE), _BITS)


@natively(_loaded, _LANES, ARRAY, types.intp)
def load(array: Any, index: Any) -> Any:
    """Eight numbers from a place in an array."""
    return array.reshape(-1)[index : index + LANES].copy()


@natively(_stored, types.void, ARRAY, types.intp, _LANES)
def store(array: Any, index: Any, lanes: Any) -> None:
    """Write eight numbers to a place in an array."""
    array.reshape(-1)[index : index + LANES] = lanes


@natively(_repeated, _LANES, types.float64)
def splat(number: Any) -> Any:
    """The same number eight times."""
    return np.full(LANES, number)


@natively(lambda builder, *both: _as_mask(builder, builder.fcmp_ordered(">", *both)), types.int64, _LANES, _LANES)
def above(left: Any, right: Any) -> int:
    """In which lanes the left is greater than the right, as the lowest eight bits of an int64."""
    return _mask_of(left > right)


@natively(
    lambda builder, mask, yes, no: builder.select(_as_bits(builder, mask), yes, no), _LANES, types.int64, _LANES, _LANES
)
def chosen(mask: Any, yes: Any, no: Any) -> Any:
    """One number or another in each lane, as the bits of a mask say."""
    return np.where(_bits_of(mask), yes, no)


@natively(
    lambda builder, lanes: _library(
        builder, "llvm.vector.reduce.fadd.v8f64", _DOUBLE, ir.Constant(_DOUBLE, -0.0), lanes
    ),
    types.float64, _LANES,
)  # fmt: skip
def total(lanes: Any) -> Any:
    """The sum of eight numbers, in any order."""
    return lanes.sum()


@natively(
    lambda builder, lanes: _library(
        builder, "llvm.vector.reduce.fmax.v8f64", _DOUBLE, lanes, fastmath=("nnan", "nsz")
    ),
    types.float64, _LANES,
)  # fmt: skip
def largest(lanes: Any) -> Any:
    """The largest of eight numbers that are not NaN."""
    return lanes.max()


def _compare_shared(builder: Any, word: Any, words: Any, index: Any, least: Any) -> Any:
    shared = builder.and_(_loaded(builder, words, index, _WORDS), _repeated(builder, word))
    counts = _library(builder, "llvm.ctpop.v8i64", _WORDS, shared)
    return _as_mask(builder, builder.icmp_signed(">=", counts, _repeated(builder, least)))


@natively(_compare_shared, types.int64, types.uint64, ARRAY, types.intp, types.int64)
def sharing(word: Any, words: Any, index: Any, least: Any) -> int:
    """Which of eight bit sets from a place in an array share at least a number of bits with a given one."""
    return _mask_of([int(w & word).bit_count() >= least for w in words[index : index + LANES]])


def _store_sums(builder: Any, array: Any, index: Any, places: Any, start: Any) -> None:
    offsets = builder.zext(builder.bitcast(places, _BYTES), _HALVES)
    first = _repeated(builder, builder.trunc(start, _HALF))
    _stored(builder, array, index, builder.add(offsets, first), align=4)


@natively(_store_sums, types.void, ARRAY, types.intp, types.uint64, types.int64)
def store_places(array: Any, index: Any, places: Any, start: Any) -> None:
    """Write eight bytes, plus a number each, to a place in an array of uint32."""
    array[index : index + LANES] = np.array([places]).view(np.uint8) + np.uint32(start)


@natively(
    lambda builder, mask: builder.bitcast(builder.zext(_as_bits(builder, mask), _BYTES), _WORD),
    types.uint64, types.int64,
)  # fmt: skip
def spread(mask: Any) -> Any:
    """Eight bits as eight bytes of 0 or 1."""
    return _bits_of(mask).view(np.uint64)[0]


@natively(partial(_loaded, kind=_WORD, align=1), types.uint64, ARRAY, types.intp)
def load_bytes(array: Any, index: Any) -> Any:
    """Eight bytes from a place in an array of bytes, as one word."""
    return array[index : index + LANES].view(np.uint64)[0]


@natively(partial(_stored, align=1), types.void, ARRAY, types.intp, types.uint64)
def store_bytes(array: Any, index: Any, word: Any) -> None:
    """Write eight bytes to a place in an array of bytes."""
    array[index : index + LANES] = np.array([word]).view(array.dtype)


def _mask_of(bits: Any) -> int:
    return int(np.packbits(bits, bitorder="little")[0])


def _bits_of(mask: Any) -> Any:
    return np.unpackbits(np.array([mask], np.uint8), bitorder="little")


def _combined(name: str, builder: Any, *operands: Any) -> Any:
    """Lanes and lanes, or lanes and one number."""
    return getattr(builder, name)(*(a if a.type == _DOUBLES else _repeated(builder, a) for a in operands))


for _function, _name in (
    (operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv"),
):  # fmt: skip
    for _pair in ((_LANES, _LANES), (_LANES, types.float64), (types.float64, _LANES)):
        natively(partial(_combined, _name), _LANES, *_pair)(_function)
natively(lambda builder, lanes: _library(builder, "llvm.fabs.v8f64", _DOUBLES, lanes), _LANES, _LANES)(abs)
