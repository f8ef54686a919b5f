"""What each ATen operator does to values that depend on the input."""

from __future__ import annotations

import operator as python
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch.fx.node import Node

from affinelens.errors import AffineLensError
from affinelens.network import nonlinear, windows
from affinelens.network.graph import Tensor
from affinelens.network.resize import coordinate, resize_linear
from affinelens.network.torch_replay import (
    Call,
    Floats,
    Operator,
    Replay,
    has_open_shape,
    operator_name,
    place,
    result_of,
    shown_name,
)
from affinelens.network.windows import Window

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
        replay.builder.note(f"{place(node)}: constants were combined by {node.target} in the model's own arithmetic")
    return node.target(*replay.resolved(node.args), **replay.resolved(node.kwargs))


def _without_tail(call: Call) -> Tensor:
    """The scores that the model's last step turns into probabilities."""
    tensor, operator = call.tensor("self"), operator_name(call.node).removeprefix("aten.").removeprefix("_")
    if operator != "sigmoid" and (not tensor.shape or tensor.shape[call.value("dim")] == 1):
        call.refuse(f"{operator} over axis {call.value('dim')} of a tensor of shape {tensor.shape} is constant")
    call.builder.note(nonlinear.cut_off(call.name, operator))
    return tensor


# Sums and products


def _times(call: Call, tensor: Tensor, argument: str) -> Tensor:
    """The tensor times a Python number among the arguments."""
    return call.builder.scale(tensor, call.array(argument))


def _linear(call: Call) -> Tensor:
    product = call.builder.matmul_right(call.tensor("input"), call.array("weight").T)
    return product if call.value("bias") is None else call.builder.add_constant(product, call.array("bias"))


def _product(call: Call, left: str, right: str) -> Tensor:
    if call.is_constant(right):
        return call.builder.matmul_right(call.tensor(left), call.array(right))
    if call.is_constant(left):
        return call.builder.matmul_left(call.array(left), call.tensor(right))
    return call.refuse("both factors depend on the input; one must be a constant, or it is not piecewise affine")


def _matmul(call: Call) -> Tensor:
    return _product(call, "self", "other")


def _mm(call: Call) -> Tensor:
    return _product(call, "self", "mat2")


def _mv(call: Call) -> Tensor:
    return _product(call, "self", "vec")


def _dot(call: Call) -> Tensor:
    return _product(call, "self", "tensor")


def _addmm(call: Call) -> Tensor:
    product = _times(call, _product(call, "mat1", "mat2"), "alpha")
    return call.builder.add(_times(call, call.tensor("self"), "beta"), product)


def _baddbmm(call: Call) -> Tensor:
    product = _times(call, _product(call, "batch1", "batch2"), "alpha")
    return call.builder.add(_times(call, call.tensor("self"), "beta"), product)


def _add(call: Call) -> Tensor:
    return call.builder.add(call.tensor("self"), _times(call, call.tensor("other"), "alpha"))


def _subtract(call: Call) -> Tensor:
    return call.builder.subtract(call.tensor("self"), _times(call, call.tensor("other"), "alpha"))


def _subtract_from(call: Call) -> Tensor:
    return call.builder.subtract(call.tensor("other"), _times(call, call.tensor("self"), "alpha"))


def _multiply(call: Call) -> Tensor:
    if call.is_constant("other"):
        return call.builder.scale(call.tensor("self"), call.array("other"))
    if call.is_constant("self"):
        return call.builder.scale(call.tensor("other"), call.array("self"))
    return call.refuse("both factors depend on the input; one must be a constant, or it is not piecewise affine")


def _divide(call: Call) -> Tensor:
    if call.value("rounding_mode") is not None:
        call.refuse("a division that rounds is not piecewise affine")
    if not call.is_constant("other"):
        call.refuse("the divisor depends on the input; it must be a constant, or it is not piecewise affine")
    return call.builder.divide(call.tensor("self"), call.array("other"))


def _negate(call: Call) -> Tensor:
    return nonlinear.negated(call.builder, call.tensor("self"))


