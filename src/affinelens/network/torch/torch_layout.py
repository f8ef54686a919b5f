"""ATen operators that choose entries or move them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from affinelens.network.build.builder import Tensor
from affinelens.network.torch.torch_replay import Call, result_of


def where(call: Call) -> Tensor:
    if not call.is_constant("condition"):
        call.refuse("the condition depends on the input; it must be a constant")
    chosen = call.constant("condition").double().numpy(force=True)
    first, second = (
        call.builder.scale(call.tensor("self"), chosen),
        call.builder.scale(call.tensor("other"), 1 - chosen),
    )
    return call.builder.add(first, second)


def masked_fill(call: Call) -> Tensor:
    filled = call.constant("mask").double().numpy(force=True)
    kept = call.builder.scale(call.tensor("self"), 1 - filled)
    return call.builder.add_constant(kept, filled * call.array("value"))


def reshape(call: Call) -> Tensor:
    """Every operator that keeps the numbers and their order; the exporter has worked out the shape."""
    if not result_of(call.node).is_floating_point():
        call.refuse(f"a conversion to {result_of(call.node).dtype} is not piecewise affine")
    first = call.node.target._schema.arguments[0].name
    return call.builder.reshape(call.tensor(first), call.shape)


def concatenate(call: Call) -> Tensor:
    parts = [part for part in call.tensors("tensors") if part.shape != (0,)]
    return call.builder.concatenate(parts, call.value("dim") % len(parts[0].shape))


def stack(call: Call) -> Tensor:
    axis = call.value("dim") % len(call.shape)
    shape = (*call.shape[:axis], 1, *call.shape[axis + 1 :])
    parts = [call.builder.reshape(part, shape) for part in call.tensors("tensors")]
    return call.builder.concatenate(parts, axis)


def pad(call: Call) -> Tensor:
    """Padding; a constant other than zero is added where the padding is."""
    mode, fill = call.value("mode") or "constant", call.value("value")
    moved: Tensor = call.moved() if mode != "constant" or not fill else _padded(call, float(call.array("value")))
    return moved


def _padded(call: Call, fill: float) -> Tensor:
    tensor, widths = call.tensor("self"), list(call.value("pad"))
    pad = torch.nn.functional.pad
    positions = pad(torch.arange(tensor.size).reshape(tensor.shape), widths, value=-1).numpy()
    return call.builder.add_constant(call.builder.rearrange(tensor, positions), np.where(positions < 0, fill, 0.0))


def of_shape(call: Call) -> Any:
    """Constants made to the measure of a tensor, such as zeros_like."""
    example = torch.empty(call.tensor("self").shape, dtype=result_of(call.node).dtype)
    return call.node.target(example, *call.node.args[1:], **{**call.node.kwargs, "device": None, "pin_memory": None})
