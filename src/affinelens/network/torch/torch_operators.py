"""The table of ATen operators, and how an operation is evaluated by it.

Operators on values that depend on the input are in ``torch_arithmetic``, ``torch_windows``, ``torch_piecewise`` and
``torch_layout``.
"""

from __future__ import annotations

import operator as python
from typing import Any

import torch
from torch.fx.node import Node

from affinelens.errors import AffineLensError
from affinelens.network import note
from affinelens.network.build.builder import Tensor
from affinelens.network.torch import torch_arithmetic as arithmetic
from affinelens.network.torch import torch_layout as layout
from affinelens.network.torch import torch_piecewise as piecewise
from affinelens.network.torch import torch_windows as windows
from affinelens.network.torch.torch_replay import (
    Call,
    Operator,
    Replay,
    has_open_shape,
    operator_name,
    place,
    shown_name,
)

TAILS = {
    "aten._log_softmax",
    "aten._softmax",
    "aten.log_softmax",
    "aten.sigmoid",
    "aten.softmax",
}


def evaluate(replay: Replay, node: Node, *, tail: bool) -> Any:
    """The value of an operation; ``tail`` says that it only rescales the output and is left out."""
    if node.target is python.getitem:
        results, index = replay.resolved(node.args)
        if index >= len(results):
            raise AffineLensError(f"{place(node)}: the positions of maxima are not piecewise affine")
        return results[index]
    try:
        if not replay.depends(node):
            return _folded(replay, node)
        call = Call(replay, node)
        if tail:
            return _without_tail(call)
        replay.builder.begin(shown_name(node))
        return _operator(call)(call)
    except AffineLensError as error:
        raise error.located(f"{place(node)} ({node.target})") from error


def _operator(call: Call) -> Operator:
    name = operator_name(call.node)
    if has_open_shape(call.node):
        call.refuse("the shape of the result depends on values, as with a boolean mask; index by integer positions")
    if name in _MOVES:
        return Call.moved
    if name not in _OPERATORS:
        call.refuse("this operator is not piecewise affine" if _is_curved(name) else "this operator is not read")
    return _OPERATORS[name]


def _folded(replay: Replay, node: Node) -> Any:
    """Run an operator on constants, as the model does."""
    if not isinstance(node.target, torch._ops.OpOverload):
        raise AffineLensError("this operator is not read; write the module without it")
    if torch.Tag.nondeterministic_seeded in node.target.tags:
        raise AffineLensError("this operator draws random numbers; a network must be a function")
    if node.all_input_nodes and operator_name(node) not in _MOVES | _LAYOUT:
        replay.builder.note(note.combined(place(node), str(node.target)))
    return node.target(*replay.resolved(node.args), **replay.resolved(node.kwargs))


def _without_tail(call: Call) -> Tensor:
    """The scores that the model's last step turns into probabilities."""
    tensor, operator = call.tensor("self"), operator_name(call.node).removeprefix("aten.").removeprefix("_")
    if operator != "sigmoid" and (not tensor.shape or tensor.shape[call.value("dim")] == 1):
        call.refuse(f"{operator} over axis {call.value('dim')} of a tensor of shape {tensor.shape} is constant")
    call.builder.note(note.cut_off(call.name, operator))
    return tensor


