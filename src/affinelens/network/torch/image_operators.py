"""ATen operators on images, read from their arguments: convolutions, poolings, resizing.

Their tensors may lack the batch axis; they get one here, and the result takes the shape that the exporter found.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from affinelens.array_types import Floats
from affinelens.network.build import windows
from affinelens.network.build.builder import Tensor
from affinelens.network.build.replay import Operator
from affinelens.network.build.resize import Resizing, resize
from affinelens.network.build.windows import Adaptive, Window
from affinelens.network.torch.aten_call import AtenCall


def on_images(operator: Operator) -> Operator:
    """An operator whose result is given the exported shape."""
    return lambda call: call.builder.reshape(operator(call), call.shape)


def _axes(call: AtenCall) -> int:
    """How many axes an operator such as avg_pool2d slides over, from its name or its kernel."""
    digits = [letter for letter in call.node.operator if letter in "123"]
    return int(digits[0]) if digits else call.numbers("weight").ndim - 2


def batched(call: AtenCall) -> Tensor:
    """The operator's tensor with a batch axis."""
    tensor = call.first()
    return call.builder.reshape(tensor, (1, *tensor.shape)) if len(tensor.shape) == _axes(call) + 1 else tensor


def adaptive(call: AtenCall) -> Adaptive:
    return Adaptive(call.shape[-_axes(call) :])


def pooling_window(call: AtenCall) -> Window:
    return _window(call, call.sizes("kernel_size", _axes(call)))


def _window(call: AtenCall, sizes: Sequence[int]) -> Window:
    """The window that the arguments describe; a pooling's stride is its size if none is given."""
    axes, sizes = len(sizes), tuple(sizes)
    strides = call.sizes("stride", axes) or sizes
    dilations = call.sizes("dilation", axes) or (1,) * axes
    named = isinstance(call.given("padding"), str)
    padding = (0,) * axes if named else call.sizes("padding", axes)
    window = Window(sizes, strides, dilations, padding, padding, bool(call.given("ceil_mode")))
    call.builder.specify(str(window))
    return window.padded_to_same(batched(call).shape[2:]) if call.given("padding") == "same" else window


def _kernel(call: AtenCall) -> tuple[Floats, Floats | None]:
    return call.numbers("weight"), None if call.given("bias") is None else call.numbers("bias")


def convolution(call: AtenCall) -> Tensor:
    if call.given("transposed"):
        return transposed_convolution(call)
    weight, bias = _kernel(call)
    return windows.convolve(call.builder, batched(call), weight, bias, _window(call, weight.shape[2:]))


def transposed_convolution(call: AtenCall) -> Tensor:
    weight, bias = _kernel(call)
    window, extra = _window(call, weight.shape[2:]), call.sizes("output_padding", weight.ndim - 2)
    groups = int(call.given("groups"))
    return windows.convolve_transposed(call.builder, batched(call), weight, bias, window, groups, extra)


def resized(call: AtenCall) -> Tensor:
    tensor, axes = call.first(), _axes(call)
    scales: Sequence[float | None] = call.given("scale_factors") or [
        call.given(name) for name in (("scales",) if axes == 1 else ("scales_d", "scales_h", "scales_w")[-axes:])
    ]
    resizings = [
        Resizing(axis, call.shape[axis], Fraction(scale) if scale else Fraction(call.shape[axis], tensor.shape[axis]))
        for axis, scale in zip(range(2, 2 + axes), scales, strict=True)
    ]
    return resize(call.builder, tensor, resizings, "align_corners" if call.given("align_corners") else "half_pixel")
