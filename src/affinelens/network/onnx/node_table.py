"""The table of ONNX operators: which function means each, and which inputs and attributes it is read from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build import nonlinear, operators, ordering, windows
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.comparison import compare, negation, sign
from affinelens.network.build.replay import Operator, Operators, always, does, name, numbers, tensor, value
from affinelens.network.build.shapes import checked_axis
from affinelens.network.build.values import Comparison, Constant, RefusedError, Value
from affinelens.network.note import rounds
from affinelens.network.onnx import image_nodes as images
from affinelens.network.onnx import joining_nodes, learning_nodes
from affinelens.network.onnx.model_file import FLOATS, TensorProto, read_tensor, type_name
from affinelens.network.onnx.node_call import NodeCall, flag, number
from affinelens.network.onnx.reference import MEASURES, MOVES, RESHAPES, fold, measured, moved, same_entries

# What may follow a tail on the way to the output: the order of the scores stays as it is.
PASSIVE = {"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}


def _bound(position: int, attribute: str) -> Operator:
    """A bound from an input or, in older operator sets, an attribute; None where there is none."""

    def bound(call: NodeCall) -> Value | None:
        if call.has(position):
            return call.value(position)
        given = call.node.attributes.get(attribute)
        return None if given is None else Constant(np.array(given, dtype=np.float64), f"attribute {attribute}")

    return bound


def _reduction(meaning: Callable[..., Tensor], *more: Operator, of_each: Operator | None = None) -> Operator:
    """A sum or maximum over axes; some nodes ask for none at all, which leaves what it is ``of_each`` entry."""
    reduced = does(meaning, tensor(0), NodeCall.reduced_axes, *more, keep=flag("keepdims", 1))
    alone = tensor(0) if of_each is None else of_each
    return lambda call: alone(call) if call.reduced_axes() is None else reduced(call)


def _mean(call: NodeCall) -> Tensor:
    count = np.array(float(len(call.node.inputs)))
    return call.builder.divide(call.builder.add_all(call.tensors()), count)


def _matrix(position: int, attribute: str) -> Operator:
    """A factor of Gemm, transposed where the attribute says so."""

    def matrix(call: NodeCall) -> Value:
        factor = call.value(position)
        if len(factor.shape) != 2:
            raise AffineLensError(f"matrices are needed, but input {position} has shape {factor.shape}")
        turned = call.node.integer(attribute, 0)
        return operators.rearranged(call.builder, factor, lambda array: array.T) if turned else factor

    return matrix


def _joined_axis(call: NodeCall) -> int:
    return call.axis(1, len(call.value(0).shape))


def _addend(call: NodeCall) -> Value | None:
    return call.value(2) if call.has(2) else None


def _gemm_factors(call: NodeCall) -> tuple[Floats, Floats]:
    return call.node.number("alpha", 1.0), call.node.number("beta", 1.0)


def _batch_norm(call: NodeCall) -> Tensor:
    if call.node.integer("training_mode", 0) or sum(map(bool, call.node.outputs)) > 1:
        raise AffineLensError("batch norm is in training mode; export the model in evaluation mode")
    if not call.node.integer("spatial", 1):
        raise AffineLensError("batch norm with spatial=0 is not read; export the model with operator set 9 or later")
    gain, shift, mean, variance = (call.numbers(position) for position in (1, 2, 3, 4))
    return call.builder.batch_norm(
        call.tensor(0), gain=gain, shift=shift, mean=mean, variance=variance,
        epsilon=float(call.node.number("epsilon", 1e-5)), name=call.name,
    )  # fmt: skip


def _hard_sigmoid(call: NodeCall) -> Tensor:
    scaled = call.builder.scale(call.tensor(0), call.node.number("alpha", 0.2))
    moved = call.builder.add_constant(scaled, call.node.number("beta", 0.5))
    return nonlinear.clip(call.builder, moved, np.array(0.0), np.array(1.0), call.name)


def _running_sum(call: NodeCall) -> Tensor:
    given = call.integers(1)
    if len(given) != 1:
        raise AffineLensError(f"the axis is given as {given}; one integer is needed")
    source = call.tensor(0)
    exclusive, backward = (bool(call.node.integer(name, 0)) for name in ("exclusive", "reverse"))
    axis = checked_axis(given[0], len(source.shape))
    return call.builder.running_sum(source, axis, exclusive=exclusive, backward=backward)


def _top(call: NodeCall) -> list[Tensor]:
    """The largest or smallest entries along an axis, in order; their positions jump and are not read."""
    source = call.tensor(0)
    axis = call.axis(-1, len(source.shape))
    given = call.integers(1) if call.has(1) else [call.node.integer("k", -1)]
    if len(given) != 1 or not 0 < given[0] <= source.shape[axis]:
        raise AffineLensError(f"asks for the first {given} of the {source.shape[axis]} entries along axis {axis}")
    ranks = range(source.shape[axis]) if call.node.integer("largest", 1) else range(source.shape[axis])[::-1]
    return [ordering.ordered(call.builder, source, axis, list(ranks[: given[0]]), call.name)]


_PAD_MODES = ("constant", "reflect", "edge", "wrap")


def _dropout(call: NodeCall) -> Value:
    if call.has(2) and call.constant(2).values.any():
        raise AffineLensError("dropout is in training mode; export the model in evaluation mode")
    return call.value(0)


def _cast(call: NodeCall) -> Value:
    target = call.node.integer("to", 0)
    value = call.value(0)
    if isinstance(value, Comparison):
        return value
    if target not in FLOATS:
        raise RefusedError(f"a conversion to {type_name(target)} jumps and is not continuous")
    if FLOATS[target] < FLOATS[call.replay.kind]:
        call.builder.note(rounds(call.name, type_name(target).lower()))
    return value


def _cast_like(call: NodeCall) -> Value:
    like = call.value(1)
    if isinstance(like, Constant) and like.values.dtype.kind in "iub":
        raise RefusedError(f"a conversion to {like.values.dtype} jumps and is not continuous")
    return call.value(0)


def _pad(call: NodeCall) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    pads = call.listed(1, "pads") or []
    axes = [checked_axis(axis, rank) for axis in call.integers(3)] if call.has(3) else list(range(rank))
    mode = call.node.text("mode", "constant")
    if mode not in _PAD_MODES:
        raise AffineLensError(f"mode={mode!r} is not read; accepted are {', '.join(_PAD_MODES)}")
    if len(pads) != 2 * len(axes):
        raise AffineLensError(f"pads={pads} do not fit {len(axes)} axes; one number for each end of each is needed")
    widths = [(0, 0)] * rank
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        widths[axis] = (before, after)
    fill = call.numbers(2).ravel() if call.has(2) else call.node.number("value", 0.0).ravel()
    return operators.padded(call.builder, value, widths, mode, float(fill[0]) if len(fill) else 0.0)


def _stored(call: NodeCall) -> Value:
    """A tensor or numbers among a Constant node's attributes."""
    types = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    name = f"constant {call.node.outputs[0]!r}"
    for attribute, held in call.node.attributes.items():
        if attribute == "value" and isinstance(held, TensorProto):
            return Constant(read_tensor(held, call.replay.folder, name), name)
        if attribute in types and isinstance(held, float | int | list):
            return Constant(np.asarray(held, dtype=types[attribute]), name)
    raise AffineLensError(f"holds {', '.join(call.node.attributes) or 'nothing'}; a dense tensor of numbers is needed")


