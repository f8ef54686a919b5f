"""The table of ONNX operators, and how a node is evaluated by it.

An operator is a function of a :class:`Call` that returns the node's first output, or a list of all of them. Those on
values that depend on the input are in ``onnx_arithmetic``, ``onnx_reductions``, ``onnx_windows``, ``onnx_piecewise``,
``onnx_layout`` and ``onnx_resizing``; those that combine constants alone in ``onnx_constants``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from affinelens.errors import AffineLensError
from affinelens.network import note
from affinelens.network.build.builder import checked_axis
from affinelens.network.onnx import onnx_arithmetic as arithmetic
from affinelens.network.onnx import onnx_layout as layout
from affinelens.network.onnx import onnx_piecewise as piecewise
from affinelens.network.onnx import onnx_reductions as reductions
from affinelens.network.onnx import onnx_resizing as resizing
from affinelens.network.onnx import onnx_windows as windows
from affinelens.network.onnx.onnx_constants import fold, shape_of, size_of, stored
from affinelens.network.onnx.onnx_file import Node
from affinelens.network.onnx.onnx_replay import Call, Operator, Replay, Value

# What may follow a tail on the way to the output: the order of the scores stays as it is.
PASSIVE = {"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
TAILS = {"LogSoftmax", "Sigmoid", "Softmax"}
_CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}
_CURVED = {
    "Acos", "Acosh", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh", "Attention", "Bernoulli", "Ceil", "Celu",
    "Cos", "Cosh", "CumProd", "Det", "Elu", "Equal", "Erf", "Exp", "Floor", "GRU", "Gelu", "Greater", "GreaterOrEqual",
    "GroupNormalization", "HardSwish", "Hardmax", "InstanceNormalization", "LRN", "LSTM", "LayerNormalization", "Less",
    "LessOrEqual", "Log", "LogSoftmax", "LpNormalization", "LpPool", "MeanVarianceNormalization", "Mish", "Mod",
    "Multinomial", "NonZero", "Pow", "RMSNormalization", "RNN", "Reciprocal", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax",
    "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
}  # fmt: skip


def run(replay: Replay, node: Node) -> None:
    """Evaluate a node and keep its outputs."""
    try:
        results = _evaluate(Call(replay, node))
    except AffineLensError as error:
        raise error.located(f"node {node.name!r} ({node.operator})") from error
    except (ValueError, TypeError, OverflowError, MemoryError, IndexError) as error:
        cause = " ".join(str(error).split())
        raise AffineLensError(f"node {node.name!r} ({node.operator}): does not fit its inputs ({cause})") from error
    for name, value in zip(node.outputs, results, strict=False):
        replay.define(name, value)


def _evaluate(call: Call) -> Sequence[Value]:
    if call.node is call.replay.tail:
        return [_without_tail(call)]
    folded = fold(call) if call.node.inputs and call.is_constant() else None
    if folded is not None:
        return [folded]
    operator = call.node.operator
    if operator not in _OPERATORS:
        call.refuse(_reason(operator))
    call.builder.begin(operator)
    result = _OPERATORS[operator](call)
    return result if isinstance(result, list) else [result]


def _reason(operator: str) -> str:
    """Why an operator is not read."""
    if "." in operator:
        return f"belongs to the custom domain {operator.rpartition('.')[0]!r}, but only standard operators are read"
    if operator in _CONTROL_FLOW:
        return "control flow is not read; export the model with the branch or the loop resolved"
    if "Quantize" in operator or "QLinear" in operator or operator.endswith("Integer"):
        return "quantised operators round and are not piecewise affine; export the model before quantisation"
    if "Sequence" in operator or operator.startswith("Optional"):
        return "sequences and optional values are not read; tensors are needed"
    if operator in _CURVED:
        return "this operator is not piecewise affine and continuous"
    return "this operator is not read"


def _without_tail(call: Call) -> Value:
    """The scores that the model's last step turns into probabilities."""
    value = call.value(0)
    operator = call.node.operator
    if operator != "Sigmoid":
        first = checked_axis(call.node.integer("axis", -1 if call.opset >= 13 else 1), len(value.shape))
        together = value.shape[first : first + 1] if call.opset >= 13 else value.shape[first:]
        if prod(together) == 1:
            call.refuse(f"{operator} over axis {first} of a tensor of shape {value.shape} is constant")
    call.builder.note(note.cut_off(call.name, operator))
    return value


_OPERATORS: dict[str, Operator] = {
    "Abs": piecewise.absolute,
    "Add": arithmetic.add,
    "AveragePool": windows.average_pool,
    "BatchNormalization": arithmetic.batch_norm,
    "Cast": layout.cast,
    "CastLike": layout.cast_like,
    "Clip": piecewise.clip,
    "Concat": layout.concatenate,
    "Constant": stored,
    "Conv": windows.convolution,
    "ConvTranspose": windows.transposed_convolution,
    "DepthToSpace": layout.depth_to_space,
    "Div": arithmetic.divide,
    "Dropout": layout.dropout,
    "Expand": layout.expand,
    "Flatten": layout.flatten,
    "Gather": layout.gather,
    "Gemm": arithmetic.gemm,
    "GlobalAveragePool": windows.global_average_pool,
    "GlobalMaxPool": windows.global_max_pool,
    "HardSigmoid": piecewise.hard_sigmoid,
    "Identity": layout.identity,
    "LeakyRelu": piecewise.leaky_relu,
    "MatMul": arithmetic.matmul,
    "Max": piecewise.maximum,
    "MaxPool": windows.max_pool,
    "Mean": arithmetic.mean_of_all,
    "Min": piecewise.minimum,
    "Mul": arithmetic.multiply,
    "Neg": arithmetic.negate,
    "PRelu": piecewise.prelu,
    "Pad": layout.pad,
    "ReduceL1": reductions.reduction(reductions.absolute_sum_over),
    "ReduceMax": reductions.reduction(reductions.max_over),
    "ReduceMean": reductions.reduction(reductions.mean_over),
    "ReduceMin": reductions.reduction(reductions.min_over),
    "ReduceSum": reductions.reduction(reductions.sum_over),
    "Relu": piecewise.relu,
    "Reshape": layout.reshape,
    "Resize": resizing.resize,
    "Shape": shape_of,
    "Shrink": piecewise.shrink,
    "Size": size_of,
    "Slice": layout.sliced,
    "SpaceToDepth": layout.space_to_depth,
    "Split": layout.split,
    "Squeeze": layout.squeeze,
    "Sub": arithmetic.subtract,
    "Sum": arithmetic.add_all,
    "ThresholdedRelu": piecewise.thresholded_relu,
    "Tile": layout.tile,
    "Transpose": layout.transpose,
    "Unsqueeze": layout.unsqueeze,
    "Upsample": resizing.upsample,
    "Where": piecewise.where,
}
