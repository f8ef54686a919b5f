"""An ONNX file, read without trusting it and replayed node by node.

Nothing in the file is executed. Tensors are read only when the output needs them, after their declared sizes have been
compared with the bytes that are there, and external data only from the model's own folder. Operators on values that
depend on the input become calls to :class:`GraphBuilder`; those that only rearrange constants are carried out at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.network.canonical import Network
from affinelens.network.graph import GraphBuilder, Shape, Tensor, common_shape, parameter, require_size

try:
    import onnx
    from google.protobuf.message import DecodeError
    from onnx import TensorProto
except ImportError as missing:
    raise MissingExtraError.for_extra("onnx", "onnx", "reading an ONNX file") from missing

Floats = NDArray[np.float64]
Array = NDArray[Any]

# Older operator sets broadcast and normalise by other rules.
_OLDEST_OPSET = 7
_FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
_SIGNED = {TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64}
_UNSIGNED = {TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64, TensorProto.BOOL}
_NUMBERS = _FLOATS | _SIGNED | _UNSIGNED


def network_from_onnx(path: Path) -> Network:
    """Compile the network in an ``.onnx`` file; a batch axis of open size becomes 1."""
    try:
        return _network(_parse(path), path.parent)
    except AffineLensError as error:
        raise error.located(str(path)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise AffineLensError(f"{path}: not a readable ONNX file ({error}); export the model again") from error


def _parse(path: Path) -> onnx.ModelProto:
    model = onnx.ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError as error:
        raise AffineLensError("not a readable ONNX file; export the model again") from error
    if not model.graph.node:
        raise AffineLensError("not a readable ONNX file (it holds no graph); export the model again")
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if not versions or max(versions) < _OLDEST_OPSET:
        raise AffineLensError(
            f"written for operator set {max(versions, default='unknown')}, but only those from {_OLDEST_OPSET} on are "
            f"read; convert the file with onnx.version_converter"
        )
    return model


def _network(model: onnx.ModelProto, folder: Path) -> Network:
    graph = model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    inputs = [entry for entry in graph.input if entry.name not in stored]
    if len(inputs) != 1 or len(graph.output) != 1:
        found = [", ".join(repr(entry.name) for entry in entries) or "none" for entries in (inputs, graph.output)]
        raise AffineLensError(f"the inputs are {found[0]} and the outputs {found[1]}; one of each is read")
    shape = _input_shape(inputs[0])
    batched = len(shape) > 1 and shape[0] == 1
    builder = GraphBuilder(shape[1:] if batched else shape)
    replay = _Replay(builder, stored, folder)
    replay.define(inputs[0].name, builder.input(batched=batched))
    output = graph.output[0].name
    for node in _needed(graph, output):
        replay.run(node)
    return builder.finish(replay.tensor(output))


def _input_shape(entry: onnx.ValueInfoProto) -> Shape:
    kind = entry.type.tensor_type
    if kind.elem_type not in _FLOATS:
        raise AffineLensError(f"input {entry.name!r} holds {_type_name(kind.elem_type)}; a tensor of floats is needed")
    if not kind.shape.dim:
        raise AffineLensError(f"input {entry.name!r} has no shape; export the model with a fixed input shape")
    sizes = [dim.dim_value for dim in kind.shape.dim]
    sizes[0] = max(sizes[0], 1)
    for axis, size in enumerate(sizes):
        if size < 1:
            label = kind.shape.dim[axis].dim_param or "no name"
            raise AffineLensError(
                f"input {entry.name!r} has an open size ({label}) on axis {axis}; only the batch axis 0 may be open, "
                f"so export the model with a fixed input shape"
            )
    return tuple(sizes)


@dataclass(frozen=True, eq=False)
class _Node:
    """An operation: its operator, the names it reads and defines, and its attributes as Python values."""

    operator: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]

    @classmethod
    def read(cls, node: onnx.NodeProto) -> _Node:
        operator = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        name = node.name or next(iter(node.output), "")
        try:
            attributes = {entry.name: onnx.helper.get_attribute_value(entry) for entry in node.attribute}
        except ValueError as error:
            raise AffineLensError(f"node {name!r} ({operator}): an attribute has no readable value") from error
        return cls(operator, name, tuple(node.input), tuple(node.output), attributes)

    def has(self, position: int) -> bool:
        """Whether an optional input is given."""
        return position < len(self.inputs) and self.inputs[position] != ""

    def number(self, attribute: str, default: float) -> Floats:
        """A number among the attributes, which ONNX stores as float32."""
        value = self.attributes.get(attribute, np.float32(default))
        if not isinstance(value, float | np.float32):
            raise AffineLensError(f"attribute {attribute} must be a float")
        return parameter(value, f"attribute {attribute}")

    def integer(self, attribute: str, default: int) -> int:
        value = self.attributes.get(attribute, default)
        if not isinstance(value, int):
            raise AffineLensError(f"attribute {attribute} must be an integer")
        return value

    def integers(self, attribute: str) -> list[int] | None:
        values = self.attributes.get(attribute)
        if values is not None and not (isinstance(values, list) and all(isinstance(value, int) for value in values)):
            raise AffineLensError(f"attribute {attribute} must be a list of integers")
        return values


def _needed(graph: onnx.GraphProto, output: str) -> list[_Node]:
    """The nodes the output is computed from, in the file's order; the rest of the graph does not matter."""
    wanted = {output}
    found = []
    for node in map(_Node.read, reversed(graph.node)):
        if wanted.intersection(node.outputs):
            wanted.update(filter(None, node.inputs))
            found.append(node)
    return found[::-1]