_GREATER = does(compare, value(0), value(1))
_LESS = does(compare, value(1), value(0))
_ZERO = always(np.array(0.0))

OPERATORS = Operators(
    {
        "Abs": does(nonlinear.absolute, tensor(0), name),
        "Add": does(GraphBuilder.add, tensor(0), tensor(1)),
        "AveragePool": does(
            windows.average_pool, tensor(0), images.pooling_window, count_padding=flag("count_include_pad", 0)
        ),
        "BatchNormalization": _batch_norm,
        "Cast": _cast,
        "CastLike": _cast_like,
        "Clip": does(operators.clamp, value(0), _bound(1, "min"), _bound(2, "max"), name),
        "Concat": does(GraphBuilder.concatenate, NodeCall.tensors, _joined_axis),
        "Constant": _stored,
        "CumSum": _running_sum,
        "Conv": images.convolution,
        "ConvTranspose": images.transposed_convolution,
        "Div": does(operators.divide, value(0), value(1)),
        "Dropout": _dropout,
        "Gemm": does(operators.affine_product, _matrix(0, "transA"), _matrix(1, "transB"), _addend, _gemm_factors),
        "GlobalAveragePool": does(GraphBuilder.mean_over, tensor(0), images.spatial_axes, keep=always(True)),
        "GlobalMaxPool": does(nonlinear.maximum_over, tensor(0), images.spatial_axes, name, keep=always(True)),
        "Greater": _GREATER,
        "GreaterOrEqual": _GREATER,
        "HardSigmoid": _hard_sigmoid,
        "Identity": value(0),
        "LeakyRelu": does(nonlinear.rectify, tensor(0), number("alpha", 0.01), name),
        "Less": _LESS,
        "LessOrEqual": _LESS,
        "MatMul": does(operators.matrix_product, value(0), value(1)),
        "Max": does(partial(operators.extremum, largest=True), NodeCall.values, name),
        "MaxPool": does(windows.max_pool, tensor(0), images.pooling_window, name),
        "Mean": _mean,
        "Min": does(partial(operators.extremum, largest=False), NodeCall.values, name),
        "Mul": does(operators.multiply, value(0), value(1), name),
        "Neg": does(nonlinear.negated, tensor(0)),
        "Not": does(negation, value(0)),
        "PRelu": does(nonlinear.rectify, tensor(0), numbers(1), name),
        "Pad": _pad,
        "Pow": does(operators.power, value(0), value(1)),
        "ReduceL1": _reduction(
            nonlinear.norm_over, always(1.0), name, of_each=does(nonlinear.absolute, tensor(0), name)
        ),
        "ReduceMax": _reduction(nonlinear.maximum_over, name),
        "ReduceMean": _reduction(GraphBuilder.mean_over),
        "ReduceMin": _reduction(nonlinear.minimum_over, name),
        "ReduceSum": _reduction(GraphBuilder.sum_over),
        "Relu": does(nonlinear.rectify, tensor(0), _ZERO, name),
        "Resize": images.resize,
        "Sign": does(sign, value(0)),
        "Shrink": does(nonlinear.shrink, tensor(0), number("lambd", 0.5), number("bias", 0.0), name),
        "Sub": does(GraphBuilder.subtract, tensor(0), tensor(1)),
        "Sum": does(GraphBuilder.add_all, NodeCall.tensors),
        "ThresholdedRelu": does(nonlinear.threshold, tensor(0), number("alpha", 1.0), _ZERO, name),
        "TopK": _top,
        "Upsample": images.upsample,
        "Where": does(operators.choose, value(0), value(1), value(2), name),
        **learning_nodes.OPERATORS,
        **dict.fromkeys(MEASURES, measured),
        **dict.fromkeys(MOVES, moved),
        **dict.fromkeys(RESHAPES, same_entries),
        **joining_nodes.OPERATORS,
    },
    fold,
)
