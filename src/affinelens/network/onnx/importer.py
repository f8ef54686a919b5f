"""An ONNX file, replayed node by node up to its output or the place that ``until`` names.

Operators on values that depend on the input become calls to :class:`GraphBuilder`; those that only rearrange or combine
constants are carried out at once. Nothing in the file is executed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError, Option
from affinelens.network.build.builder import GraphBuilder
from affinelens.network.build.graph import listed, names_like, needed, require_known, require_one_input, tail_of
from affinelens.network.build.shapes import Shape, checked_shape
from affinelens.network.build.values import Constant, lifted
from affinelens.network.canonical import Network
from affinelens.network.note import rounded_input
from affinelens.network.onnx.model_file import FLOATS, Node, number_type, onnx, read_model, read_opset, type_name
from affinelens.network.onnx.node_call import NodeCall, NodeReplay
from affinelens.network.onnx.node_table import OPERATORS, PASSIVE


def network_from_onnx(
    source: Path | onnx.ModelProto,
    input_shape: Sequence[int] | None = None,
    *,
    until: str | None = None,
    fixed: Mapping[str, Any] | None = None,
) -> Network:
    """Compile the network in an ``.onnx`` or ``.onnx.gz`` file or in a loaded model; an open batch size becomes 1."""
    in_file = isinstance(source, Path)
    place = str(source) if in_file else "the ONNX model"
    try:
        model = read_model(source) if in_file else source
        return _network(model, source.parent if in_file else None, input_shape, until, fixed or {})
    except AffineLensError as error:
        raise error.located(place) from None
    except (OSError, UnicodeDecodeError) as error:
        raise AffineLensError(f"{place}: not a readable ONNX file ({error}); export the model again") from None


def _network(
    model: onnx.ModelProto,
    folder: Path | None,
    input_shape: Sequence[int] | None,
    until: str | None,
    fixed: Mapping[str, Any],
) -> Network:
    opset, graph = read_opset(model), model.graph
    stored = {tensor.name: tensor for tensor in graph.initializer}
    nodes = [Node.read(node) for node in graph.node]
    output = _output(graph, nodes) if until is None else _named_output(nodes, until)
    nodes = needed(nodes, output)
    inputs = {entry.name: entry for entry in graph.input if entry.name not in stored}
    name = _input_name(inputs, nodes, output, fixed)
    shape = _input_shape(inputs[name], input_shape)
    batched = len(shape) > 1 and shape[0] == 1
    builder = GraphBuilder(shape[1:] if batched else shape)
    replay = NodeReplay(builder, stored, folder, opset, inputs[name].type.tensor_type.elem_type)
    replay.start(name, builder.input(batched=batched))
    for other, values in fixed.items():
        replay.define(other, _fixed_value(builder, inputs[other], values))
    tail = tail_of(nodes, output, PASSIVE)
    for node in nodes:
        made = OPERATORS.run(NodeCall(replay, node), tail=node is tail)
        for key, value in zip(node.outputs, made if isinstance(made, list) else [made], strict=False):
            replay.define(key, value)
    return builder.finish(lifted(builder, replay.named(output)))


def _output(graph: onnx.GraphProto, nodes: Sequence[Node]) -> str:
    names = [entry.name for entry in graph.output]
    if not names:
        made = [name for node in nodes for name in node.outputs if name]
        advice = (Option("until", made[-1]), " would take the last that it computes") if made else ("export it again",)
        raise AffineLensError("the model has no output; ", *advice)
    if len(names) > 1:
        raise AffineLensError(
            f"the outputs are {listed(names)}, but a network has one; ",
            Option("until", names[0]),
            " chooses the first",
        )
    return str(names[0])


def _named_output(nodes: Sequence[Node], until: str) -> str:
    """The tensor that ``until`` names, or the first that the node of that name computes."""
    produced = [name for node in nodes for name in node.outputs if name]
    if until in produced:
        return until
    for node in nodes:
        if node.name == until and node.outputs:
            return node.outputs[0]
    known = [*produced, *(node.name for node in nodes)]
    raise AffineLensError(f"no node or tensor is named {until!r}; names like it are {names_like(until, known)}")


def _input_name(
    inputs: Mapping[str, onnx.ValueInfoProto], nodes: Sequence[Node], output: str, fixed: Mapping[str, Any]
) -> str:
    """The one input that is not fixed and that the output needs."""
    require_known(fixed, inputs)
    read = {output, *(name for node in nodes for name in node.inputs)}
    free = [name for name in inputs if name not in fixed]
    left = [name for name in free if name in read] or free
    if not left:
        raise AffineLensError("the model has no input that is left free; a network is a function of one input")
    require_one_input(left)
    return left[0]


def _declared_sizes(entry: onnx.ValueInfoProto) -> list[int] | None:
    """The sizes of an input's axes, 0 where one is open; None where no shape is declared."""
    kind = entry.type.WhichOneof("value")
    if kind != "tensor_type":
        found = (kind or "nothing").removesuffix("_type").replace("_", " ")
        raise AffineLensError(f"input {entry.name!r} holds a {found}; a tensor of floats is needed")
    if entry.type.tensor_type.elem_type not in FLOATS:
        found = type_name(entry.type.tensor_type.elem_type)
        raise AffineLensError(f"input {entry.name!r} holds {found}; a tensor of floats is needed")
    sizes = [max(dim.dim_value, 0) for dim in entry.type.tensor_type.shape.dim]
    return sizes or None


