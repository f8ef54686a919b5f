"""Operators on constants alone, carried out in the model's own arithmetic after their sizes have been checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import prod

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.shapes import Shape, common_shape, require_size
from affinelens.network.build.values import Array, Constant, Value
from affinelens.network.note import Note, NoteKind, combined
from affinelens.network.onnx.model_file import TensorProto, number_type, read_tensor
from affinelens.network.onnx.node_call import NodeCall


def fold(call: NodeCall) -> Constant | None:
    """What the node makes of its constants, or None where the operator is not one that is carried out here."""
    operator = call.node.operator
    if operator in _FOLDED:
        return _FOLDED[operator](call)
    if operator in _ELEMENTWISE:
        return _noted(call, _elementwise(call, _ELEMENTWISE[operator]))
    if operator in _REDUCTIONS:
        return _noted(call, _reduced(call, _REDUCTIONS[operator]))
    return None


def _noted(call: NodeCall, values: Array) -> Constant:
    if values.dtype.kind not in "iub":
        call.builder.note(combined(call.name, call.node.operator))
    return call.made(values)


def _elementwise(call: NodeCall, operation: Callable[..., Array]) -> Array:
    arrays = [call.constant(position).values for position in range(len(call.node.inputs))]
    shape: Shape = ()
    for array in arrays:
        shape = common_shape(shape, array.shape)
    require_size(prod(shape), "the result")
    with np.errstate(all="ignore"):
        if operation in _VARIADIC:
            return np.asarray(reduce(operation, arrays))
        return np.asarray(operation(*arrays))


def _quotient(left: Array, right: Array) -> Array:
    """Division, which drops the remainder between integers."""
    if left.dtype.kind not in "iu":
        return np.divide(left, right)
    if not right.all():
        raise AffineLensError("an integer is divided by 0")
    return np.asarray(np.sign(left) * np.sign(right) * (np.abs(left) // np.abs(right))).astype(left.dtype)


def _remainder(left: Array, right: Array) -> Array:
    if not right.all():
        raise AffineLensError("a remainder by 0 is asked for")
    return np.mod(left, right)


_ELEMENTWISE: dict[str, Callable[..., Array]] = {
    "Abs": np.abs,
    "Add": np.add,
    "And": np.logical_and,
    "Ceil": np.ceil,
    "Div": _quotient,
    "Equal": np.equal,
    "Exp": np.exp,
    "Floor": np.floor,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Log": np.log,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mod": _remainder,
    "Mul": np.multiply,
    "Neg": np.negative,
    "Not": np.logical_not,
    "Or": np.logical_or,
    "Pow": lambda base, exponent: np.power(base, exponent).astype(base.dtype),
    "Reciprocal": np.reciprocal,
    "Round": np.rint,
    "Sign": np.sign,
    "Sqrt": np.sqrt,
    "Sub": np.subtract,
    "Sum": np.add,
    "Where": np.where,
}
_VARIADIC = {np.add, np.maximum, np.minimum}

_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "ReduceMax": np.max,
    "ReduceMean": np.mean,
    "ReduceMin": np.min,
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
}


def _reduced(call: NodeCall, operation: Callable[..., Array]) -> Array:
    values = call.constant(0).values
    axes = call.reduced_axes()
    if axes is None:
        return values
    kept = operation(values, axis=tuple(axes), keepdims=bool(call.node.integer("keepdims", 1)))
    return np.asarray(kept).astype(values.dtype)


def _filled(call: NodeCall) -> Constant:
    """ConstantOfShape: a tensor of one number, of a shape that is itself a constant."""
    shape = tuple(call.integers(0))
    if min(shape, default=0) < 0:
        raise AffineLensError(f"declares the negative shape {shape}")
    require_size(prod(shape), f"a tensor of shape {shape}")
    value = call.node.attributes.get("value")
    number = np.zeros(1, np.float32)
    if isinstance(value, TensorProto):
        number = read_tensor(value, call.replay.folder, "attribute value").ravel()
    if len(number) != 1:
        raise AffineLensError(f"attribute value holds {len(number)} numbers; one is needed")
    return call.made(np.full(shape, number[0]))


def _range(call: NodeCall) -> Constant:
    start, limit, step = (call.constant(position).values for position in range(3))
    if start.size * limit.size * step.size != 1 or step.item() == 0:
        raise AffineLensError("start, limit and step must be single numbers, and the step not 0")
    count = max(int(np.ceil((limit.item() - start.item()) / step.item())), 0)
    require_size(count, f"a range of {count} numbers")
    return call.made((start.item() + np.arange(count) * step.item()).astype(start.dtype))


def _cast(call: NodeCall) -> Constant:
    value = call.constant(0)
    with np.errstate(all="ignore"):
        converted = value.values.astype(number_type(call.node.integer("to", 0), value.name))
    if not np.array_equal(converted.astype(np.float64), value.values.astype(np.float64)):
        text = f"{value.name} was rounded to {converted.dtype}, as the model does"
        call.builder.note(Note(NoteKind.ROUNDED, text, call.name))
    return Constant(converted, value.name)


def _concatenated(call: NodeCall) -> Constant:
    parts = [call.constant(position).values for position in range(len(call.node.inputs))]
    require_size(sum(part.size for part in parts), "the result")
    return call.made(np.concatenate(parts, call.axis(1, parts[0].ndim)))


_FOLDED: dict[str, Callable[[NodeCall], Constant]] = {
    "Cast": _cast,
    "Concat": _concatenated,
    "ConstantOfShape": _filled,
    "Range": _range,
}


def stored(call: NodeCall) -> Value:
    """A tensor or numbers among a Constant node's attributes."""
    types = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    for attribute, value in call.node.attributes.items():
        if attribute == "value" and isinstance(value, TensorProto):
            name = f"constant {call.node.outputs[0]!r}"
            return call.made(read_tensor(value, call.replay.folder, name))
        if attribute in types and isinstance(value, float | int | list):
            return call.made(np.asarray(value, dtype=types[attribute]))
    raise AffineLensError(f"holds {', '.join(call.node.attributes) or 'nothing'}; a dense tensor of numbers is needed")


def shape_of(call: NodeCall) -> Value:
    shape = call.value(0).shape
    return call.made(np.array(shape[call.node.integer("start", 0) : call.node.integer("end", len(shape))], np.int64))


def size_of(call: NodeCall) -> Value:
    return call.made(np.array(prod(call.value(0).shape), dtype=np.int64))
