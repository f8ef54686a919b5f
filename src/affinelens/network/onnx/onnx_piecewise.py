"""ONNX operators that are made of pieces: activations, maxima, choices."""

from __future__ import annotations

import numpy as np

from affinelens.network.build import nonlinear
from affinelens.network.build.builder import Tensor, common_shape
from affinelens.network.onnx.onnx_replay import Call, Constant, Floats, Value


def relu(call: Call) -> Value:
    return nonlinear.rectify(call.builder, call.tensor(0), np.array(0.0), call.name)


def leaky_relu(call: Call) -> Value:
    return nonlinear.rectify(call.builder, call.tensor(0), call.node.number("alpha", 0.01), call.name)


def prelu(call: Call) -> Value:
    return nonlinear.rectify(call.builder, call.tensor(0), call.array(1), call.name)


def thresholded_relu(call: Call) -> Value:
    if call.node.number("alpha", 1.0) != 0:
        call.refuse("ThresholdedRelu jumps at its threshold, so it is not continuous unless alpha is 0")
    return relu(call)


def shrink(call: Call) -> Value:
    width, shift = float(call.node.number("lambd", 0.5)), float(call.node.number("bias", 0.0))
    if width != shift:
        call.refuse(f"shrinking with lambd={width:g} and bias={shift:g} is not continuous; the two must be equal")
    return nonlinear.soft_shrink(call.builder, call.tensor(0), width, call.name)


def absolute(call: Call) -> Value:
    return nonlinear.absolute(call.builder, call.tensor(0), call.name)


def clip(call: Call) -> Value:
    low, high = (
        _bound(call, position, attribute, default)
        for position, attribute, default in ((1, "min", -np.inf), (2, "max", np.inf))
    )
    return nonlinear.clip(call.builder, call.tensor(0), low, high, call.name)


def _bound(call: Call, position: int, attribute: str, default: float) -> Floats:
    """A bound from an input or, in older operator sets, an attribute."""
    if call.has(position):
        return call.constant(position).bounds()
    return np.array(call.node.attributes.get(attribute, default), dtype=np.float64)


def hard_sigmoid(call: Call) -> Value:
    scaled = call.builder.scale(call.tensor(0), call.node.number("alpha", 0.2))
    moved = call.builder.add_constant(scaled, call.node.number("beta", 0.5))
    return nonlinear.clip(call.builder, moved, np.array(0.0), np.array(1.0), call.name)


def maximum(call: Call) -> Value:
    return _extremum(call, largest=True)


def minimum(call: Call) -> Value:
    return _extremum(call, largest=False)


def _extremum(call: Call, *, largest: bool) -> Value:
    """The largest or smallest of the inputs; against constants alone it is a clipping."""
    tensors = [value for value in call.values() if isinstance(value, Tensor)]
    constants = [value for value in call.values() if isinstance(value, Constant)]
    if len(tensors) > 1:
        everything = [call.lifted(value) for value in call.values()]
        combine = nonlinear.maximum if largest else nonlinear.minimum
        return combine(call.builder, everything, call.name)
    none = np.array(-np.inf if largest else np.inf)
    bound = none
    for constant in constants:
        common_shape(bound.shape, constant.shape)
        bound = np.maximum(bound, constant.bounds()) if largest else np.minimum(bound, constant.bounds())
    low, high = (bound, -none) if largest else (-none, bound)
    return nonlinear.clip(call.builder, tensors[0], low, high, call.name)


def where(call: Call) -> Value:
    if isinstance(call.value(0), Tensor):
        call.refuse("the condition depends on the network's input; it must be a constant")
    chosen = call.constant(0).values.astype(np.float64)
    first, second = (call.builder.scale(call.tensor(k), mask) for k, mask in ((1, chosen), (2, 1.0 - chosen)))
    return call.builder.add(first, second)
