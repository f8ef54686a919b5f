"""Affine operators of the domain ai.onnx.ml: what scikit-learn's converters put before and behind a network."""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build.builder import Tensor
from affinelens.network.build.operators import rearranged
from affinelens.network.build.values import RefusedError, Value, parameter
from affinelens.network.onnx.node_call import NodeCall


def _floats(call: NodeCall, attribute: str) -> Floats:
    given = call.node.attributes.get(attribute, [])
    if not isinstance(given, list) or not all(isinstance(number, float) for number in given):
        raise AffineLensError(f"attribute {attribute} must be a list of floats")
    return parameter(np.array(given, dtype=np.float32), f"attribute {attribute}")


def _scaled(call: NodeCall) -> Tensor:
    """``(x - offset) * scale``."""
    moved = call.builder.add_constant(call.tensor(0), -_floats(call, "offset"))
    return call.builder.scale(moved, _floats(call, "scale"))


def _regression(call: NodeCall) -> Tensor:
    """``x @ coefficients.T + intercepts``, a row of coefficients for each target."""
    if call.node.text("post_transform", "NONE") != "NONE":
        raise RefusedError("a linear regressor is read without post_transform alone")
    targets = call.node.integer("targets", 1)
    coefficients, intercepts = _floats(call, "coefficients"), _floats(call, "intercepts")
    product = call.builder.matmul_right(call.tensor(0), coefficients.reshape(targets, -1).T)
    return call.builder.add_constant(product, intercepts) if intercepts.size else product


def _extracted(call: NodeCall) -> Value:
    """The entries at given places along the last axis."""
    places = call.integers(1)
    return rearranged(call.builder, call.value(0), lambda array: array[..., places])


def _joined(call: NodeCall) -> Tensor:
    return call.builder.concatenate(call.tensors(), 1)


OPERATORS = {
    "ai.onnx.ml.ArrayFeatureExtractor": _extracted,
    "ai.onnx.ml.FeatureVectorizer": _joined,
    "ai.onnx.ml.LinearRegressor": _regression,
    "ai.onnx.ml.Scaler": _scaled,
}
