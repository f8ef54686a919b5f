"""ONNX operators that make images larger or smaller."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import Tensor, checked_axis
from affinelens.network.build.resize import coordinate, resize_linear, resize_nearest
from affinelens.network.onnx.onnx_replay import Call, Value


def resize(call: Call) -> Value:
    tensor = call.tensor(0)
    rank = len(tensor.shape)
    for attribute, only in (("antialias", 0), ("exclude_outside", 0)):
        if call.node.integer(attribute, only) != only:
            raise AffineLensError(f"{attribute}=1 is not read; export the model without it")
    if call.node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise AffineLensError("keep_aspect_ratio_policy is not read; export the model with the sizes it comes to")
    axes = [checked_axis(axis, rank) for axis in call.node.integers("axes") or range(rank)]
    scales_at = 1 if call.opset < 11 else 2
    scales = call.constant(scales_at).values.ravel().tolist() if call.has(scales_at) else []
    sizes = call.integers(3) if call.has(3) else []
    older = call.opset < 11
    way = call.node.text("coordinate_transformation_mode", "asymmetric" if older else "half_pixel")
    rounding = call.node.text("nearest_mode", "floor" if older else "round_prefer_floor")
    return _resized(call, tensor, axes, scales, sizes, way, rounding)


def upsample(call: Call) -> Value:
    scales: list[float] = call.node.attributes.get("scales", [])
    if call.has(1):
        scales = call.constant(1).values.ravel().tolist()
    tensor = call.tensor(0)
    return _resized(call, tensor, range(len(tensor.shape)), scales, [], "asymmetric", "floor")


def _resized(
    call: Call,
    tensor: Tensor,
    axes: Sequence[int],
    scales: Sequence[float],
    sizes: Sequence[int],
    way: str,
    rounding: str,
) -> Tensor:
    mode = call.node.text("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear", "trilinear"):
        raise AffineLensError(f"mode={mode!r} is not read; accepted are nearest and linear")
    if len(sizes or scales) != len(axes) or not all(0 < scale < np.inf for scale in scales):
        raise AffineLensError(
            f"scales {list(scales)} and sizes {list(sizes)} do not fit a tensor of shape {tensor.shape}"
        )
    for position, axis in enumerate(axes):
        size = tensor.shape[axis]
        scale = Fraction(sizes[position], max(size, 1)) if sizes else Fraction(scales[position])
        outputs = sizes[position] if sizes else floor(size * scale)
        if scale == 1 or scale <= 0:
            if outputs != size:
                raise AffineLensError(f"axis {axis} cannot be resized to {outputs} entries")
            continue
        where = coordinate(way, size, outputs, scale)
        if mode == "nearest":
            tensor = resize_nearest(call.builder, tensor, axis, outputs, where, rounding)
        else:
            tensor = resize_linear(call.builder, tensor, axis, outputs, where)
    return tensor
