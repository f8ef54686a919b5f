"""ATen operators with a window that moves over an image: convolutions, poolings, resizing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from affinelens.network.build import windows
from affinelens.network.build.builder import Tensor
from affinelens.network.build.resize import coordinate, resize_linear
from affinelens.network.build.windows import Window
from affinelens.network.torch.torch_replay import Call, Floats, operator_name


def _with_batch(call: Call, tensor: Tensor, axes: int) -> Tensor:
    """A tensor that may lack the batch axis, with one."""
    return call.builder.reshape(tensor, (1, *tensor.shape)) if len(tensor.shape) == axes + 1 else tensor


def _given_bias(call: Call) -> Floats | None:
    return None if call.value("bias") is None else call.array("bias")


def convolution(call: Call) -> Tensor:
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
        return transposed_convolution(call)
    return call.builder.reshape(windows.convolve(call.builder, tensor, weight, _given_bias(call), window), call.shape)


def transposed_convolution(call: Call) -> Tensor:
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


def average_pool(call: Call) -> Tensor:
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


def max_pool(call: Call) -> Tensor:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    pooled = windows.max_pool(call.builder, tensor, _pooling_window(call, axes), call.name)
    return call.builder.reshape(pooled, call.shape)


def max_pool_first(call: Call) -> tuple[Tensor]:
    return (max_pool(call),)


def adaptive_average_pool(call: Call) -> Tensor:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    return call.builder.reshape(windows.adaptive_average_pool(call.builder, tensor, call.shape[-axes:]), call.shape)


def adaptive_max_pool(call: Call) -> tuple[Tensor]:
    axes = _spatial_axes(call)
    tensor = _with_batch(call, call.tensor("self"), axes)
    pooled = windows.adaptive_max_pool(call.builder, tensor, call.shape[-axes:], call.name)
    return (call.builder.reshape(pooled, call.shape),)


def resized(call: Call) -> Tensor:
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