_OPERATORS: dict[str, Operator] = {
    "aten._adaptive_avg_pool2d": windows.adaptive_average_pool,
    "aten._adaptive_avg_pool3d": windows.adaptive_average_pool,
    "aten._native_batch_norm_legit_no_training": arithmetic.batch_norm,
    "aten._to_copy": layout.reshape,
    "aten._unsafe_view": layout.reshape,
    "aten.abs": piecewise.absolute,
    "aten.adaptive_avg_pool1d": windows.adaptive_average_pool,
    "aten.adaptive_avg_pool2d": windows.adaptive_average_pool,
    "aten.adaptive_avg_pool3d": windows.adaptive_average_pool,
    "aten.adaptive_max_pool1d": windows.adaptive_max_pool,
    "aten.adaptive_max_pool2d": windows.adaptive_max_pool,
    "aten.adaptive_max_pool3d": windows.adaptive_max_pool,
    "aten.add": arithmetic.add,
    "aten.addmm": arithmetic.addmm,
    "aten.alias": layout.reshape,
    "aten.amax": piecewise.maximum,
    "aten.amin": piecewise.minimum,
    "aten.avg_pool1d": windows.average_pool,
    "aten.avg_pool2d": windows.average_pool,
    "aten.avg_pool3d": windows.average_pool,
    "aten.baddbmm": arithmetic.baddbmm,
    "aten.bmm": arithmetic.mm,
    "aten.cat": layout.concatenate,
    "aten.clamp": piecewise.clamp,
    "aten.clamp_max": piecewise.clamp,
    "aten.clamp_min": piecewise.clamp,
    "aten.clip": piecewise.clamp,
    "aten.clone": layout.reshape,
    "aten.constant_pad_nd": layout.pad,
    "aten.contiguous": layout.reshape,
    "aten.conv1d": windows.convolution,
    "aten.conv2d": windows.convolution,
    "aten.conv3d": windows.convolution,
    "aten.conv_transpose1d": windows.transposed_convolution,
    "aten.conv_transpose2d": windows.transposed_convolution,
    "aten.conv_transpose3d": windows.transposed_convolution,
    "aten.convolution": windows.convolution,
    "aten.detach": layout.reshape,
    "aten.div": arithmetic.divide,
    "aten.dot": arithmetic.dot,
    "aten.flatten": layout.reshape,
    "aten.fmax": piecewise.maximum,
    "aten.fmin": piecewise.minimum,
    "aten.full_like": layout.of_shape,
    "aten.hardsigmoid": piecewise.hard_sigmoid,
    "aten.hardtanh": piecewise.hard_tanh,
    "aten.leaky_relu": piecewise.leaky_relu,
    "aten.lift_fresh_copy": layout.reshape,
    "aten.linear": arithmetic.linear,
    "aten.masked_fill": layout.masked_fill,
    "aten.matmul": arithmetic.matmul,
    "aten.max": piecewise.maximum,
    "aten.max_pool1d": windows.max_pool,
    "aten.max_pool2d": windows.max_pool,
    "aten.max_pool2d_with_indices": windows.max_pool_first,
    "aten.max_pool3d": windows.max_pool,
    "aten.max_pool3d_with_indices": windows.max_pool_first,
    "aten.maximum": piecewise.maximum,
    "aten.mean": arithmetic.mean_over,
    "aten.min": piecewise.minimum,
    "aten.minimum": piecewise.minimum,
    "aten.mm": arithmetic.mm,
    "aten.mul": arithmetic.multiply,
    "aten.mv": arithmetic.mv,
    "aten.neg": arithmetic.negate,
    "aten.new_full": layout.of_shape,
    "aten.new_ones": layout.of_shape,
    "aten.new_zeros": layout.of_shape,
    "aten.ones_like": layout.of_shape,
    "aten.pad": layout.pad,
    "aten.prelu": piecewise.prelu,
    "aten.relu": piecewise.relu,
    "aten.relu6": piecewise.relu6,
    "aten.reshape": layout.reshape,
    "aten.rrelu": piecewise.random_relu,
    "aten.rsub": arithmetic.subtract_from,
    "aten.squeeze": layout.reshape,
    "aten.stack": layout.stack,
    "aten.sub": arithmetic.subtract,
    "aten.sum": arithmetic.sum_over,
    "aten.threshold": piecewise.threshold,
    "aten.true_divide": arithmetic.divide,
    "aten.unflatten": layout.reshape,
    "aten.unsqueeze": layout.reshape,
    "aten.upsample_bilinear2d": windows.resized,
    "aten.upsample_linear1d": windows.resized,
    "aten.upsample_trilinear3d": windows.resized,
    "aten.view": layout.reshape,
    "aten.where": layout.where,
    "aten.zeros_like": layout.of_shape,
}

# Operators whose every result is one of the tensor's entries, or zero.
_MOVES = {
    "aten._upsample_nearest_exact1d",
    "aten._upsample_nearest_exact2d",
    "aten._upsample_nearest_exact3d",
    "aten.channel_shuffle",
    "aten.chunk",
    "aten.diagonal",
    "aten.expand",
    "aten.flip",
    "aten.gather",
    "aten.im2col",
    "aten.index",
    "aten.index_select",
    "aten.narrow",
    "aten.permute",
    "aten.pixel_shuffle",
    "aten.pixel_unshuffle",
    "aten.reflection_pad1d",
    "aten.reflection_pad2d",
    "aten.reflection_pad3d",
    "aten.repeat",
    "aten.repeat_interleave",
    "aten.replication_pad1d",
    "aten.replication_pad2d",
    "aten.replication_pad3d",
    "aten.roll",
    "aten.rot90",
    "aten.select",
    "aten.slice",
    "aten.split",
    "aten.split_with_sizes",
    "aten.t",
    "aten.take",
    "aten.tile",
    "aten.transpose",
    "aten.tril",
    "aten.triu",
    "aten.unbind",
    "aten.unfold",
    "aten.upsample_nearest1d",
    "aten.upsample_nearest2d",
    "aten.upsample_nearest3d",
}

# Other operators that keep a constant's numbers.
_LAYOUT = {
    name for name, operator in _OPERATORS.items() if operator in (layout.reshape, layout.concatenate, layout.stack)
} | {"aten.item"}

# What may follow a tail on the way to the output: the order of the scores stays as it is.
PASSIVE = {name for name, operator in _OPERATORS.items() if operator is layout.reshape} | {
    "aten.permute",
    "aten.t",
    "aten.transpose",
}


def _is_curved(name: str) -> bool:
    """Whether an operator is known to be no continuous piecewise affine function."""
    return name.removeprefix("aten.").strip("_") in {
        "acos", "argmax", "argmin", "asin", "atan", "bernoulli", "ceil", "celu", "cos", "cosh", "elu", "eq", "erf",
        "exp", "floor", "ge", "gelu", "glu", "group_norm", "gru", "gt", "hardshrink", "hardswish", "instance_norm",
        "layer_norm", "le", "linalg_vector_norm", "log", "log_sigmoid", "log_softmax", "lstm", "lt", "mish", "ne",
        "native_layer_norm", "norm", "pow", "prod", "reciprocal", "remainder", "rms_norm", "rnn_tanh", "round", "rsqrt",
        "scaled_dot_product_attention", "selu", "sigmoid", "sign", "silu", "sin", "sinh", "softmax", "softplus", "sqrt",
        "square", "std", "tan", "tanh", "topk", "var",
    }  # fmt: skip
