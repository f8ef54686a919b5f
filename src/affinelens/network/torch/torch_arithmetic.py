"""ATen operators that add and multiply."""

from __future__ import annotations

import numpy as np

from affinelens.network.build import nonlinear
from affinelens.network.build.builder import Tensor
from affinelens.network.torch.torch_replay import Call


def _times(call: Call, tensor: Tensor, argument: str) -> Tensor:
    """The tensor times a Python number among the arguments."""
    return call.builder.scale(tensor, call.array(argument))


def linear(call: Call) -> Tensor:
    product = call.builder.matmul_right(call.tensor("input"), call.array("weight").T)
    return product if call.value("bias") is None else call.builder.add_constant(product, call.array("bias"))


def _product(call: Call, left: str, right: str) -> Tensor:
    if call.is_constant(right):
        return call.builder.matmul_right(call.tensor(left), call.array(right))
    if call.is_constant(left):
        return call.builder.matmul_left(call.array(left), call.tensor(right))
    return call.refuse("both factors depend on the input; one must be a constant, or it is not piecewise affine")


def matmul(call: Call) -> Tensor:
    return _product(call, "self", "other")


def mm(call: Call) -> Tensor:
    return _product(call, "self", "mat2")


def mv(call: Call) -> Tensor:
    return _product(call, "self", "vec")


def dot(call: Call) -> Tensor:
    return _product(call, "self", "tensor")


def addmm(call: Call) -> Tensor:
    product = _times(call, _product(call, "mat1", "mat2"), "alpha")
    return call.builder.add(_times(call, call.tensor("self"), "beta"), product)


def baddbmm(call: Call) -> Tensor:
    product = _times(call, _product(call, "batch1", "batch2"), "alpha")
    return call.builder.add(_times(call, call.tensor("self"), "beta"), product)


def add(call: Call) -> Tensor:
    return call.builder.add(call.tensor("self"), _times(call, call.tensor("other"), "alpha"))


def subtract(call: Call) -> Tensor:
    return call.builder.subtract(call.tensor("self"), _times(call, call.tensor("other"), "alpha"))


def subtract_from(call: Call) -> Tensor:
    return call.builder.subtract(call.tensor("other"), _times(call, call.tensor("self"), "alpha"))


def multiply(call: Call) -> Tensor:
    if call.is_constant("other"):
        return call.builder.scale(call.tensor("self"), call.array("other"))
    if call.is_constant("self"):
        return call.builder.scale(call.tensor("other"), call.array("self"))
    return call.refuse("both factors depend on the input; one must be a constant, or it is not piecewise affine")


def divide(call: Call) -> Tensor:
    if call.value("rounding_mode") is not None:
        call.refuse("a division that rounds is not piecewise affine")
    if not call.is_constant("other"):
        call.refuse("the divisor depends on the input; it must be a constant, or it is not piecewise affine")
    return call.builder.divide(call.tensor("self"), call.array("other"))


def negate(call: Call) -> Tensor:
    return nonlinear.negated(call.builder, call.tensor("self"))


def batch_norm(call: Call) -> tuple[Tensor]:
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


def sum_over(call: Call) -> Tensor:
    tensor = call.tensor("self")
    return call.builder.sum_over(tensor, call.axes("dim", len(tensor.shape)), keep=bool(call.value("keepdim")))


def mean_over(call: Call) -> Tensor:
    tensor = call.tensor("self")
    return call.builder.mean_over(tensor, call.axes("dim", len(tensor.shape)), keep=bool(call.value("keepdim")))
