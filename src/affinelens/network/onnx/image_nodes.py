"""ONNX operators on images, read from their attributes: convolutions, poolings, resizing."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build import windows
from affinelens.network.build.builder import Tensor
from affinelens.network.build.resize import Resizing
from affinelens.network.build.resize import resize as resize_axes
from affinelens.network.build.shapes import checked_axis
from affinelens.network.build.windows import Window, spatial_sizes
from affinelens.network.onnx.node_call import NodeCall


def _window(call: NodeCall, sizes: Sequence[int]) -> Window:
    """The window that a node's attributes describe."""
    spatial = spatial_sizes(call.value(0).shape)
    axes = len(spatial)
    strides = call.node.integers("strides") or [1] * axes
    dilations = call.node.integers("dilations") or [1] * axes
    pads = call.node.integers("pads") or [0] * (2 * axes)
    if len(pads) != 2 * axes or len(sizes) != axes:
        raise AffineLensError(
            f"a window of {list(sizes)} with pads={pads} does not fit spatial axes of sizes {spatial}"
        )
    ceil = call.node.integer("ceil_mode", 0) == 1
    window = Window(tuple(sizes), tuple(strides), tuple(dilations), tuple(pads[:axes]), tuple(pads[axes:]), ceil)
    call.builder.specify(str(window))
    automatic = call.node.text("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        return window.padded_to_same(spatial, upper=automatic == "SAME_UPPER")
    if automatic == "VALID":
        return window.padded([0] * axes)
    if automatic != "NOTSET":
        raise AffineLensError(f"auto_pad={automatic!r} is not read; accepted are NOTSET, SAME_UPPER, SAME_LOWER, VALID")
    return window


def pooling_window(call: NodeCall) -> Window:
    window = _window(call, call.node.integers("kernel_shape") or [])
    if call.node.text("auto_pad", "NOTSET").startswith("SAME"):
        spans = zip(spatial_sizes(call.value(0).shape), window.strides, window.sizes, strict=True)
        gap = max((size - 1) % stride + 1 - reach for size, stride, reach in spans)
        if set(window.dilations) != {1} or gap > 1:
            raise AffineLensError(
                "auto_pad with dilations or with gaps between the windows means different things to different runtimes "
                "and is not read; give the pads"
            )
    return window


def spatial_axes(call: NodeCall) -> range:
    return range(2, 2 + len(spatial_sizes(call.value(0).shape)))


def _kernel(call: NodeCall) -> tuple[Floats, Floats | None]:
    weight = call.numbers(1)
    given = call.node.integers("kernel_shape")
    if given is not None and tuple(given) != weight.shape[2:]:
        raise AffineLensError(f"kernel_shape={given} does not fit a kernel of shape {weight.shape}")
    return weight, call.numbers(2) if call.has(2) else None


def convolution(call: NodeCall) -> Tensor:
    weight, bias = _kernel(call)
    tensor, groups = call.tensor(0), call.node.integer("group", 1)
    if weight.ndim < 2 or tensor.shape[1:2] != (weight.shape[1] * groups,):
        raise AffineLensError(
            f"a kernel of shape {weight.shape} in {groups} groups does not fit a tensor of shape {tensor.shape}"
        )
    return windows.convolve(call.builder, tensor, weight, bias, _window(call, weight.shape[2:]))


def transposed_convolution(call: NodeCall) -> Tensor:
    weight, bias = _kernel(call)
    window = _window(call, weight.shape[2:])
    spatial = spatial_sizes(call.value(0).shape)
    extra = call.node.integers("output_padding") or [0] * len(spatial)
    wanted = call.node.integers("output_shape")
    automatic = call.node.text("auto_pad", "NOTSET")
    if wanted is None and automatic.startswith("SAME"):
        wanted = [size * stride for size, stride in zip(spatial, window.strides, strict=True)]
    if len(extra) != len(spatial) or (wanted is not None and len(wanted) != len(spatial)):
        raise AffineLensError(f"output_padding={extra} or output_shape={wanted} does not fit {len(spatial)} axes")
    if wanted is not None:
        full = [
            (size - 1) * window.strides[axis] + window.extent(axis) + extra[axis] for axis, size in enumerate(spatial)
        ]
        totals = [most - size for most, size in zip(full, wanted, strict=True)]
        window = window.padded([max(total, 0) for total in totals], upper=automatic == "SAME_UPPER")
        if "output_shape" in call.node.attributes:  # onnxruntime never widens a result for auto_pad
            extra = [more + max(-total, 0) for more, total in zip(extra, totals, strict=True)]
    groups = call.node.integer("group", 1)
    return windows.convolve_transposed(call.builder, call.tensor(0), weight, bias, window, groups, tuple(extra))


def resize(call: NodeCall) -> Tensor:
    for attribute in ("antialias", "exclude_outside"):
        if call.node.integer(attribute, 0):
            raise AffineLensError(f"{attribute}=1 is not read; export the model without it")
    if call.node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise AffineLensError("keep_aspect_ratio_policy is not read; export the model with the sizes it comes to")
    older = call.opset < 11
    scales_at = 1 if older else 2
    scales = call.constant(scales_at).values.ravel().tolist() if call.has(scales_at) else []
    sizes = call.integers(3) if call.has(3) else []
    way = call.node.text("coordinate_transformation_mode", "asymmetric" if older else "half_pixel")
    rounding = call.node.text("nearest_mode", "floor" if older else "round_prefer_floor")
    return _resized(call, scales, sizes, way, rounding)


def upsample(call: NodeCall) -> Tensor:
    given = call.constant(1).values.ravel().tolist() if call.has(1) else call.node.attributes.get("scales", [])
    return _resized(call, given, [], "asymmetric", "floor")


def _resized(call: NodeCall, scales: Sequence[float], sizes: Sequence[int], way: str, rounding: str) -> Tensor:
    tensor = call.tensor(0)
    rank = len(tensor.shape)
    axes = [checked_axis(axis, rank) for axis in call.node.integers("axes") or range(rank)]
    mode = call.node.text("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear", "trilinear"):
        raise AffineLensError(f"mode={mode!r} is not read; accepted are nearest and linear")
    if len(sizes or scales) != len(axes) or not all(0 < scale < np.inf for scale in scales):
        raise AffineLensError(
            f"scales {list(scales)} and sizes {list(sizes)} do not fit a tensor of shape {tensor.shape}"
        )
    resizings = []
    for position, axis in enumerate(axes):
        size = tensor.shape[axis]
        scale = Fraction(sizes[position], max(size, 1)) if sizes else Fraction(scales[position])
        resizings.append(Resizing(axis, sizes[position] if sizes else floor(size * scale), scale))
    return resize_axes(call.builder, tensor, resizings, way, rounding if mode == "nearest" else None)
