"""ATen operators that are made of pieces: activations and maxima."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from affinelens.network.build import nonlinear
from affinelens.network.build.builder import Tensor
from affinelens.network.torch.torch_replay import Call


def relu(call: Call) -> Tensor:
    return nonlinear.rectify(call.builder, call.tensor("self"), np.array(0.0), call.name)


def leaky_relu(call: Call) -> Tensor:
    return nonlinear.rectify(call.builder, call.tensor("self"), call.array("negative_slope"), call.name)


def random_relu(call: Call) -> Tensor:
    """In evaluation mode the slope is the mean of its bounds."""
    if call.value("training"):
        call.refuse("rrelu draws random slopes in training mode; a network must be a function")
    slope = (call.value("lower") + call.value("upper")) / 2
    rounded = call.replay.numbers(slope, call.node, None)
    return nonlinear.rectify(call.builder, call.tensor("self"), rounded, call.name)


def prelu(call: Call) -> Tensor:
    tensor, slopes = call.tensor("self"), call.array("weight")
    per_channel = (-1,) + (1,) * max(len(tensor.shape) - 2, 0)
    return nonlinear.rectify(call.builder, tensor, slopes.reshape(per_channel), call.name)


def absolute(call: Call) -> Tensor:
    return nonlinear.absolute(call.builder, call.tensor("self"), call.name)


def threshold(call: Call) -> Tensor:
    level, value = call.array("threshold"), call.array("value")
    if level != value:
        call.refuse(f"threshold {float(level):g} with value {float(value):g} is not continuous; the two must be equal")
    return nonlinear.clip(call.builder, call.tensor("self"), level, np.array(np.inf), call.name)


def clamp(call: Call) -> Tensor:
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


def hard_tanh(call: Call) -> Tensor:
    low, high = call.bounds("min_val", -np.inf), call.bounds("max_val", np.inf)
    return nonlinear.clip(call.builder, call.tensor("self"), low, high, call.name)


def relu6(call: Call) -> Tensor:
    return nonlinear.clip(call.builder, call.tensor("self"), np.array(0.0), np.array(6.0), call.name)


def hard_sigmoid(call: Call) -> Tensor:
    moved = call.builder.add_constant(call.tensor("self"), np.array(3.0))
    clipped = nonlinear.clip(call.builder, moved, np.array(0.0), np.array(6.0), call.name)
    return call.builder.divide(clipped, np.array(6.0))


def maximum(call: Call) -> Any:
    return _extremum(call, largest=True)


def minimum(call: Call) -> Any:
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