@dataclass(frozen=True, eq=False)
class _Constant:
    """Numbers of the model in their own type, and the initializer they come from."""

    values: Array
    name: str

    @property
    def shape(self) -> Shape:
        return self.values.shape

    def numbers(self) -> Floats:
        """The values as coefficients; numpy knows bfloat16 only through float32, which holds it exactly."""
        known = self.values.astype(np.float32) if self.values.dtype.kind == "V" else self.values
        return parameter(known, self.name)


_Value = Tensor | _Constant


class _Replay:
    """Runs nodes in order; a value is a :class:`Tensor` where it depends on the input, else a constant."""

    def __init__(self, builder: GraphBuilder, stored: dict[str, TensorProto], folder: Path) -> None:
        self._builder = builder
        self._stored = stored
        self._folder = folder
        self._values: dict[str, _Value] = {}

    def define(self, name: str, value: _Value) -> None:
        self._values[name] = value

    def run(self, node: _Node) -> None:
        try:
            if node.operator not in _OPERATORS:
                raise AffineLensError(f"this operator is not read; accepted are {', '.join(sorted(_OPERATORS))}")
            self.define(node.outputs[0], _OPERATORS[node.operator](self, node))
        except AffineLensError as error:
            raise error.located(f"node {node.name!r} ({node.operator})") from error
        except (ValueError, TypeError, OverflowError, MemoryError) as error:
            cause = " ".join(str(error).split())
            raise AffineLensError(f"node {node.name!r} ({node.operator}): does not fit its inputs ({cause})") from error

    def tensor(self, name: str) -> Tensor:
        """A value by name, as a tensor."""
        return self._lifted(self._named(name))

    def _lifted(self, value: _Value) -> Tensor:
        return value if isinstance(value, Tensor) else self._builder.constant(value.numbers())

    def _named(self, name: str) -> _Value:
        if name not in self._values:
            if name not in self._stored:
                raise AffineLensError(f"{name!r} is read, but no earlier node and no initializer defines it")
            label = f"initializer {name!r}"
            self.define(name, _Constant(_read_tensor(self._stored[name], self._folder, label), label))
        return self._values[name]

    def _input(self, node: _Node, position: int) -> _Value:
        if not node.has(position):
            raise AffineLensError(f"input {position} is missing")
        return self._named(node.inputs[position])

    def _tensor(self, node: _Node, position: int) -> Tensor:
        return self._lifted(self._input(node, position))

    def _constant(self, node: _Node, position: int) -> _Constant:
        value = self._input(node, position)
        if isinstance(value, Tensor):
            raise AffineLensError(
                f"{node.inputs[position]!r} depends on the network's input; it must be a constant here"
            )
        return value

    def _array(self, node: _Node, position: int) -> Floats:
        return self._constant(node, position).numbers()

    def _integers(self, node: _Node, position: int) -> list[int]:
        constant = self._constant(node, position)
        if constant.values.dtype.kind not in "iu":
            raise AffineLensError(f"{constant.name} holds {constant.values.dtype}; integers are needed")
        return [int(entry) for entry in constant.values.ravel()]

    def _fold(self, node: _Node, operation: Callable[[Array, Array], Array]) -> _Constant | None:
        """The operation on two constants in the model's own arithmetic, or None where one is not constant."""
        left, right = self._input(node, 0), self._input(node, 1)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return None
        require_size(prod(common_shape(left.shape, right.shape)), "the result")
        with np.errstate(all="ignore"):
            result = operation(left.values, right.values)
        if result.dtype.kind not in "iu":
            self._builder.note(f"{node.name}: constants were combined by {node.operator} in the model's own arithmetic")
        return _Constant(np.asarray(result), f"constant {node.outputs[0]!r}")

    def _add(self, node: _Node) -> _Value:
        folded = self._fold(node, np.add)
        return folded or self._builder.add(self._tensor(node, 0), self._tensor(node, 1))

    def _subtract(self, node: _Node) -> _Value:
        folded = self._fold(node, np.subtract)
        return folded or self._builder.subtract(self._tensor(node, 0), self._tensor(node, 1))

    def _multiply(self, node: _Node) -> _Value:
        tensor, factors = (0, 1) if isinstance(self._input(node, 0), Tensor) else (1, 0)
        folded = self._fold(node, np.multiply)
        return folded or self._builder.scale(self._tensor(node, tensor), self._array(node, factors))

    def _divide(self, node: _Node) -> _Value:
        if isinstance(self._input(node, 0), _Constant) and self._constant(node, 0).values.dtype.kind in "iu":
            raise AffineLensError("a division of integers rounds; store the quotient in the model")
        folded = self._fold(node, np.divide)
        return folded or self._builder.divide(self._tensor(node, 0), self._array(node, 1))

    def _negate(self, node: _Node) -> _Value:
        value = self._input(node, 0)
        if isinstance(value, _Constant):
            return _Constant(-value.values, value.name)
        return self._builder.scale(value, np.array(-1.0))

    def _matmul(self, node: _Node) -> Tensor:
        return self._product(self._input(node, 0), self._input(node, 1))

    def _gemm(self, node: _Node) -> Tensor:
        factors = [self._input(node, position) for position in (0, 1)]
        if any(len(factor.shape) != 2 for factor in factors):
            raise AffineLensError(f"matrices are needed, but the shapes are {factors[0].shape} and {factors[1].shape}")
        left, right = (
            self._transposed(factor, (1, 0)) if node.integer(attribute, 0) else factor
            for factor, attribute in zip(factors, ("transA", "transB"), strict=True)
        )
        product = self._builder.scale(self._product(left, right), node.number("alpha", 1.0))
        if not node.has(2):
            return product
        return self._builder.add(product, self._builder.scale(self._tensor(node, 2), node.number("beta", 1.0)))

    def _product(self, left: _Value, right: _Value) -> Tensor:
        if isinstance(right, _Constant):
            return self._builder.matmul_right(self._lifted(left), right.numbers())
        if isinstance(left, _Constant):
            return self._builder.matmul_left(left.numbers(), right)
        raise AffineLensError("both factors depend on the network's input; one of them must be a constant")

    def _batch_norm(self, node: _Node) -> Tensor:
        if node.integer("training_mode", 0) or sum(map(bool, node.outputs)) > 1:
            raise AffineLensError("batch norm is in training mode; export the model in evaluation mode")
        if not node.integer("spatial", 1):
            raise AffineLensError(
                "batch norm with spatial=0 is not read; export the model with operator set 9 or later"
            )
        gain, shift, mean, variance = (self._array(node, position) for position in (1, 2, 3, 4))
        return self._builder.batch_norm(
            self._tensor(node, 0),
            gain=gain,
            shift=shift,
            mean=mean,
            variance=variance,
            epsilon=float(node.number("epsilon", 1e-5)),
            name=node.name,
        )

    def _relu(self, node: _Node) -> Tensor:
        return self._builder.rectify(self._tensor(node, 0), np.array(0.0), node.name)

    def _leaky_relu(self, node: _Node) -> Tensor:
        return self._builder.rectify(self._tensor(node, 0), node.number("alpha", 0.01), node.name)

    def _prelu(self, node: _Node) -> Tensor:
        return self._builder.rectify(self._tensor(node, 0), self._array(node, 1), node.name)

    def _identity(self, node: _Node) -> _Value:
        return self._input(node, 0)

    def _dropout(self, node: _Node) -> _Value:
        if node.has(2) and self._constant(node, 2).values.any():
            raise AffineLensError("dropout is in training mode; export the model in evaluation mode")
        return self._input(node, 0)

    def _cast(self, node: _Node) -> _Value:
        value, target = self._input(node, 0), node.integer("to", 0)
        if isinstance(value, Tensor):
            if target not in _FLOATS:
                raise AffineLensError(f"a conversion to {_type_name(target)} is not piecewise affine")
            return value
        with np.errstate(all="ignore"):
            converted = value.values.astype(_number_type(target, value.name))
        if not np.array_equal(converted.astype(np.float64), value.values.astype(np.float64)):
            self._builder.note(f"{node.name}: {value.name} was rounded to {converted.dtype}, as the model does")
        return _Constant(converted, value.name)

    def _stored_constant(self, node: _Node) -> _Constant:
        name = f"constant {node.outputs[0]!r}"
        types = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
        for attribute, value in node.attributes.items():
            if attribute == "value" and isinstance(value, TensorProto):
                return _Constant(_read_tensor(value, self._folder, name), name)
            if attribute in types and isinstance(value, float | int | list):
                return _Constant(np.asarray(value, dtype=types[attribute]), name)
        raise AffineLensError(f"holds {', '.join(node.attributes) or 'nothing'}; a dense tensor of numbers is needed")

    def _shape(self, node: _Node) -> _Constant:
        shape = self._input(node, 0).shape
        chosen = shape[node.integer("start", 0) : node.integer("end", len(shape))]
        return _Constant(np.array(chosen, dtype=np.int64), f"constant {node.outputs[0]!r}")

    def _gather(self, node: _Node) -> _Constant:
        source = self._constant(node, 0)
        indices = np.array(self._integers(node, 1), dtype=np.int64).reshape(self._constant(node, 1).shape)
        axis = _axis(node.integer("axis", 0), len(source.shape))
        require_size(indices.size * source.values.size, "the result")
        if indices.size and not -source.shape[axis] <= indices.min() <= indices.max() < source.shape[axis]:
            raise AffineLensError(f"an index lies outside the {source.shape[axis]} entries of axis {axis}")
        return _Constant(np.take(source.values, indices, axis), source.name)

    def _concat(self, node: _Node) -> _Constant:
        parts = [self._constant(node, position) for position in range(len(node.inputs))]
        joined = np.concatenate([part.values for part in parts], node.integer("axis", 0))
        return _Constant(joined, f"constant {node.outputs[0]!r}")

    def _transpose(self, node: _Node) -> _Value:
        value = self._input(node, 0)
        rank = len(value.shape)
        axes = [_axis(axis, rank) for axis in node.integers("perm") or range(rank)[::-1]]
        if sorted(axes) != list(range(rank)):
            raise AffineLensError(f"perm={axes} does not order the axes of a tensor of shape {value.shape}")
        return self._transposed(value, axes)

    def _transposed(self, value: _Value, axes: Sequence[int]) -> _Value:
        if isinstance(value, _Constant):
            return _Constant(value.values.transpose(axes), value.name)
        return self._builder.transpose(value, axes)

    def _flatten(self, node: _Node) -> _Value:
        value, axis = self._input(node, 0), node.integer("axis", 1)
        if abs(axis) > len(value.shape):
            raise AffineLensError(f"axis {axis} does not exist in a tensor of shape {value.shape}")
        return self._with_shape(value, (prod(value.shape[:axis]), prod(value.shape[axis:])))

    def _reshape(self, node: _Node) -> _Value:
        value = self._input(node, 0)
        sizes = self._integers(node, 1)
        if not node.integer("allowzero", 0):
            sizes = [_size_of(value.shape, axis) if size == 0 else size for axis, size in enumerate(sizes)]
        if sizes.count(-1) == 1:
            known = prod(size for size in sizes if size != -1)
            sizes = [prod(value.shape) // max(known, 1) if size == -1 else size for size in sizes]
        return self._with_shape(value, tuple(sizes))

    def _squeeze(self, node: _Node) -> _Value:
        value, given = self._input(node, 0), self._axes(node)
        ones = [axis for axis, size in enumerate(value.shape) if size == 1]
        dropped = ones if given is None else [_axis(axis, len(value.shape)) for axis in given]
        if not set(dropped) <= set(ones):
            raise AffineLensError(f"axes {dropped} of a tensor of shape {value.shape} are not all of size 1")
        return self._with_shape(value, tuple(s for axis, s in enumerate(value.shape) if axis not in dropped))

    def _unsqueeze(self, node: _Node) -> _Value:
        value, given = self._input(node, 0), self._axes(node) or []
        rank = len(value.shape) + len(given)
        added = {_axis(axis, rank) for axis in given}
        if len(added) < len(given):
            raise AffineLensError(f"axes {given} name one axis twice")
        sizes = iter(value.shape)
        return self._with_shape(value, tuple(1 if axis in added else next(sizes) for axis in range(rank)))

    def _axes(self, node: _Node) -> list[int] | None:
        """Axes from an input, as newer operator sets have them, or from an attribute."""
        return self._integers(node, 1) if node.has(1) else node.integers("axes")

    def _with_shape(self, value: _Value, shape: Shape) -> _Value:
        if min(shape, default=0) < 0 or prod(shape) != prod(value.shape):
            raise AffineLensError(f"a tensor of shape {value.shape} cannot be reshaped to {shape}")
        if isinstance(value, Tensor):
            return self._builder.reshape(value, shape)
        return _Constant(value.values.reshape(shape), value.name)


_OPERATORS: dict[str, Callable[[_Replay, _Node], _Value]] = {
    "Add": _Replay._add,
    "BatchNormalization": _Replay._batch_norm,
    "Cast": _Replay._cast,
    "Concat": _Replay._concat,
    "Constant": _Replay._stored_constant,
    "Div": _Replay._divide,
    "Dropout": _Replay._dropout,
    "Flatten": _Replay._flatten,
    "Gather": _Replay._gather,
    "Gemm": _Replay._gemm,
    "Identity": _Replay._identity,
    "LeakyRelu": _Replay._leaky_relu,
    "MatMul": _Replay._matmul,
    "Mul": _Replay._multiply,
    "Neg": _Replay._negate,
    "PRelu": _Replay._prelu,
    "Relu": _Replay._relu,
    "Reshape": _Replay._reshape,
    "Shape": _Replay._shape,
    "Squeeze": _Replay._squeeze,
    "Sub": _Replay._subtract,
    "Transpose": _Replay._transpose,
    "Unsqueeze": _Replay._unsqueeze,
}


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise AffineLensError(f"axis {axis} does not exist in a tensor of {rank} axes")
    return axis % rank


def _size_of(shape: Shape, axis: int) -> int:
    return shape[_axis(axis, len(shape))]


def _type_name(data_type: int) -> str:
    known = data_type in TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(data_type)) if known else f"type {data_type}"