def _batch_norm(call: Call) -> tuple[Tensor]:
    """The operator has three results, of which evaluation mode uses the first."""
    mean = call.array("running_mean")
    normalised = call.builder.batch_norm(
        call.tensor("input"),
        gain=np.ones(len(mean)) if call.value("weight") is None else call.array("weight"),
        shift=np.zeros(len(mean)) if call.value("bias") is None else call.array("bias"),
        mean=mean,
        variance=call.array("running_var"),
        epsilon=float(call.value("eps")),
        name=call.name.split("/")[0],
    )
    return (normalised,)


def _sum_over(call: Call) -> Tensor:
    tensor = call.tensor("self")
    return call.builder.sum_over(tensor, call.axes("dim", len(tensor.shape)), keep=bool(call.value("keepdim")))


def _mean_over(call: Call) -> Tensor:
    tensor = call.tensor("self")
    return call.builder.mean_over(tensor, call.axes("dim", len(tensor.shape)), keep=bool(call.value("keepdim")))


# Windows


def _with_batch(call: Call, tensor: Tensor, axes: int) -> Tensor:
    """A tensor that may lack the batch axis, with one."""
    return call.builder.reshape(tensor, (1, *tensor.shape)) if len(tensor.shape) == axes + 1 else tensor


def _given_bias(call: Call) -> Floats | None:
    return None if call.value("bias") is None else call.array("bias")


