"""Operations that close a stage: element-wise functions with few pieces, and maxima."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.shapes import axes_last, common_shape, reduced_shape, require_size, spread
from affinelens.network.build.values import RefusedError
from affinelens.network.max_groups import MaxGroups
from affinelens.network.piecewise_linear import PiecewiseLinear

# Activations of at most so many units are kept.
_FEW_UNITS = 1 << 12
# How many numbers a unit with a breakpoint of its own takes: it, two slopes and two offsets.
_TABLE = 5


def rectify(builder: GraphBuilder, tensor: Tensor, slopes: Floats, name: str) -> Tensor:
    """ReLU and its kin: slope 1 above zero and ``slopes``, spread over the tensor, below."""
    if slopes.ndim:
        builder.require_room(_TABLE * tensor.size)
        pieces = PiecewiseLinear.two_slopes(spread(slopes, tensor.shape))
    else:
        pieces = (_rectified if tensor.size <= _FEW_UNITS else _rectified.__wrapped__)(tensor.size, float(slopes))
    return builder.activate(tensor, pieces, name)


@lru_cache(maxsize=64)
def _rectified(units: int, slope: float) -> PiecewiseLinear:
    """The same slope for all units, kept for networks that are compiled again and again while they train."""
    return PiecewiseLinear.of(units, [0.0], [slope, 1.0], [0.0, 0.0])


def absolute(builder: GraphBuilder, tensor: Tensor, name: str) -> Tensor:
    return rectify(builder, tensor, np.array(-1.0), name)


def shrink(builder: GraphBuilder, tensor: Tensor, within: Floats, shift: Floats, name: str) -> Tensor:
    """Move every value towards zero by ``shift``, and to zero if it lies ``within`` so far of it."""
    if within != shift:
        raise RefusedError(
            f"shrinking with lambd={float(within):g} and bias={float(shift):g} jumps and is not continuous; "
            f"the two must be equal"
        )
    width = float(within)
    if width < 0:
        raise AffineLensError(f"shrinking by {width:g} is not continuous; the width must not be negative")
    if width == 0:
        return tensor
    pieces = PiecewiseLinear.of(tensor.size, [-width, width], [1.0, 0.0, 1.0], [width, 0.0, -width])
    return builder.activate(tensor, pieces, name)


def threshold(builder: GraphBuilder, tensor: Tensor, level: Floats, below: Floats, name: str) -> Tensor:
    """The values above a level, and ``below`` in place of the others."""
    if level != below:
        raise RefusedError(
            f"values up to {float(level):g} become {float(below):g}, which jumps and is not continuous; "
            f"the two must be equal"
        )
    return clip(builder, tensor, level, np.array(np.inf), name)


def clip(builder: GraphBuilder, tensor: Tensor, low: Floats, high: Floats, name: str) -> Tensor:
    """Values cut off below and above; an infinite bound cuts nothing."""
    shape = common_shape(tensor.shape, common_shape(low.shape, high.shape))
    tensor, shared = builder.broadcast(tensor, shape), not (low.ndim or high.ndim)
    builder.require_room(0 if shared else 2 * _TABLE * tensor.size)
    low, high = (bound.reshape(1) if shared else spread(bound, shape) for bound in (low, high))
    if np.isnan(low).any() or np.isnan(high).any():
        raise AffineLensError("a bound of the clipping is NaN; bounds must be numbers")
    impossible = (low > high) | np.isposinf(low) | np.isneginf(high)
    if impossible.any():
        found = int(np.argmax(impossible))
        raise AffineLensError(
            f"clips to at least {low[found]:g} and at most {high[found]:g}; the lower bound must not be above the upper"
        )
    if np.isneginf(low).all() and np.isposinf(high).all():
        return tensor
    tables = _clipping(low, high)
    pieces = PiecewiseLinear.of(tensor.size, *(t[0] for t in tables)) if shared else PiecewiseLinear(*tables)
    return builder.activate(tensor, pieces, name)


def _clipping(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Breakpoints, slopes and offsets of three pieces, of which one that is not there repeats its neighbor."""
    bounded, capped = np.isfinite(low), np.isfinite(high)
    zeros, ones = np.zeros(len(low)), np.ones(len(low))
    floor, ceiling = np.where(bounded, low, 0.0), np.where(capped, high, 0.0)
    closed = bounded & capped & (low == high)
    below = (np.where(bounded, zeros, ones), floor)
    between = (np.where(closed, zeros, ones), np.where(closed, floor, zeros))
    above = (np.where(capped, zeros, ones), ceiling)
    first = np.where(bounded, low, np.where(capped, high, np.inf))
    second = np.where(bounded & capped & ~closed, high, np.inf)
    middle = tuple(np.where(bounded, b, a) for b, a in zip(between, above, strict=True))
    last = tuple(np.where(closed, b, a) for b, a in zip(between, above, strict=True))
    slopes, offsets = (np.stack(parts, axis=1) for parts in zip(below, middle, last, strict=True))
    return np.stack([first, second], axis=1), slopes, offsets