def _number_type(data_type: int, name: str) -> np.dtype[Any]:
    if data_type not in _NUMBERS:
        raise AffineLensError(f"{name} has values of {_type_name(data_type)}; floats and integers are read")
    dtype: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(data_type)
    return dtype


def _read_tensor(tensor: TensorProto, folder: Path, name: str) -> Array:
    """The numbers of a tensor, after checking that as many are stored as its dimensions declare."""
    dtype = _number_type(tensor.data_type, name)
    shape = tuple(tensor.dims)
    if min(shape, default=0) < 0:
        raise AffineLensError(f"{name} declares the negative shape {shape}")
    if tensor.data_location == TensorProto.EXTERNAL:
        data = _external_bytes(tensor, folder, name, prod(shape) * dtype.itemsize)
    elif tensor.HasField("raw_data"):
        data = tensor.raw_data
    else:
        stored = len(getattr(tensor, onnx.helper.tensor_dtype_to_field(tensor.data_type)))
        _require_equal(stored, prod(shape), f"{name} of shape {shape}", "numbers")
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    _require_equal(len(data), prod(shape) * dtype.itemsize, f"{name} of shape {shape}", "bytes")
    return np.frombuffer(data, dtype=dtype.newbyteorder("<")).reshape(shape)


def _require_equal(stored: int, declared: int, name: str, unit: str) -> None:
    if stored != declared:
        raise AffineLensError(f"{name} declares {declared} {unit}, but {stored} are stored; the file is damaged")


def _external_bytes(tensor: TensorProto, folder: Path, name: str, size: int) -> bytes:
    """The tensor's bytes from a file that lies, links followed, in the model's folder."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    file: Path = (folder / entries.get("location", "")).resolve()
    if not file.is_relative_to(folder.resolve()):
        raise AffineLensError(f"{name} refers to {str(file)!r}, outside the model's folder; move it beside the model")
    if not file.is_file():
        raise AffineLensError(f"{name} refers to {str(file)!r}, which is not a file")
    offset, length = int(entries.get("offset", 0)), int(entries.get("length", size))
    _require_equal(length, size, name, "bytes")
    if not 0 <= offset <= file.stat().st_size - size:
        raise AffineLensError(f"{name} lies beyond the end of {str(file)!r}; the file is truncated")
    with file.open("rb") as stream:
        stream.seek(offset)
        return stream.read(size)
