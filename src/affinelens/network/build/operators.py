"""What operators mean that models apply to tensors and constants alike, whatever a framework calls them.

Each is a function of the builder, of values and of plain attributes; ``name`` names the stage of one that may close a
stage. What is only moved stays what it is, a tensor or a constant in its own type. What is done to a single tensor is
in the builder itself, in ``nonlinear``, ``windows`` and ``resize``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build import nonlinear
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.comparison import choose_by
from affinelens.network.build.shapes import Shape, common_shape, require_size
from affinelens.network.build.values import Array, Comparison, Constant, RefusedError, SignOf, Value, lifted

_TWO_FACTORS = (
    "both factors depend on the network's input; one of them must be a constant, or it is not piecewise affine"
)


def multiply(builder: GraphBuilder, left: Value, right: Value, name: str = "") -> Tensor:
    """The product; a comparison is a factor of 1 where it holds and of 0 elsewhere, a sign one of 1 and of -1."""
    for factor, other in ((left, right), (right, left)):
        if isinstance(factor, SignOf):
            taken = lifted(builder, other)
            return choose_by(builder, Comparison(factor.lead), taken, nonlinear.negated(builder, taken), name)
        if isinstance(factor, Comparison):
            return choose_by(builder, factor, other, Constant(np.zeros(()), "0"), name)
    if isinstance(right, Constant):
        return builder.scale(lifted(builder, left), right.numbers())
    if isinstance(left, Constant):
        return builder.scale(lifted(builder, right), left.numbers())
    raise RefusedError(_TWO_FACTORS)


def divide(builder: GraphBuilder, value: Value, divisor: Value) -> Tensor:
    if not isinstance(divisor, Constant):
        raise RefusedError(
            "the divisor depends on the network's input; it must be a constant, or it is not piecewise affine"
        )
    return builder.divide(lifted(builder, value), divisor.numbers())


def power(builder: GraphBuilder, base: Value, exponent: Value) -> Tensor:
    """The base itself, which is the only power that is piecewise affine."""
    if not isinstance(exponent, Constant) or np.any(exponent.values != 1):
        raise RefusedError("this power is not piecewise affine; an exponent of 1 is read")
    return builder.broadcast(lifted(builder, base), common_shape(base.shape, exponent.shape))


def interpolated(builder: GraphBuilder, start: Value, end: Value, weight: Value) -> Tensor:
    """``start + weight * (end - start)``."""
    moved = builder.subtract(multiply(builder, weight, end), multiply(builder, weight, start))
    return builder.add(lifted(builder, start), moved)


def matrix_product(builder: GraphBuilder, left: Value, right: Value) -> Tensor:
    """``left @ right`` by numpy's rules."""
    if isinstance(right, Constant):
        return builder.matmul_right(lifted(builder, left), right.numbers())
    if isinstance(left, Constant):
        return builder.matmul_left(left.numbers(), lifted(builder, right))
    raise RefusedError(_TWO_FACTORS)


def affine_product(
    builder: GraphBuilder, left: Value, right: Value, addend: Value | None, factors: tuple[Floats, Floats]
) -> Tensor:
    """``factors[0] * (left @ right) + factors[1] * addend``."""
    product = builder.scale(matrix_product(builder, left, right), factors[0])
    return product if addend is None else builder.add(product, builder.scale(lifted(builder, addend), factors[1]))


def choose(builder: GraphBuilder, condition: Value, first: Value, second: Value, name: str) -> Tensor:
    """The entries of ``first`` where the condition holds, and elsewhere those of ``second``."""
    if isinstance(condition, Comparison):
        return choose_by(builder, condition, first, second, name)
    if not isinstance(condition, Constant):
        raise RefusedError("the condition depends on the network's input; it must be a constant")
    chosen = condition.bounds()
    return builder.add(
        builder.scale(lifted(builder, first), chosen), builder.scale(lifted(builder, second), 1.0 - chosen)
    )


def extremum(builder: GraphBuilder, values: Sequence[Value], name: str, *, largest: bool) -> Tensor:
    """The largest or smallest of the values, entry by entry; one tensor and constants is a clipping."""
    tensors = [lifted(builder, value) for value in values if not isinstance(value, Constant)]
    if len(tensors) > 1:
        combine = nonlinear.maximum if largest else nonlinear.minimum
        return combine(builder, [lifted(builder, value) for value in values], name)
    none = np.array(-np.inf if largest else np.inf)
    bound = none
    for constant in values:
        if isinstance(constant, Constant):
            common_shape(bound.shape, constant.shape)
            bound = (np.maximum if largest else np.minimum)(bound, constant.bounds())
    low, high = (bound, -none) if largest else (-none, bound)
    return nonlinear.clip(builder, tensors[0], low, high, name)


def clamp(builder: GraphBuilder, value: Value, low: Value | None, high: Value | None, name: str) -> Tensor:
    """``min(max(value, low), high)``, where a bound that is None cuts nothing."""
    if isinstance(low, Constant | None) and isinstance(high, Constant | None):
        floor = np.array(-np.inf) if low is None else low.bounds()
        ceiling = np.array(np.inf) if high is None else high.bounds()
        return nonlinear.clip(builder, lifted(builder, value), floor, ceiling, name)
    for bound, largest in ((low, True), (high, False)):
        if bound is not None:
            value = extremum(builder, [value, bound], name, largest=largest)
    return lifted(builder, value)


def rearranged(builder: GraphBuilder, value: Value, move: Callable[[Array], Array]) -> Value:
    """A value whose entries are moved as ``move`` does with an array."""
    if not isinstance(value, Constant):
        tensor = lifted(builder, value)
        return builder.rearrange(tensor, move(tensor.positions))
    return Constant(move(value.values), value.name)


def reshaped(builder: GraphBuilder, value: Value, shape: Shape) -> Value:
    if isinstance(value, Comparison):
        return Comparison(builder.reshape(value.lead, shape))
    if isinstance(value, Constant):
        return Constant(value.values.reshape(shape), value.name)
    return builder.reshape(lifted(builder, value), shape)


def padded(builder: GraphBuilder, value: Value, widths: Sequence[tuple[int, int]], mode: str, fill: float) -> Value:
    """The value with entries added at its ends, as numpy's modes do, or dropped where a width is negative."""
    shape = [size + before + after for size, (before, after) in zip(value.shape, widths, strict=True)]
    kept = tuple(slice(max(-b, 0), size - max(-a, 0)) for size, (b, a) in zip(value.shape, widths, strict=True))
    grown = [(max(before, 0), max(after, 0)) for before, after in widths]
    if min(shape, default=1) < 0 or any(part.start > part.stop for part in kept):
        raise AffineLensError(f"padding by {list(widths)} leaves nothing of a tensor of shape {value.shape}")
    require_size(prod(shape), f"a tensor of shape {tuple(shape)}")

    def moved(array: Array, outside: float) -> Array:
        if mode == "constant":
            return np.pad(array[kept], grown, constant_values=outside)
        how: Any = mode
        return np.asarray(np.pad(array[kept], grown, mode=how))

    if isinstance(value, Constant):
        return Constant(moved(value.values, fill), value.name)
    tensor = lifted(builder, value)
    positions = moved(tensor.positions, -1)
    result = builder.rearrange(tensor, positions)
    return builder.add_constant(result, np.where(positions < 0, fill, 0.0)) if fill and mode == "constant" else result
