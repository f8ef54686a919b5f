"""Shapes and sizes of tensors: how they combine, and which are too large to be a network's."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Indices
from affinelens.errors import AffineLensError, Option

Shape = tuple[int, ...]
Number = TypeVar("Number", bound=np.generic)
# A tensor of more numbers than this is a mistake or an attack, not a network.
_LARGEST = 2**25


def without_batch(shape: Shape) -> Shape:
    """A tensor's shape as the user thinks of it: for one input."""
    return shape[1:] if len(shape) > 1 and shape[0] == 1 else shape


def axes_last(positions: Indices, axes: Sequence[int]) -> Indices:
    """One row for each index of the other axes, holding all positions along the given ones."""
    others = [axis for axis in range(positions.ndim) if axis not in axes]
    count = prod(positions.shape[axis] for axis in axes)
    return np.ascontiguousarray(positions.transpose(*others, *sorted(axes)).reshape(-1, count))


def reduced_shape(shape: Shape, axes: Sequence[int], *, keep: bool) -> Shape:
    """A tensor's shape after a sum or a maximum over axes."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes)


def spread(values: NDArray[Number], shape: Shape) -> NDArray[Number]:
    """The values broadcast to a shape, flattened."""
    require_size(prod(shape), f"a tensor of shape {shape}")
    if common_shape(values.shape, shape) != shape:
        raise AffineLensError(f"a constant of shape {values.shape} does not fit a tensor of shape {shape}")
    return np.ascontiguousarray(np.broadcast_to(values, shape).ravel())


def common_shape(left: Shape, right: Shape) -> Shape:
    """The shape two shapes broadcast to."""
    try:
        return np.broadcast_shapes(left, right)
    except ValueError:
        raise AffineLensError(f"shapes {left} and {right} cannot be combined element by element") from None


def checked_shape(sizes: Sequence[int]) -> Shape:
    """The user's ``input_shape`` as a tuple of positive sizes."""
    try:
        shape = tuple(index(size) for size in sizes)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise AffineLensError(
            Option("input_shape", sizes), " is not a shape; give positive sizes without the batch axis"
        )
    return shape


def checked_axis(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise AffineLensError(f"axis {axis} does not exist in a tensor of {rank} axes")
    return axis % rank


def require_size(count: int, what: str) -> None:
    """Refuse, before allocating it, what no real network needs."""
    if count > _LARGEST:
        raise AffineLensError(f"{what} needs {count} numbers, more than the {_LARGEST} that are accepted")
