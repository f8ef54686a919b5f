"""ONNX operators that move entries and change none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from operator import itemgetter
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import checked_axis, common_shape, require_size
from affinelens.network.onnx.onnx_file import FLOATS, type_name
from affinelens.network.onnx.onnx_replay import Array, Call, Constant, Value


def identity(call: Call) -> Value:
    return call.value(0)


def dropout(call: Call) -> Value:
    if call.has(2) and call.constant(2).values.any():
        raise AffineLensError("dropout is in training mode; export the model in evaluation mode")
    return call.value(0)


def cast(call: Call) -> Value:
    target = call.node.integer("to", 0)
    if target not in FLOATS:
        call.refuse(f"a conversion to {type_name(target)} is not piecewise affine")
    return call.value(0)


def cast_like(call: Call) -> Value:
    like = call.value(1)
    if isinstance(like, Constant) and like.values.dtype.kind in "iub":
        call.refuse(f"a conversion to {like.values.dtype} is not piecewise affine")
    return call.value(0)


def transpose(call: Call) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    axes = [checked_axis(axis, rank) for axis in call.node.integers("perm") or range(rank)[::-1]]
    if sorted(axes) != list(range(rank)):
        raise AffineLensError(f"perm={axes} does not order the axes of a tensor of shape {value.shape}")
    return transposed(call, value, axes)


def transposed(call: Call, value: Value, axes: Sequence[int]) -> Value:
    return call.rearranged(value, value.shape, lambda array: array.transpose(axes))


def flatten(call: Call) -> Value:
    value, axis = call.value(0), call.node.integer("axis", 1)
    if abs(axis) > len(value.shape):
        raise AffineLensError(f"axis {axis} does not exist in a tensor of shape {value.shape}")
    return call.with_shape(value, (prod(value.shape[:axis]), prod(value.shape[axis:])))


def reshape(call: Call) -> Value:
    value = call.value(0)
    sizes = call.integers(1)
    if not call.node.integer("allowzero", 0):
        sizes = [
            value.shape[checked_axis(axis, len(value.shape))] if size == 0 else size for axis, size in enumerate(sizes)
        ]
    if sizes.count(-1) == 1:
        known = prod(size for size in sizes if size != -1)
        sizes = [prod(value.shape) // max(known, 1) if size == -1 else size for size in sizes]
    return call.with_shape(value, tuple(sizes))


def squeeze(call: Call) -> Value:
    value, given = call.value(0), _axes(call)
    ones = [axis for axis, size in enumerate(value.shape) if size == 1]
    dropped = ones if given is None else [checked_axis(axis, len(value.shape)) for axis in given]
    if not set(dropped) <= set(ones):
        raise AffineLensError(f"axes {dropped} of a tensor of shape {value.shape} are not all of size 1")
    return call.with_shape(value, tuple(s for axis, s in enumerate(value.shape) if axis not in dropped))


def unsqueeze(call: Call) -> Value:
    value, given = call.value(0), _axes(call) or []
    rank = len(value.shape) + len(given)
    added = {checked_axis(axis, rank) for axis in given}
    if len(added) < len(given):
        raise AffineLensError(f"axes {given} name one axis twice")
    sizes = iter(value.shape)
    return call.with_shape(value, tuple(1 if axis in added else next(sizes) for axis in range(rank)))


def _axes(call: Call) -> list[int] | None:
    """Axes from an input, as newer operator sets have them, or from an attribute."""
    return call.integers(1) if call.has(1) else call.node.integers("axes")


def sliced(call: Call) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    inputs = [call.integers(k) if call.has(k) else None for k in (1, 2, 3, 4)]
    starts = inputs[0] if inputs[0] is not None else call.node.integers("starts")
    ends = inputs[1] if inputs[1] is not None else call.node.integers("ends")
    if starts is None or ends is None:
        raise AffineLensError("the starts or the ends are missing")
    axes = inputs[2] or call.node.integers("axes") or list(range(len(starts)))
    steps = inputs[3] or [1] * len(starts)
    chosen = [slice(None)] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        chosen[checked_axis(axis, rank)] = slice(start, end, step)
    picked = tuple(chosen)
    shape = [len(range(*part.indices(size))) for part, size in zip(picked, value.shape, strict=True)]
    return call.rearranged(value, shape, lambda array: array[picked])


def gather(call: Call) -> Value:
    value = call.value(0)
    axis = checked_axis(call.node.integer("axis", 0), len(value.shape))
    size = value.shape[axis]
    indices = np.array(call.integers(1), dtype=np.int64).reshape(call.constant(1).shape)
    if indices.size and not -size <= indices.min() <= indices.max() < size:
        raise AffineLensError(f"an index lies outside the {size} entries of axis {axis}")
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    return call.rearranged(value, shape, lambda array: np.take(array, indices % max(size, 1), axis))


def concatenate(call: Call) -> Value:
    parts = call.values()
    axis = checked_axis(call.node.integer("axis", 1), len(parts[0].shape))
    constants = [part.values for part in parts if isinstance(part, Constant)]
    if len(constants) == len(parts):
        require_size(sum(part.size for part in constants), "the result")
        return call.result(np.concatenate(constants, axis))
    return call.builder.concatenate([call.lifted(part) for part in parts], axis)


def split(call: Call) -> list[Value]:
    value = call.value(0)
    axis = checked_axis(call.node.integer("axis", 0), len(value.shape))
    size, count = value.shape[axis], max(len(call.node.outputs), 1)
    sizes = call.integers(1) if call.has(1) else call.node.integers("split")
    if sizes is None:
        each = -(-size // call.node.integer("num_outputs", count))
        sizes = [min(each, size - each * k) for k in range(count)]
    if sum(sizes) != size or min(sizes, default=-1) < 0:
        raise AffineLensError(f"axis {axis} of a tensor of shape {value.shape} cannot be split into {sizes}")
    ends = np.cumsum([0, *sizes]).tolist()
    parts = []
    for start, end in pairwise(ends):
        picked = (slice(None),) * axis + (slice(start, end),)
        parts.append(call.rearranged(value, value.shape, itemgetter(picked)))
    return parts


def expand(call: Call) -> Value:
    value = call.value(0)
    shape = common_shape(value.shape, tuple(call.integers(1)))
    return call.rearranged(value, shape, lambda array: np.broadcast_to(array, shape))


def tile(call: Call) -> Value:
    value, repeats = call.value(0), call.integers(1)
    if len(repeats) != len(value.shape) or min(repeats, default=0) < 0:
        raise AffineLensError(f"repeats {repeats} do not fit a tensor of shape {value.shape}")
    shape = [size * count for size, count in zip(value.shape, repeats, strict=True)]
    return call.rearranged(value, shape, lambda array: np.tile(array, repeats))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def pad(call: Call) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    pads = call.integers(1) if call.has(1) else call.node.integers("pads") or []
    axes = [checked_axis(axis, rank) for axis in call.integers(3)] if call.has(3) else list(range(rank))
    mode = call.node.text("mode", "constant")
    if mode not in _PAD_MODES:
        raise AffineLensError(f"mode={mode!r} is not read; accepted are {', '.join(_PAD_MODES)}")
    if len(pads) != 2 * len(axes):
        raise AffineLensError(f"pads={pads} do not fit {len(axes)} axes; one number for each end of each is needed")
    widths = [(0, 0)] * rank
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        widths[axis] = (before, after)
    fill = call.array(2).ravel() if call.has(2) else call.node.number("value", 0.0).ravel()
    return padded(call, value, widths, mode, float(fill[0]) if len(fill) else 0.0)


def padded(call: Call, value: Value, widths: Sequence[tuple[int, int]], mode: str, fill: float) -> Value:
    """The tensor with entries added at its ends, or dropped where a width is negative."""
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
        return call.rearranged(value, shape, lambda array: moved(array, fill))
    result = call.lifted(call.rearranged(value, shape, lambda positions: moved(positions, -1)))
    if mode != "constant" or fill == 0:
        return result
    return call.builder.add_constant(result, np.where(moved(value.positions, -1) < 0, fill, 0.0))


def depth_to_space(call: Call) -> Value:
    value, size = call.value(0), call.node.integer("blocksize", 0)
    batch, depth, height, width = _image_shape(value, size)
    planes = depth // size**2
    if planes * size**2 != depth:
        raise AffineLensError(f"{depth} channels cannot be spread over blocks of {size} by {size}")
    if call.node.text("mode", "DCR") == "DCR":
        parts, order = (batch, size, size, planes, height, width), (0, 3, 4, 1, 5, 2)
    else:
        parts, order = (batch, planes, size, size, height, width), (0, 1, 4, 2, 5, 3)
    goal = (batch, planes, height * size, width * size)
    return call.rearranged(value, goal, lambda array: array.reshape(parts).transpose(order).reshape(goal))


def space_to_depth(call: Call) -> Value:
    value, size = call.value(0), call.node.integer("blocksize", 0)
    batch, depth, height, width = _image_shape(value, size)
    if height % size or width % size:
        raise AffineLensError(f"a tensor of shape {value.shape} does not divide into blocks of {size} by {size}")
    parts = (batch, depth, height // size, size, width // size, size)
    goal = (batch, depth * size**2, height // size, width // size)
    return call.rearranged(value, goal, lambda array: array.reshape(parts).transpose(0, 3, 5, 1, 2, 4).reshape(goal))


def _image_shape(value: Value, block: int) -> tuple[int, int, int, int]:
    if len(value.shape) != 4 or block < 1:
        raise AffineLensError(f"blocks of {block} need a tensor of four axes, but the shape is {value.shape}")
    return value.shape
