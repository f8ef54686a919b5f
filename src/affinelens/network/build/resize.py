"""Resizing along an axis, nearest or linear, with exact rational weights.

Where an output entry lies among the inputs is a rational number, so a weight is an integer over a common denominator,
and both are kept: nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm, prod

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.shapes import require_size
from affinelens.network.linear_map import Sparse

Coordinate = Callable[[int], Fraction]
_HALF = Fraction(1, 2)

# Where an entry lies is a fraction, which takes as much time and room as so many numbers.
_WORK_OF_AN_ENTRY = 64
# Integers up to this one are float64 numbers.
_LARGEST_WEIGHT = 2**53

ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": lambda x: ceil(x - _HALF),
    "round_prefer_ceil": lambda x: floor(x + _HALF),
    "floor": floor,
    "ceil": ceil,
}


def _coordinate(mode: str, size: int, outputs: int, scale: Fraction) -> Coordinate:
    """Where output j lies among the inputs, by the ways that ONNX names; ``scale`` is about outputs / size."""
    middle = Fraction(size, 2) * (1 - Fraction(outputs) / (scale * size))
    ways: dict[str, Coordinate] = {
        "half_pixel": lambda j: (j + _HALF) / scale - _HALF,
        "half_pixel_symmetric": lambda j: middle + (j + _HALF) / scale - _HALF,
        "pytorch_half_pixel": lambda j: (j + _HALF) / scale - _HALF if outputs > 1 else Fraction(0),
        "align_corners": lambda j: Fraction(j * (size - 1), outputs - 1) if outputs > 1 else Fraction(0),
        "asymmetric": lambda j: j / scale,
        "tf_half_pixel_for_nn": lambda j: (j + _HALF) / scale,
    }
    if mode not in ways:
        raise AffineLensError(f"the coordinate transformation {mode!r} is not read; accepted are {', '.join(ways)}")
    return ways[mode]


@dataclass(frozen=True)
class Resizing:
    """How one axis is resized; ``scale`` is about outputs over inputs, or exactly."""

    axis: int
    outputs: int
    scale: Fraction


def resize(
    builder: GraphBuilder, tensor: Tensor, resizings: Sequence[Resizing], way: str, rounding: str | None = None
) -> Tensor:
    """The tensor resized axis by axis: to the nearest entries by a way of rounding, or linearly where that is None."""
    _require_result(tensor, resizings)
    for resizing in resizings:
        axis, outputs, scale = resizing.axis, resizing.outputs, resizing.scale
        size = tensor.shape[axis]
        stays = size == outputs and way == "align_corners"
        if stays or scale == 1 or scale <= 0:
            if outputs != size:
                raise AffineLensError(f"axis {axis} cannot be resized to {outputs} entries")
            continue
        where = _coordinate(way, size, outputs, scale)
        if rounding is None:
            tensor = _resize_linear(builder, tensor, axis, outputs, where)
        else:
            tensor = _resize_nearest(builder, tensor, axis, outputs, where, rounding)
    return tensor


def _resize_nearest(
    builder: GraphBuilder, tensor: Tensor, axis: int, outputs: int, where: Coordinate, rounding: str
) -> Tensor:
    """Every output entry along the axis is the input entry nearest to where it lies."""
    if rounding not in ROUNDINGS:
        raise AffineLensError(f"the rounding {rounding!r} is not read; accepted are {', '.join(ROUNDINGS)}")
    size = tensor.shape[axis]
    indices = [min(max(ROUNDINGS[rounding](where(j)), 0), size - 1) for j in range(outputs)]
    return builder.rearrange(tensor, np.take(tensor.positions, indices, axis))


def _resize_linear(builder: GraphBuilder, tensor: Tensor, axis: int, outputs: int, where: Coordinate) -> Tensor:
    """Every output entry along the axis is a mean of its two neighbors, weighted by its distance from them."""
    size = tensor.shape[axis]
    places = [min(max(where(j), Fraction(0)), Fraction(size - 1)) for j in range(outputs)]
    common = lcm(*(place.denominator for place in places))
    if common > _LARGEST_WEIGHT:
        raise AffineLensError(
            f"resizing {size} to {outputs} entries by this scale needs weights over {common}, which float64 cannot "
            f"hold; give the sizes instead of the scale"
        )
    lower = [floor(place) for place in places]
    upper_weight = [int((place - base) * common) for place, base in zip(places, lower, strict=True)]
    neighbors = np.array([lower, [min(base + 1, size - 1) for base in lower]])
    weights = np.array([[common - weight for weight in upper_weight], upper_weight], dtype=np.float64)
    shape = (*tensor.shape[:axis], outputs, *tensor.shape[axis + 1 :])
    columns = np.stack([np.take(tensor.positions, row, axis) for row in neighbors], axis=-1)
    along = (1,) * axis + (outputs,) + (1,) * (len(shape) - axis - 1)
    values = np.broadcast_to(np.stack([row.reshape(along) for row in weights], axis=-1), columns.shape)
    used = values != 0
    starts = np.cumsum([0, *used.sum(axis=-1).ravel()])
    mixed = builder.linear(tensor, Sparse(starts, columns[used], values[used], tensor.size), shape)
    return mixed if common == 1 else builder.divide(mixed, np.array(float(common)))


def _require_result(tensor: Tensor, resizings: Sequence[Resizing]) -> None:
    """Refuse what is too large on the way or in the end, before any of it is built."""
    shape = list(tensor.shape)
    largest = prod(shape)
    for resizing in resizings:
        size, outputs = shape[resizing.axis], resizing.outputs
        if outputs < 1 or size < 1:
            raise AffineLensError(
                f"axis {resizing.axis} of a tensor of shape {tensor.shape} cannot be resized to {outputs} entries"
            )
        require_size(_WORK_OF_AN_ENTRY * outputs, f"resizing an axis to {outputs} entries")
        shape[resizing.axis] = outputs
        largest = max(largest, prod(shape))
    require_size(2 * largest, f"resizing to shape {tuple(shape)}")