def maximum(builder: GraphBuilder, tensors: Sequence[Tensor], name: str) -> Tensor:
    """The largest of several tensors, entry by entry: one group of candidates an entry."""
    shape = tensors[0].shape
    for tensor in tensors[1:]:
        shape = common_shape(shape, tensor.shape)
    require_size(len(tensors) * int(np.prod(shape)), f"{len(tensors)} tensors of shape {shape}")
    rows = [builder.reshape(builder.broadcast(tensor, shape), (1, *shape)) for tensor in tensors]
    candidates = builder.concatenate(rows, 0)
    return group_maximum(builder, candidates, axes_last(candidates.positions, [0]), shape, name)


def minimum(builder: GraphBuilder, tensors: Sequence[Tensor], name: str) -> Tensor:
    """The smallest: the largest of the negatives, negated."""
    return negated(builder, maximum(builder, [negated(builder, tensor) for tensor in tensors], name))


def maximum_over(builder: GraphBuilder, tensor: Tensor, axes: Sequence[int], name: str, *, keep: bool) -> Tensor:
    """The largest entry along some axes."""
    shape = reduced_shape(tensor.shape, axes, keep=keep)
    return group_maximum(builder, tensor, axes_last(tensor.positions, axes), shape, name)


def minimum_over(builder: GraphBuilder, tensor: Tensor, axes: Sequence[int], name: str, *, keep: bool) -> Tensor:
    return negated(builder, maximum_over(builder, negated(builder, tensor), axes, name, keep=keep))


def norm_over(
    builder: GraphBuilder, tensor: Tensor, axes: Sequence[int], order: float, name: str, *, keep: bool
) -> Tensor:
    """The norms that are piecewise affine: of orders 1, inf and, as the smallest absolute value, -inf."""
    if order == 0:
        raise RefusedError(
            "a norm of order 0 counts entries: it jumps and is not continuous; orders 1 and inf are read"
        )
    if order not in (1, np.inf, -np.inf):
        raise RefusedError(f"a norm of order {order:g} is not piecewise affine; orders 1 and inf are")
    sizes = absolute(builder, tensor, name)
    if order == 1:
        return builder.sum_over(sizes, axes, keep=keep)
    return (maximum_over if order > 0 else minimum_over)(builder, sizes, axes, name, keep=keep)


def group_maximum(builder: GraphBuilder, tensor: Tensor, members: Indices, shape: tuple[int, ...], name: str) -> Tensor:
    """The largest of the entries at each row's positions, of which those that are -1 do not take part."""
    present = members >= 0
    counts = present.sum(axis=1)
    if np.any(counts == 0):
        raise AffineLensError("a maximum is taken over no entries; a window must not lie in the padding alone")
    require_size(int((counts * (counts - 1) // 2).sum()), f"comparing {counts.max()} candidates with each other")
    candidates = builder.rearrange(tensor, members[present])
    if np.all(counts == 1):
        return builder.reshape(candidates, shape)
    return builder.activate(candidates, MaxGroups(np.cumsum([0, *counts])), name, shape)


def negated(builder: GraphBuilder, tensor: Tensor) -> Tensor:
    return builder.scale(tensor, np.array(-1.0))
