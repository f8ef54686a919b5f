"""Moving entries: a value that is rearranged stays what it is, a tensor or a constant in its own type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.shapes import Shape, require_size
from affinelens.network.build.values import Array, Constant, Value, lifted


def rearranged(builder: GraphBuilder, value: Value, move: Callable[[Array], Array], shape: Sequence[int] = ()) -> Value:
    """A value whose entries are moved as ``move`` does with an array; ``shape`` is the result's, if it may grow."""
    require_size(prod(shape), f"a tensor of shape {tuple(shape)}")
    if isinstance(value, Tensor):
        return builder.rearrange(value, move(value.positions))
    return Constant(move(value.values), value.name)


def reshaped(builder: GraphBuilder, value: Value, shape: Shape) -> Value:
    if min(shape, default=0) < 0 or prod(shape) != prod(value.shape):
        raise AffineLensError(f"a tensor of shape {value.shape} cannot be reshaped to {shape}")
    if isinstance(value, Tensor):
        return builder.reshape(value, shape)
    return Constant(value.values.reshape(shape), value.name)


def concatenated(builder: GraphBuilder, values: Sequence[Value], axis: int) -> Tensor:
    return builder.concatenate([lifted(builder, value) for value in values], axis)


def padded(
    builder: GraphBuilder, value: Value, widths: Sequence[tuple[int, int]], mode: str = "constant", fill: float = 0.0
) -> Value:
    """The value with entries added at its ends, as numpy's modes do, or dropped where a width is negative."""
    shape = [size + before + after for size, (before, after) in zip(value.shape, widths, strict=True)]
    kept = tuple(slice(max(-b, 0), size - max(-a, 0)) for size, (b, a) in zip(value.shape, widths, strict=True))
    grown = [(max(before, 0), max(after, 0)) for before, after in widths]
    if min(shape, default=1) < 0 or any(part.start > part.stop for part in kept):
        raise AffineLensError(f"padding by {list(widths)} leaves nothing of a tensor of shape {value.shape}")

    def moved(array: Array, outside: float) -> Array:
        if mode == "constant":
            return np.pad(array[kept], grown, constant_values=outside)
        how: Any = mode
        return np.asarray(np.pad(array[kept], grown, mode=how))

    if isinstance(value, Constant):
        return rearranged(builder, value, lambda array: moved(array, fill), shape)
    result = lifted(builder, rearranged(builder, value, lambda positions: moved(positions, -1), shape))
    if mode != "constant" or fill == 0:
        return result
    return builder.add_constant(result, np.where(moved(value.positions, -1) < 0, fill, 0.0))
