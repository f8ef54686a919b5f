"""The table of ONNX operators: which function means each, and which inputs and attributes it is read from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build import nonlinear, operators, ordering, windows
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.comparison import compare
from affinelens.network.build.replay import Operator, Operators, always, does, name, numbers, tensor, value
from affinelens.network.build.shapes import checked_axis
from affinelens.network.build.values import Comparison, Constant, Value
from affinelens.network.onnx import image_nodes as images
from affinelens.network.onnx import moving_nodes as moves
from affinelens.network.onnx.folding import fold, shape_of, size_of, stored
from affinelens.network.onnx.node_call import NodeCall, flag, number

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


def _reduction(meaning: Callable[..., Tensor], *more: Operator) -> Operator:
    """A sum or maximum over axes; some nodes ask for none at all."""
    reduced = does(meaning, tensor(0), NodeCall.reduced_axes, *more, keep=flag("keepdims", 1))
    return lambda call: call.tensor(0) if call.reduced_axes() is None else reduced(call)


def _mean(call: NodeCall) -> Tensor:
    count = np.array(float(len(call.node.inputs)))
    return call.builder.divide(operators.add(call.builder, call.values()), count)


def _matrix(position: int, attribute: str) -> Operator:
    """A factor of Gemm, transposed where the attribute says so."""

    def matrix(call: NodeCall) -> Value:
        factor = call.value(position)
        if len(factor.shape) != 2:
            raise AffineLensError(f"matrices are needed, but input {position} has shape {factor.shape}")
        turned = call.node.integer(attribute, 0)
        return operators.rearranged(call.builder, factor, lambda array: array.T) if turned else factor

    return matrix


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


def _negation(call: NodeCall) -> Comparison:
    condition = call.value(0)
    if not isinstance(condition, Comparison):
        raise AffineLensError("a negation is read of a comparison alone")
    return Comparison(nonlinear.negated(call.builder, condition.lead))


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


_GREATER = does(compare, value(0), value(1))
_LESS = does(compare, value(1), value(0))
_ZERO = always(np.array(0.0))
_ALL = NodeCall.values

OPERATORS = Operators(
    {
        "Abs": does(nonlinear.absolute, tensor(0), name),
        "Add": does(GraphBuilder.add, tensor(0), tensor(1)),
        "AveragePool": does(
            windows.average_pool, tensor(0), images.pooling_window, count_padding=flag("count_include_pad", 0)
        ),
        "BatchNormalization": _batch_norm,
        "Cast": moves.cast,
        "CastLike": moves.cast_like,
        "Clip": does(operators.clamp, value(0), _bound(1, "min"), _bound(2, "max"), name),
        "Concat": moves.concatenate,
        "Constant": stored,
        "CumSum": _running_sum,
        "Conv": images.convolution,
        "ConvTranspose": images.transposed_convolution,
        "DepthToSpace": moves.depth_to_space,
        "Div": does(operators.divide, value(0), value(1)),
        "Dropout": moves.dropout,
        "Expand": moves.expand,
        "Flatten": moves.flatten,
        "Gather": moves.gather,
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
        "Max": does(partial(operators.extremum, largest=True), _ALL, name),
        "MaxPool": does(windows.max_pool, tensor(0), images.pooling_window, name),
        "Mean": _mean,
        "Min": does(partial(operators.extremum, largest=False), _ALL, name),
        "Mul": does(operators.multiply, value(0), value(1), name),
        "Neg": does(nonlinear.negated, tensor(0)),
        "Not": _negation,
        "PRelu": does(nonlinear.rectify, tensor(0), numbers(1), name),
        "Pad": moves.pad,
        "ReduceL1": _reduction(nonlinear.norm_over, always(1.0), name),
        "ReduceMax": _reduction(nonlinear.maximum_over, name),
        "ReduceMean": _reduction(GraphBuilder.mean_over),
        "ReduceMin": _reduction(nonlinear.minimum_over, name),
        "ReduceSum": _reduction(GraphBuilder.sum_over),
        "Relu": does(nonlinear.rectify, tensor(0), _ZERO, name),
        "Reshape": moves.reshape,
        "Resize": images.resize,
        "Shape": shape_of,
        "Shrink": does(nonlinear.shrink, tensor(0), number("lambd", 0.5), number("bias", 0.0), name),
        "Size": size_of,
        "Slice": moves.sliced,
        "SpaceToDepth": moves.space_to_depth,
        "Split": moves.split,
        "Squeeze": moves.squeeze,
        "Sub": does(GraphBuilder.subtract, tensor(0), tensor(1)),
        "Sum": does(operators.add, _ALL),
        "ThresholdedRelu": does(nonlinear.threshold, tensor(0), number("alpha", 1.0), _ZERO, name),
        "Tile": moves.tile,
        "TopK": _top,
        "Transpose": moves.transpose,
        "Unsqueeze": moves.unsqueeze,
        "Upsample": images.upsample,
        "Where": does(operators.choose, value(0), value(1), value(2), name),
    },
    fold,
)
