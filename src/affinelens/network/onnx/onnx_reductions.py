"""ONNX operators that take sums, means and maxima over axes."""

from __future__ import annotations

from collections.abc import Callable

from affinelens.network.build import nonlinear
from affinelens.network.build.builder import Tensor
from affinelens.network.onnx.onnx_replay import Call, Operator, Value


def reduction(reduce: Callable[[Call, Tensor, list[int], bool], Tensor]) -> Operator:
    def operator(call: Call) -> Value:
        tensor = call.tensor(0)
        axes = call.reduced_axes(len(tensor.shape))
        return tensor if axes is None else reduce(call, tensor, axes, bool(call.node.integer("keepdims", 1)))

    return operator


def sum_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return call.builder.sum_over(tensor, axes, keep=keep)


def mean_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return call.builder.mean_over(tensor, axes, keep=keep)


def max_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return nonlinear.maximum_over(call.builder, tensor, axes, call.name, keep=keep)


def min_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    negative = nonlinear.negated(call.builder, tensor)
    return nonlinear.negated(call.builder, max_over(call, negative, axes, keep))


def absolute_sum_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return sum_over(call, nonlinear.absolute(call.builder, tensor, call.name), axes, keep)