def _input_shape(entry: onnx.ValueInfoProto, given: Sequence[int] | None) -> Shape:
    sizes = _declared_sizes(entry)
    if given is not None:
        return _matched_shape(entry.name, sizes, checked_shape(given))
    if sizes is None:
        raise AffineLensError(
            f"input {entry.name!r} has no shape; pass ",
            Option("input_shape"),
            " without the batch axis, or export the model with one",
        )
    sizes[0] = max(sizes[0], 1)
    for axis, size in enumerate(sizes):
        if size < 1:
            label = entry.type.tensor_type.shape.dim[axis].dim_param or "no name"
            raise AffineLensError(
                f"input {entry.name!r} has an open size ({label}) on axis {axis}; only the batch axis 0 may be open, "
                "so pass ",
                Option("input_shape"),
                " without the batch axis",
            )
    return tuple(sizes)


def _matched_shape(name: str, sizes: list[int] | None, given: Shape) -> Shape:
    """A given shape, with or without the batch axis, that agrees with what the file declares."""
    if sizes is None:
        return (1, *given)
    for shape in ((1, *given), given):
        if _fits(shape, sizes):
            return shape
    raise AffineLensError(
        Option("input_shape", given), f" does not fit input {name!r}, whose axes have sizes ({_shown(sizes)})"
    )


def _fits(shape: Shape, sizes: Sequence[int]) -> bool:
    return len(shape) == len(sizes) and all(size in (0, found) for size, found in zip(sizes, shape, strict=True))


def _shown(sizes: Sequence[int]) -> str:
    return ", ".join(str(size) if size else "open" for size in sizes)


def _fixed_value(builder: GraphBuilder, entry: onnx.ValueInfoProto, values: Any) -> Constant:
    """An array to take the place of an input, in the input's type."""
    label = f"fixed input {entry.name!r}"
    try:
        array = np.asarray(values)
    except ValueError:
        raise AffineLensError(f"{label} is not a rectangular array of numbers") from None
    if entry.type.WhichOneof("value") != "tensor_type" or array.dtype.kind not in "fiub":
        raise AffineLensError(f"{label} cannot take an array of {array.dtype}; a tensor of numbers is needed")
    declared = entry.type.tensor_type
    sizes = [dim.dim_value for dim in declared.shape.dim]
    if array.ndim == len(sizes) - 1 and sizes[0] <= 1:
        array = array[None]
    if declared.HasField("shape") and not _fits(array.shape, sizes):
        raise AffineLensError(
            f"{label} has axes of sizes ({_shown(sizes)}), but the given array has shape {array.shape}"
        )
    with np.errstate(all="ignore"):
        typed = array.astype(number_type(declared.elem_type, label))
    if not np.array_equal(typed.astype(np.float64), array.astype(np.float64)):
        builder.note(rounded_input(entry.name, str(typed.dtype), "input"))
    return Constant(typed, label)
