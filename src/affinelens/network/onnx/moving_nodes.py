"""ONNX operators that move entries and change none."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from operator import itemgetter

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.operators import concatenated, padded, rearranged, reshaped
from affinelens.network.build.shapes import checked_axis, common_shape
from affinelens.network.build.values import Comparison, Constant, RefusedError, Value
from affinelens.network.note import rounds
from affinelens.network.onnx.model_file import FLOATS, type_name
from affinelens.network.onnx.node_call import NodeCall


def dropout(call: NodeCall) -> Value:
    if call.has(2) and call.constant(2).values.any():
        raise AffineLensError("dropout is in training mode; export the model in evaluation mode")
    return call.value(0)


def cast(call: NodeCall) -> Value:
    target = call.node.integer("to", 0)
    value = call.value(0)
    if isinstance(value, Comparison):
        return value
    if target not in FLOATS:
        raise RefusedError(f"a conversion to {type_name(target)} jumps and is not continuous")
    if FLOATS[target] < FLOATS[call.replay.kind]:
        call.builder.note(rounds(call.name, type_name(target).lower()))
    return value


def cast_like(call: NodeCall) -> Value:
    like = call.value(1)
    if isinstance(like, Constant) and like.values.dtype.kind in "iub":
        raise RefusedError(f"a conversion to {like.values.dtype} jumps and is not continuous")
    return call.value(0)


def transpose(call: NodeCall) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    axes = [checked_axis(axis, rank) for axis in call.node.integers("perm") or range(rank)[::-1]]
    if sorted(axes) != list(range(rank)):
        raise AffineLensError(f"perm={axes} does not order the axes of a tensor of shape {value.shape}")
    return rearranged(call.builder, value, lambda array: array.transpose(axes))


def flatten(call: NodeCall) -> Value:
    value, axis = call.value(0), call.node.integer("axis", 1)
    if abs(axis) > len(value.shape):
        raise AffineLensError(f"axis {axis} does not exist in a tensor of shape {value.shape}")
    return reshaped(call.builder, value, (prod(value.shape[:axis]), prod(value.shape[axis:])))


def reshape(call: NodeCall) -> Value:
    value = call.value(0)
    sizes = call.integers(1)
    if not call.node.integer("allowzero", 0):
        sizes = [
            value.shape[checked_axis(axis, len(value.shape))] if size == 0 else size for axis, size in enumerate(sizes)
        ]
    if sizes.count(-1) == 1:
        known = prod(size for size in sizes if size != -1)
        sizes = [prod(value.shape) // max(known, 1) if size == -1 else size for size in sizes]
    return reshaped(call.builder, value, tuple(sizes))


def squeeze(call: NodeCall) -> Value:
    value, given = call.value(0), call.listed(1, "axes")
    ones = [axis for axis, size in enumerate(value.shape) if size == 1]
    dropped = ones if given is None else [checked_axis(axis, len(value.shape)) for axis in given]
    if not set(dropped) <= set(ones):
        raise AffineLensError(f"axes {dropped} of a tensor of shape {value.shape} are not all of size 1")
    return reshaped(call.builder, value, tuple(s for axis, s in enumerate(value.shape) if axis not in dropped))


def unsqueeze(call: NodeCall) -> Value:
    value, given = call.value(0), call.listed(1, "axes") or []
    rank = len(value.shape) + len(given)
    added = {checked_axis(axis, rank) for axis in given}
    if len(added) < len(given):
        raise AffineLensError(f"axes {given} name one axis twice")
    sizes = iter(value.shape)
    return reshaped(call.builder, value, tuple(1 if axis in added else next(sizes) for axis in range(rank)))


def sliced(call: NodeCall) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    starts, ends = call.listed(1, "starts"), call.listed(2, "ends")
    if starts is None or ends is None:
        raise AffineLensError("the starts or the ends are missing")
    axes = call.listed(3, "axes") or list(range(len(starts)))
    steps = (call.integers(4) if call.has(4) else []) or [1] * len(starts)
    chosen = [slice(None)] * rank
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        chosen[checked_axis(axis, rank)] = slice(start, end, step)
    return rearranged(call.builder, value, itemgetter(tuple(chosen)))


def gather(call: NodeCall) -> Value:
    value = call.value(0)
    axis = call.axis(0, len(value.shape))
    size = value.shape[axis]
    indices = np.array(call.integers(1), dtype=np.int64).reshape(call.constant(1).shape)
    if indices.size and not -size <= indices.min() <= indices.max() < size:
        raise AffineLensError(f"an index lies outside the {size} entries of axis {axis}")
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    return rearranged(call.builder, value, lambda array: np.take(array, indices % max(size, 1), axis), shape)


def concatenate(call: NodeCall) -> Value:
    parts = call.values()
    return concatenated(call.builder, parts, call.axis(1, len(parts[0].shape)))


def split(call: NodeCall) -> list[Value]:
    value = call.value(0)
    axis = call.axis(0, len(value.shape))
    size, count = value.shape[axis], max(len(call.node.outputs), 1)
    sizes = call.listed(1, "split")
    if sizes is None:
        each = -(-size // call.node.integer("num_outputs", count))
        sizes = [min(each, size - each * k) for k in range(count)]
    if sum(sizes) != size or min(sizes, default=-1) < 0:
        raise AffineLensError(f"axis {axis} of a tensor of shape {value.shape} cannot be split into {sizes}")
    before = (slice(None),) * axis
    picked = [(*before, slice(start, end)) for start, end in pairwise(np.cumsum([0, *sizes]).tolist())]
    return [rearranged(call.builder, value, itemgetter(part)) for part in picked]


def expand(call: NodeCall) -> Value:
    value = call.value(0)
    shape = common_shape(value.shape, tuple(call.integers(1)))
    return rearranged(call.builder, value, lambda array: np.broadcast_to(array, shape), shape)


def tile(call: NodeCall) -> Value:
    value, repeats = call.value(0), call.integers(1)
    if len(repeats) != len(value.shape) or min(repeats, default=0) < 0:
        raise AffineLensError(f"repeats {repeats} do not fit a tensor of shape {value.shape}")
    shape = [size * count for size, count in zip(value.shape, repeats, strict=True)]
    return rearranged(call.builder, value, lambda array: np.tile(array, repeats), shape)


_PAD_MODES = ("constant", "reflect", "edge", "wrap")


def pad(call: NodeCall) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    pads = call.listed(1, "pads") or []
    axes = [checked_axis(axis, rank) for axis in call.integers(3)] if call.has(3) else list(range(rank))
    mode = call.node.text("mode", "constant")
    if mode not in _PAD_MODES:
        raise AffineLensError(f"mode={mode!r} is not read; accepted are {', '.join(_PAD_MODES)}")
    if len(pads) != 2 * len(axes):
        raise AffineLensError(f"pads={pads} do not fit {len(axes)} axes; one number for each end of each is needed")
    widths = [(0, 0)] * rank
    for axis, before, after in zip(axes, pads[: len(axes)], pads[len(axes) :], strict=True):
        widths[axis] = (before, after)
    fill = call.numbers(2).ravel() if call.has(2) else call.node.number("value", 0.0).ravel()
    return padded(call.builder, value, widths, mode, float(fill[0]) if len(fill) else 0.0)


def depth_to_space(call: NodeCall) -> Value:
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
    return rearranged(call.builder, value, lambda array: array.reshape(parts).transpose(order).reshape(goal))


def space_to_depth(call: NodeCall) -> Value:
    value, size = call.value(0), call.node.integer("blocksize", 0)
    batch, depth, height, width = _image_shape(value, size)
    if height % size or width % size:
        raise AffineLensError(f"a tensor of shape {value.shape} does not divide into blocks of {size} by {size}")
    parts = (batch, depth, height // size, size, width // size, size)
    goal = (batch, depth * size**2, height // size, width // size)
    return rearranged(call.builder, value, lambda array: array.reshape(parts).transpose(0, 3, 5, 1, 2, 4).reshape(goal))


def _image_shape(value: Value, block: int) -> tuple[int, int, int, int]:
    if len(value.shape) != 4 or block < 1:
        raise AffineLensError(f"blocks of {block} need a tensor of four axes, but the shape is {value.shape}")
    return value.shape
