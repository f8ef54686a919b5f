"""What the onnx package itself knows of a node: the shapes of its results, and what its reference makes of arrays.

Nothing is carried out before its shape is known and small enough. Operators on constants are carried out in the model's
own arithmetic; those that only move entries show how by moving the positions of a tensor's entries.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_node_outputs

from affinelens.errors import AffineLensError
from affinelens.network.build.operators import reshaped
from affinelens.network.build.positions import Positions
from affinelens.network.build.shapes import Shape, require_size
from affinelens.network.build.values import Array, Constant, Value
from affinelens.network.note import Note, NoteKind, combined
from affinelens.network.onnx.model_file import TensorProto, number_type, onnx
from affinelens.network.onnx.node_call import NodeCall

# Operators on constants that compute new numbers, those that make constants, and those that measure a tensor.
_COMPUTES = {
    "Abs", "Add", "And", "Ceil", "Div", "Equal", "Exp", "Floor", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
    "Log", "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Pow", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "Round", "Sign", "Sqrt", "Sub", "Sum", "Where", "Xor",
}  # fmt: skip
_MAKES = {"Cast", "Concat", "ConstantOfShape", "NonZero", "OneHot", "Range", "Unique"}
MEASURES = {"EyeLike", "IsInf", "IsNaN", "Shape", "Size"}
# Operators that keep the entries and their order, and those each of whose entries is one of their inputs' or zero.
RESHAPES = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"}
MOVES = {
    "CenterCropPad", "Compress", "DepthToSpace", "Expand", "Gather", "GatherElements", "GatherND", "ReverseSequence",
    "ScatterElements", "ScatterND", "Slice", "SpaceToDepth", "Split", "Tile", "Transpose", "Trilu",
}  # fmt: skip
_KEEPS = RESHAPES | MOVES | {"Cast"}
# Constants of more entries than this are not shapes or ranges, on which a shape may depend.
_LONGEST_SHAPE = 1 << 10


def fold(call: NodeCall) -> Constant | list[Constant] | None:
    """What a node makes of its constants, or None where the operator is not one that is carried out here."""
    operator = call.node.operator
    if operator not in _COMPUTES | _MAKES | MEASURES | _KEEPS:
        return None
    constants = {place: call.constant(place) for place in call.given()}
    name = call.constant(0).name if operator in _KEEPS else f"constant {call.node.outputs[0]!r}"
    results = _carried_out(call, {place: constant.values for place, constant in constants.items()})
    if operator in _COMPUTES and results[0].dtype.kind not in "iub":
        call.builder.note(combined(call.name, operator))
    if operator == "Cast" and not _equal(results[0], constants[0].values):
        text = f"{name} was rounded to {results[0].dtype}, as the model does"
        call.builder.note(Note(NoteKind.ROUNDED, text, call.name))
    return [Constant(result, name) for result in results]


def _equal(left: Array, right: Array) -> bool:
    return np.array_equal(left.astype(np.float64), right.astype(np.float64))


def measured(call: NodeCall) -> list[Constant]:
    """A constant that depends on the shape of a tensor, and not on which real numbers it holds."""
    placeholder = np.broadcast_to(np.float32(0), call.value(0).shape)
    return [Constant(result, f"constant {call.node.outputs[0]!r}") for result in _carried_out(call, {0: placeholder})]


def same_entries(call: NodeCall) -> Value:
    """The value in its new shape."""
    return reshaped(call.builder, call.value(0), result_shape(call))


def result_shape(call: NodeCall) -> Shape:
    """The shape of the (first) result, where that does not depend on values."""
    shape = _shapes(call)[0]
    if shape is None:
        raise AffineLensError("the shape of the result depends on the network's input; it must be constant")
    return shape


def moved(call: NodeCall) -> list[Value]:
    """What the operator makes of its tensors by moving entries."""
    schema = _schema(call)
    positions = Positions(call.builder)
    arrays = {
        place: positions.of(call.value(place))
        if schema.inputs[place].type_str == schema.outputs[0].type_str
        else call.constant(place).values
        for place in call.given()
    }
    return [positions.moved(result) for result in _carried_out(call, arrays)]


def _schema(call: NodeCall) -> Any:
    if not onnx.defs.has(call.node.operator, call.opset, ""):
        raise AffineLensError(f"operator set {call.opset}, which the file is written for, has no such operator")
    return onnx.defs.get_schema(call.node.operator, call.opset, "")


def _opset(call: NodeCall) -> Any:
    return onnx.helper.make_opsetid("", call.opset)


def _alone(call: NodeCall) -> onnx.NodeProto:
    """The node without the names that the file gives to what it reads and makes."""
    proto = onnx.NodeProto()
    proto.CopyFrom(call.node.proto)
    proto.ClearField("domain")
    proto.input[:] = [f"input {place}" if name else "" for place, name in enumerate(call.node.inputs)]
    proto.output[:] = [f"output {place}" for place in range(len(call.node.outputs))]
    return proto


def _shapes(call: NodeCall) -> list[Shape | None]:
    """The shapes of the results, None where they depend on values."""
    proto = _alone(call)
    types, data = {}, {}
    for place in call.given():
        value, name = call.value(place), proto.input[place]
        kind = TensorProto.FLOAT
        if isinstance(value, Constant):
            kind = onnx.helper.np_dtype_to_tensor_dtype(value.values.dtype)
            if value.values.size <= _LONGEST_SHAPE:
                data[name] = onnx.numpy_helper.from_array(value.values)
        types[name] = onnx.helper.make_tensor_type_proto(kind, value.shape)
    try:
        inferred = infer_node_outputs(_schema(call), proto, types, data, opset_imports=[_opset(call)])
    except Exception as error:  # onnx has many kinds
        raise ValueError(str(error).rpartition("Error] ")[2]) from None
    shapes: list[Shape | None] = []
    for name in proto.output:
        found = inferred[name].tensor_type
        number_type(found.elem_type, f"result {name}")
        known = found.HasField("shape") and all(size.HasField("dim_value") for size in found.shape.dim)
        shapes.append(tuple(size.dim_value for size in found.shape.dim) if known else None)
    return shapes


def _carried_out(call: NodeCall, arrays: Mapping[int, Array]) -> list[Array]:
    """What the operator makes of arrays, by the places of its inputs, once they are known to be small enough."""
    shapes, proto = _shapes(call), _alone(call)
    for shape in shapes:
        require_size(prod(shape or ()), f"a result of shape {shape}")
    if any(tensor.data_location == TensorProto.EXTERNAL for tensor in call.node.tensors()):
        raise AffineLensError("an attribute is stored in another file, which is read of the operator Constant alone")
    run = {"GatherElements": _gathered_elements, "Slice": _sliced}.get(call.node.operator, _referred)
    results = [np.asarray(result) for result in run(call, proto, arrays)]
    if any(shape not in (None, result.shape) for shape, result in zip(shapes, results, strict=True)):
        raise AffineLensError("onnx contradicts itself on the shape of the result; install a newer onnx package")
    return results


def _referred(call: NodeCall, proto: onnx.NodeProto, arrays: Mapping[int, Array]) -> list[Any]:
    """What onnx's reference makes of arrays."""
    function = onnx.helper.make_function("", "node", proto.input, proto.output, [proto], [_opset(call)])
    inputs = {proto.input[place]: array for place, array in arrays.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results: list[Any] = ReferenceEvaluator(function).run(None, inputs, {})
    except Exception as error:  # the reference does not look at what it gets
        raise ValueError(str(error)) from None
    return results


def _sliced(call: NodeCall, proto: onnx.NodeProto, arrays: Mapping[int, Array]) -> list[Any]:
    """Slice, whose starts are cut off at the ends before it steps; the reference lets numpy do otherwise."""
    data, starts, ends = arrays[0], call.listed(1, "starts") or [], call.listed(2, "ends") or []
    axes = call.listed(3, "axes") or range(len(starts))
    steps = (call.integers(4) if call.has(4) else []) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = data.shape[axis]
        least, most = (0, size) if step > 0 else (-1, size - 1)
        first = min(max(start + size * (start < 0), 0), most)
        last = min(max(end + size * (end < 0), least), most)
        data = np.take(data, np.arange(first, last, step), axis)
    return [data]


def _gathered_elements(call: NodeCall, proto: onnx.NodeProto, arrays: Mapping[int, Array]) -> list[Any]:
    """GatherElements, whose indices may be for some of the places along other axes; the reference wants all of them."""
    data, indices = arrays[0], arrays[1]
    axis = call.axis(0, data.ndim)
    if indices.ndim != data.ndim or any(
        most < some for k, (most, some) in enumerate(zip(data.shape, indices.shape, strict=True)) if k != axis
    ):
        raise AffineLensError(f"indices of shape {indices.shape} do not fit a tensor of shape {data.shape}")
    some = tuple(slice(None) if k == axis else slice(size) for k, size in enumerate(indices.shape))
    return [np.take_along_axis(data[some], indices, axis)]