def _convolution(call: Call) -> Tensor:
    weight = call.array("weight")
    axes = weight.ndim - 2
    tensor = _with_batch(call, call.tensor("input"), axes)
    strides, dilations = call.sizes("stride", axes), call.sizes("dilation", axes)
    padding = call.value("padding")
    if isinstance(padding, str):
        totals = [d * (k - 1) if padding == "same" else 0 for d, k in zip(dilations, weight.shape[2:], strict=True)]
        before = tuple(total // 2 for total in totals)
        after = tuple(total - half for total, half in zip(totals, before, strict=True))
    else:
        before = after = call.sizes("padding", axes)
    window = Window(weight.shape[2:], strides, dilations, before, after)
    if call.value("transposed"):
        return _transposed_convolution(call)
    return call.builder.reshape(windows.convolve(call.builder, tensor, weight, _given_bias(call), window), call.shape)


def _transposed_convolution(call: Call) -> Tensor:
    weight = call.array("weight")
    axes = weight.ndim - 2
    tensor = _with_batch(call, call.tensor("input"), axes)
    padding = call.sizes("padding", axes)
    window = Window(weight.shape[2:], call.sizes("stride", axes), call.sizes("dilation", axes), padding, padding)
    extra = call.sizes("output_padding", axes)
    groups = int(call.value("groups"))
    result = windows.convolve_transposed(call.builder, tensor, weight, _given_bias(call), window, groups, extra)
    return call.builder.reshape(result, call.shape)


def _pooling_window(call: Call, axes: int) -> Window:
    sizes = call.sizes("kernel_size", axes)
    strides = call.sizes("stride", axes) if call.value("stride") else sizes
    dilations = call.sizes("dilation", axes) if call.value("dilation") else (1,) * axes
    padding = call.sizes("padding", axes)
    return Window(sizes, strides, dilations, padding, padding, bool(call.value("ceil_mode")))


def _spatial_axes(call: Call) -> int:
    """How many axes an operator such as avg_pool2d slides over, from its name."""
    return int(next(letter for letter in operator_name(call.node) if letter in "123"))


def _average_pool(call: Call) -> Tensor:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    pooled = windows.average_pool(
        call.builder,
        tensor,
        _pooling_window(call, axes),
        count_padding=bool(call.value("count_include_pad")),
        divisor=call.value("divisor_override"),
    )
    return call.builder.reshape(pooled, call.shape)


def _max_pool(call: Call) -> Tensor:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    pooled = windows.max_pool(call.builder, tensor, _pooling_window(call, axes), call.name)
    return call.builder.reshape(pooled, call.shape)


def _max_pool_first(call: Call) -> tuple[Tensor]:
    return (_max_pool(call),)


def _adaptive_average_pool(call: Call) -> Tensor:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    return call.builder.reshape(windows.adaptive_average_pool(call.builder, tensor, call.shape[-axes:]), call.shape)


def _adaptive_max_pool(call: Call) -> tuple[Tensor]:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    pooled = windows.adaptive_max_pool(call.builder, tensor, call.shape[-axes:], call.name)
    return (call.builder.reshape(pooled, call.shape),)


def _resize_linear(call: Call) -> Tensor:
    tensor = call.tensor("input" if call.raw("input") is not None else "self")
    axes = _spatial_axes(call)
    given = call.value("scale_factors")
    scales: Sequence[float | None] = given or [
        call.value(name) for name in (("scales",) if axes == 1 else ("scales_d", "scales_h", "scales_w")[-axes:])
    ]
    way = "align_corners" if call.value("align_corners") else "half_pixel"
    for axis, factor in zip(range(2, 2 + axes), scales, strict=True):
        size, outputs = tensor.shape[axis], call.shape[axis]
        scale = Fraction(factor) if factor else Fraction(outputs, size)
        if size != outputs or (scale != 1 and way == "half_pixel"):
            tensor = resize_linear(call.builder, tensor, axis, outputs, coordinate(way, size, outputs, scale))
    return tensor


# Functions with pieces


def _relu(call: Call) -> Tensor:
    return nonlinear.rectify(call.builder, call.tensor("self"), np.array(0.0), call.name)


def _leaky_relu(call: Call) -> Tensor:
    return nonlinear.rectify(call.builder, call.tensor("self"), call.array("negative_slope"), call.name)


def _random_relu(call: Call) -> Tensor:
    """In evaluation mode the slope is the mean of its bounds."""
    if call.value("training"):
        call.refuse("rrelu draws random slopes in training mode; a network must be a function")
    slope = (call.value("lower") + call.value("upper")) / 2
    rounded = call.replay.numbers(slope, call.node, None)
    return nonlinear.rectify(call.builder, call.tensor("self"), rounded, call.name)


def _prelu(call: Call) -> Tensor:
    tensor, slopes = call.tensor("self"), call.array("weight")
    per_channel = (-1,) + (1,) * max(len(tensor.shape) - 2, 0)
    return nonlinear.rectify(call.builder, tensor, slopes.reshape(per_channel), call.name)


def _absolute(call: Call) -> Tensor:
    return nonlinear.absolute(call.builder, call.tensor("self"), call.name)


def _threshold(call: Call) -> Tensor:
    level, value = call.array("threshold"), call.array("value")
    if level != value:
        call.refuse(f"threshold {float(level):g} with value {float(value):g} is not continuous; the two must be equal")
    return nonlinear.clip(call.builder, call.tensor("self"), level, np.array(np.inf), call.name)


def _clamp(call: Call) -> Tensor:
    if not (call.is_constant("min") and call.is_constant("max")):
        return _clamp_by_tensors(call)
    low, high = call.bounds("min", -np.inf), call.bounds("max", np.inf)
    return nonlinear.clip(call.builder, call.tensor("self"), low, high, call.name)


def _clamp_by_tensors(call: Call) -> Tensor:
    """min(max(x, low), high), where a bound depends on the input."""
    tensor = call.tensor("self")
    if call.value("min") is not None:
        tensor = nonlinear.maximum(call.builder, [tensor, call.tensor("min")], call.name)
    if call.value("max") is not None:
        tensor = nonlinear.minimum(call.builder, [tensor, call.tensor("max")], call.name)
    return tensor


def _hard_tanh(call: Call) -> Tensor:
    low, high = call.bounds("min_val", -np.inf), call.bounds("max_val", np.inf)
    return nonlinear.clip(call.builder, call.tensor("self"), low, high, call.name)


def _relu6(call: Call) -> Tensor:
    return nonlinear.clip(call.builder, call.tensor("self"), np.array(0.0), np.array(6.0), call.name)


def _hard_sigmoid(call: Call) -> Tensor:
    moved = call.builder.add_constant(call.tensor("self"), np.array(3.0))
    clipped = nonlinear.clip(call.builder, moved, np.array(0.0), np.array(6.0), call.name)
    return call.builder.divide(clipped, np.array(6.0))


def _maximum(call: Call) -> Any:
    return _extremum(call, largest=True)


def _minimum(call: Call) -> Any:
    return _extremum(call, largest=False)


def _extremum(call: Call, *, largest: bool) -> Any:
    """Of two tensors, along an axis (with the positions, which are not read), or of everything."""
    if call.raw("other") is not None:
        return _extremum_of_two(call, largest=largest)
    tensor = call.tensor("self")
    axes = call.axes("dim", len(tensor.shape))
    sign = np.array(1.0 if largest else -1.0)
    best = nonlinear.maximum_over(
        call.builder, call.builder.scale(tensor, sign), axes, call.name, keep=bool(call.value("keepdim"))
    )
    result = call.builder.scale(best, sign)
    return result if isinstance(call.node.meta["val"], torch.Tensor) else (result,)


def _extremum_of_two(call: Call, *, largest: bool) -> Tensor:
    for tensor, bound in (("self", "other"), ("other", "self")):
        if call.is_constant(bound):
            limits = call.bounds(bound, 0.0)
            nothing = np.array(np.inf if largest else -np.inf)
            low, high = (limits, nothing) if largest else (nothing, limits)
            return nonlinear.clip(call.builder, call.tensor(tensor), low, high, call.name)
    combine = nonlinear.maximum if largest else nonlinear.minimum
    return combine(call.builder, [call.tensor("self"), call.tensor("other")], call.name)


# Choice and layout


def _where(call: Call) -> Tensor:
    if not call.is_constant("condition"):
        call.refuse("the condition depends on the input; it must be a constant")
    chosen = call.constant("condition").double().numpy(force=True)
    first, second = (
        call.builder.scale(call.tensor("self"), chosen),
        call.builder.scale(call.tensor("other"), 1 - chosen),
    )
    return call.builder.add(first, second)


def _masked_fill(call: Call) -> Tensor:
    filled = call.constant("mask").double().numpy(force=True)
    kept = call.builder.scale(call.tensor("self"), 1 - filled)
    return call.builder.add_constant(kept, filled * call.array("value"))


def _reshape(call: Call) -> Tensor:
    """Every operator that keeps the numbers and their order; the exporter has worked out the shape."""
    if not result_of(call.node).is_floating_point():
        call.refuse(f"a conversion to {result_of(call.node).dtype} is not piecewise affine")
    first = call.node.target._schema.arguments[0].name
    return call.builder.reshape(call.tensor(first), call.shape)


def _concatenate(call: Call) -> Tensor:
    parts = [part for part in call.tensors("tensors") if part.shape != (0,)]
    return call.builder.concatenate(parts, call.value("dim") % len(parts[0].shape))


def _stack(call: Call) -> Tensor:
    axis = call.value("dim") % len(call.shape)
    shape = (*call.shape[:axis], 1, *call.shape[axis + 1 :])
    parts = [call.builder.reshape(part, shape) for part in call.tensors("tensors")]
    return call.builder.concatenate(parts, axis)


def _pad(call: Call) -> Tensor:
    """Padding; a constant other than zero is added where the padding is."""
    mode, fill = call.value("mode") or "constant", call.value("value")
    moved: Tensor = call.moved() if mode != "constant" or not fill else _padded(call, float(call.array("value")))
    return moved


def _padded(call: Call, fill: float) -> Tensor:
    tensor, widths = call.tensor("self"), list(call.value("pad"))
    pad = torch.nn.functional.pad
    positions = pad(torch.arange(tensor.size).reshape(tensor.shape), widths, value=-1).numpy()
    return call.builder.add_constant(call.builder.rearrange(tensor, positions), np.where(positions < 0, fill, 0.0))


def _of_shape(call: Call) -> Any:
    """Constants made to the measure of a tensor, such as zeros_like."""
    example = torch.empty(call.tensor("self").shape, dtype=result_of(call.node).dtype)
    return call.node.target(example, *call.node.args[1:], **{**call.node.kwargs, "device": None, "pin_memory": None})


_OPERATORS: dict[str, Operator] = {
    "aten._adaptive_avg_pool2d": _adaptive_average_pool,
    "aten._adaptive_avg_pool3d": _adaptive_average_pool,
    "aten._native_batch_norm_legit_no_training": _batch_norm,
    "aten._to_copy": _reshape,
    "aten._unsafe_view": _reshape,
    "aten.abs": _absolute,
    "aten.adaptive_avg_pool1d": _adaptive_average_pool,
    "aten.adaptive_avg_pool2d": _adaptive_average_pool,
    "aten.adaptive_avg_pool3d": _adaptive_average_pool,
    "aten.adaptive_max_pool1d": _adaptive_max_pool,
    "aten.adaptive_max_pool2d": _adaptive_max_pool,
    "aten.adaptive_max_pool3d": _adaptive_max_pool,
    "aten.add": _add,
    "aten.addmm": _addmm,
    "aten.alias": _reshape,
    "aten.amax": _maximum,
    "aten.amin": _minimum,
    "aten.avg_pool1d": _average_pool,
    "aten.avg_pool2d": _average_pool,
    "aten.avg_pool3d": _average_pool,
    "aten.baddbmm": _baddbmm,
    "aten.bmm": _mm,
    "aten.cat": _concatenate,
    "aten.clamp": _clamp,
    "aten.clamp_max": _clamp,
    "aten.clamp_min": _clamp,
    "aten.clip": _clamp,
    "aten.clone": _reshape,
    "aten.constant_pad_nd": _pad,
    "aten.contiguous": _reshape,
    "aten.conv1d": _convolution,
    "aten.conv2d": _convolution,
    "aten.conv3d": _convolution,
    "aten.conv_transpose1d": _transposed_convolution,
    "aten.conv_transpose2d": _transposed_convolution,
    "aten.conv_transpose3d": _transposed_convolution,
    "aten.convolution": _convolution,
    "aten.detach": _reshape,
    "aten.div": _divide,
    "aten.dot": _dot,
    "aten.flatten": _reshape,
    "aten.fmax": _maximum,
    "aten.fmin": _minimum,
    "aten.full_like": _of_shape,
    "aten.hardsigmoid": _hard_sigmoid,
    "aten.hardtanh": _hard_tanh,
    "aten.leaky_relu": _leaky_relu,
    "aten.lift_fresh_copy": _reshape,
    "aten.linear": _linear,
    "aten.masked_fill": _masked_fill,
    "aten.matmul": _matmul,
    "aten.max": _maximum,
    "aten.max_pool1d": _max_pool,
    "aten.max_pool2d": _max_pool,
    "aten.max_pool2d_with_indices": _max_pool_first,
    "aten.max_pool3d": _max_pool,
    "aten.max_pool3d_with_indices": _max_pool_first,
    "aten.maximum": _maximum,
    "aten.mean": _mean_over,
    "aten.min": _minimum,
    "aten.minimum": _minimum,
    "aten.mm": _mm,
    "aten.mul": _multiply,
    "aten.mv": _mv,
    "aten.neg": _negate,
    "aten.new_full": _of_shape,
    "aten.new_ones": _of_shape,
    "aten.new_zeros": _of_shape,
    "aten.ones_like": _of_shape,
    "aten.pad": _pad,
    "aten.prelu": _prelu,
    "aten.relu": _relu,
    "aten.relu6": _relu6,
    "aten.reshape": _reshape,
    "aten.rrelu": _random_relu,
    "aten.rsub": _subtract_from,
    "aten.squeeze": _reshape,
    "aten.stack": _stack,
    "aten.sub": _subtract,
    "aten.sum": _sum_over,
    "aten.threshold": _threshold,
    "aten.true_divide": _divide,
    "aten.unflatten": _reshape,
    "aten.unsqueeze": _reshape,
    "aten.upsample_bilinear2d": _resize_linear,
    "aten.upsample_linear1d": _resize_linear,
    "aten.upsample_trilinear3d": _resize_linear,
    "aten.view": _reshape,
    "aten.where": _where,
    "aten.zeros_like": _of_shape,
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
_LAYOUT = {name for name, operator in _OPERATORS.items() if operator in (_reshape, _concatenate, _stack)} | {
    "aten.item"
}

# What may follow a tail on the way to the output: the order of the scores stays as it is.
PASSIVE = {name for name, operator in _OPERATORS.items() if operator is _reshape} | {
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
