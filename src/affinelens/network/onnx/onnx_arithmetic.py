"""ONNX operators that add and multiply."""

from __future__ import annotations

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build import nonlinear
from affinelens.network.build.builder import Tensor
from affinelens.network.onnx.onnx_layout import transposed
from affinelens.network.onnx.onnx_replay import Call, Constant, Value


def add(call: Call) -> Value:
    return call.builder.add(call.tensor(0), call.tensor(1))


def add_all(call: Call) -> Value:
    return call.builder.add_all([call.lifted(value) for value in call.values()])


def mean_of_all(call: Call) -> Value:
    return call.builder.divide(call.lifted(add_all(call)), np.array(float(len(call.node.inputs))))


def subtract(call: Call) -> Value:
    return call.builder.subtract(call.tensor(0), call.tensor(1))


def multiply(call: Call) -> Value:
    left, right = call.value(0), call.value(1)
    if isinstance(right, Constant):
        return call.builder.scale(call.lifted(left), right.numbers())
    if isinstance(left, Constant):
        return call.builder.scale(right, left.numbers())
    return call.refuse(
        "both factors depend on the network's input; one of them must be a constant, or it is not piecewise affine"
    )


def divide(call: Call) -> Value:
    if isinstance(call.value(1), Tensor):
        call.refuse("the divisor depends on the network's input; it must be a constant, or it is not piecewise affine")
    return call.builder.divide(call.tensor(0), call.array(1))


def negate(call: Call) -> Value:
    return nonlinear.negated(call.builder, call.tensor(0))


def matmul(call: Call) -> Value:
    return _product(call, call.value(0), call.value(1))


def gemm(call: Call) -> Value:
    factors = [call.value(position) for position in (0, 1)]
    if any(len(factor.shape) != 2 for factor in factors):
        raise AffineLensError(f"matrices are needed, but the shapes are {factors[0].shape} and {factors[1].shape}")
    left, right = (
        transposed(call, factor, (1, 0)) if call.node.integer(attribute, 0) else factor
        for factor, attribute in zip(factors, ("transA", "transB"), strict=True)
    )
    product = call.builder.scale(_product(call, left, right), call.node.number("alpha", 1.0))
    if not call.has(2):
        return product
    return call.builder.add(product, call.builder.scale(call.tensor(2), call.node.number("beta", 1.0)))


def _product(call: Call, left: Value, right: Value) -> Tensor:
    if isinstance(right, Constant):
        return call.builder.matmul_right(call.lifted(left), right.numbers())
    if isinstance(left, Constant):
        return call.builder.matmul_left(left.numbers(), right)
    return call.refuse(
        "both factors depend on the network's input; one of them must be a constant, or it is not piecewise affine"
    )


def batch_norm(call: Call) -> Value:
    if call.node.integer("training_mode", 0) or sum(map(bool, call.node.outputs)) > 1:
        raise AffineLensError("batch norm is in training mode; export the model in evaluation mode")
    if not call.node.integer("spatial", 1):
        raise AffineLensError("batch norm with spatial=0 is not read; export the model with operator set 9 or later")
    gain, shift, mean, variance = (call.array(position) for position in (1, 2, 3, 4))
    return call.builder.batch_norm(
        call.tensor(0),
        gain=gain,
        shift=shift,
        mean=mean,
        variance=variance,
        epsilon=float(call.node.number("epsilon", 1e-5)),
        name=call.name,
    )
