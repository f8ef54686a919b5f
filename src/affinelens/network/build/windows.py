"""Convolutions and poolings: a window slides over the spatial axes of a (batch, channels, ...) tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError
from affinelens.network.build.builder import GraphBuilder, Tensor, sum_of
from affinelens.network.build.nonlinear import group_maximum
from affinelens.network.build.shapes import Shape, require_size
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import LinearMap

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Window:
    """A window's sizes, steps and padding, one number for each spatial axis.

    Its ``tables`` hold, axis by axis, a row of positions for every output, of which those outside lie in the padding.
    ``ceil`` keeps a last window that is only partly inside, as long as it starts inside or in the padding before.
    """

    sizes: Sizes
    strides: Sizes
    dilations: Sizes
    before: Sizes
    after: Sizes
    ceil: bool = False

    def __post_init__(self) -> None:
        parts = (self.sizes, self.strides, self.dilations, self.before, self.after)
        if len({len(part) for part in parts}) != 1:
            raise AffineLensError(
                f"a window of sizes {self.sizes}, strides {self.strides}, dilations {self.dilations} and padding "
                f"{self.before} and {self.after} needs one number of each for every spatial axis"
            )
        if min((*self.sizes, *self.strides, *self.dilations), default=1) < 1:
            raise AffineLensError(
                f"a window's sizes {self.sizes}, strides {self.strides} and dilations {self.dilations} must be positive"
            )

    def __str__(self) -> str:
        """The sizes and, where they are not 1, the strides and dilations, in the fewest words."""
        parts = ["x".join(map(str, self.sizes))]
        for word, numbers in (("stride", self.strides), ("dilation", self.dilations)):
            if set(numbers) != {1}:
                parts.append(f"{word} {'x'.join(map(str, numbers if len(set(numbers)) > 1 else numbers[:1]))}")
        return " ".join(parts)

    def padded(self, totals: Sequence[int], *, upper: bool = True) -> Window:
        """The window whose padding adds up to the given totals, an odd one more behind (upper) or before."""
        halves = tuple(total // 2 for total in totals)
        others = tuple(total - half for total, half in zip(totals, halves, strict=True))
        before, after = (halves, others) if upper else (others, halves)
        return replace(self, before=before, after=after)

    def padded_to_same(self, spatial: Sizes, *, upper: bool = True) -> Window:
        """The window with the padding that gives one output for every stride of the tensor."""
        self.require_axes(spatial)
        totals = [
            max((-(-size // self.strides[axis]) - 1) * self.strides[axis] + self.extent(axis) - size, 0)
            for axis, size in enumerate(spatial)
        ]
        return self.padded(totals, upper=upper)

    def extent(self, axis: int) -> int:
        """How far a window reaches from its first entry to behind its last."""
        return (self.sizes[axis] - 1) * self.dilations[axis] + 1

    def outputs(self, sizes: Sizes) -> Sizes:
        """Spatial sizes of the result, given those of the tensor."""
        self.require_axes(sizes)
        counts = []
        for axis, size in enumerate(sizes):
            stride, room = self.strides[axis], size + self.before[axis] + self.after[axis] - self.extent(axis)
            count = (room + (stride - 1 if self.ceil else 0)) // stride + 1
            if self.ceil and (count - 1) * stride >= size + self.before[axis]:
                count -= 1
            counts.append(count)
        if min(counts, default=1) < 1:
            raise AffineLensError(f"a window of {self.sizes} does not fit into spatial axes of sizes {sizes}")
        return tuple(counts)

    def require_axes(self, sizes: Sizes) -> None:
        if len(sizes) != len(self.sizes):
            raise AffineLensError(f"a window of {len(self.sizes)} axes cannot slide over spatial axes of sizes {sizes}")

    def tables(self, spatial: Sizes) -> list[Indices]:
        outputs = self.outputs(spatial)
        for size, count in zip(self.sizes, outputs, strict=True):
            require_size(size * count, f"{count} windows of {size} entries")
        require_size(prod(self.sizes), f"a window of sizes {self.sizes}")
        starts = [
            np.arange(n) * stride - pad for n, stride, pad in zip(outputs, self.strides, self.before, strict=True)
        ]
        steps = [np.arange(size) * dilation for size, dilation in zip(self.sizes, self.dilations, strict=True)]
        return [start[:, None] + step for start, step in zip(starts, steps, strict=True)]


@dataclass(frozen=True)
class Adaptive:
    """As many windows along each spatial axis as asked for, which cover it and differ in size where they must."""

    counts: Sizes

    def tables(self, spatial: Sizes) -> list[Indices]:
        """Window i of n goes from floor(i size / n) to ceil((i + 1) size / n); -1 fills the shorter ones."""
        if len(spatial) != len(self.counts) or min(self.counts, default=1) < 1:
            raise AffineLensError(f"spatial axes of sizes {spatial} cannot be pooled to sizes {self.counts}")
        tables = []
        for size, count in zip(spatial, self.counts, strict=True):
            steps = np.arange(count)
            starts, ends = steps * size // count, -(-(steps + 1) * size // count)
            table = starts[:, None] + np.arange(int((ends - starts).max()))
            tables.append(np.where(table < ends[:, None], table, -1))
        return tables


def convolve(builder: GraphBuilder, tensor: Tensor, weight: Floats, bias: Floats | None, window: Window) -> Tensor:
    """A convolution by a weight (channels out, channels in of a group, *window); the groups follow from the sizes."""
    spatial = spatial_sizes(tensor.shape)
    channels = tensor.shape[1]
    groups = channels // weight.shape[1] if weight.ndim > 1 and weight.shape[1] else 0
    if weight.shape[2:] != window.sizes or not groups or channels % weight.shape[1] or weight.shape[0] % groups:
        raise AffineLensError(f"a kernel of shape {weight.shape} does not fit a tensor of shape {tensor.shape}")
    outputs = window.outputs(spatial)
    kernel = weight.reshape(groups, -1, *weight.shape[1:])
    return _convolved(builder, tensor, kernel, bias, window, (spatial, outputs), adjoint=False)


def convolve_transposed(
    builder: GraphBuilder,
    tensor: Tensor,
    weight: Floats,
    bias: Floats | None,
    window: Window,
    groups: int,
    extra: Sizes,
) -> Tensor:
    """The adjoint of a convolution; the weight is (channels in, channels out of a group, *window)."""
    spatial = spatial_sizes(tensor.shape)
    channels = tensor.shape[1]
    window.require_axes(spatial)
    if groups < 1 or weight.shape[2:] != window.sizes or weight.shape[0] != channels or channels % groups:
        raise AffineLensError(
            f"a transposed kernel of shape {weight.shape} in {groups} groups does not fit a tensor of shape "
            f"{tensor.shape}"
        )
    outputs = tuple(
        (size - 1) * window.strides[axis] + window.extent(axis) - window.before[axis] - window.after[axis] + extra[axis]
        for axis, size in enumerate(spatial)
    )
    if min(outputs, default=1) < 1:
        raise AffineLensError(f"a transposed convolution would give spatial axes of sizes {outputs}")
    kernel = weight.reshape(groups, -1, *weight.shape[1:])
    return _convolved(builder, tensor, kernel, bias, window, (outputs, spatial), adjoint=True)


def _convolved(
    builder: GraphBuilder,
    tensor: Tensor,
    kernel: Floats,
    bias: Floats | None,
    window: Window,
    sides: tuple[Sizes, Sizes],
    *,
    adjoint: bool,
) -> Tensor:
    """The convolution; a batch of several is one more spatial axis, on which the window has size 1."""
    batch = tensor.shape[0]
    goal = kernel.shape[0] * (kernel.shape[2] if adjoint else kernel.shape[1])
    outputs = sides[0] if adjoint else sides[1]
    shape = (batch, goal, *outputs)
    require_size(prod(shape), f"a tensor of shape {shape}")
    several = batch > 1
    one = (1,) if several else ()
    count = (batch,) if several else ()
    linear = Convolution(
        kernel.reshape(*kernel.shape[:3], *one, *kernel.shape[3:]),
        (*count, *sides[0]),
        (*count, *sides[1]),
        (*one, *window.strides),
        (*one, *window.dilations),
        (*((0,) if several else ()), *window.before),
        adjoint,
    )
    swapped = (1, 0, *range(2, len(shape)))
    if several:
        result = builder.linear(builder.transpose(tensor, swapped), linear, (goal, batch, *outputs))
        result = builder.transpose(result, swapped)
    else:
        result = builder.linear(tensor, linear, shape)
    if bias is None:
        return result
    if bias.shape != (goal,):
        raise AffineLensError(f"a bias of shape {bias.shape} does not fit {goal} channels")
    return builder.add_constant(result, bias.reshape(1, goal, *(1,) * len(outputs)))


def average_pool(
    builder: GraphBuilder,
    tensor: Tensor,
    windows: Window | Adaptive,
    *,
    count_padding: bool = False,
    divisor: int | None = None,
) -> Tensor:
    """The mean of every window: its sum over how many entries it has, with those in the padding or without."""
    spatial = spatial_sizes(tensor.shape)
    tables = windows.tables(spatial)
    shape = (*tensor.shape[:2], *map(len, tables))
    total = builder.linear(tensor, _window_sum(tensor, windows, tables), shape)
    if divisor is not None:
        return builder.divide(total, np.array(float(divisor)))
    pads = [(0, 0)] * len(spatial)
    if isinstance(windows, Window) and count_padding:
        pads = list(zip(windows.before, windows.after, strict=True))
    counts = np.ones(())
    for size, table, (before, after) in zip(spatial, tables, pads, strict=True):
        inside = (table >= -before) & (table < size + after)
        counts = counts[..., None] * inside.sum(axis=1).astype(np.float64)
    return builder.divide(total, counts)


def _window_sum(tensor: Tensor, windows: Window | Adaptive, tables: Sequence[Indices]) -> LinearMap:
    """The sum of every window, written out where windows hardly overlap."""
    spatial, outputs = spatial_sizes(tensor.shape), tuple(map(len, tables))
    if isinstance(windows, Adaptive) or prod(outputs) * prod(windows.sizes) <= 2 * prod(spatial):
        return sum_of(_window_positions(tensor, tables), tensor.size)
    ones = np.ones((prod(tensor.shape[:2]), 1, 1, *windows.sizes))
    return Convolution(ones, spatial, outputs, windows.strides, windows.dilations, windows.before)


def max_pool(builder: GraphBuilder, tensor: Tensor, windows: Window | Adaptive, name: str) -> Tensor:
    """The largest entry of every window; padding never wins."""
    tables = windows.tables(spatial_sizes(tensor.shape))
    shape = (*tensor.shape[:2], *map(len, tables))
    return group_maximum(builder, tensor, _window_positions(tensor, tables), shape, name)


def _window_positions(tensor: Tensor, tables: Sequence[Indices]) -> Indices:
    """One row a window, plane by plane, of the positions of its entries in the flattened tensor; -1 for none."""
    spatial = spatial_sizes(tensor.shape)
    planes = prod(tensor.shape[:2])
    rows, width = prod(len(table) for table in tables), prod(table.shape[1] for table in tables)
    require_size(planes * rows * width, f"{planes * rows} windows of {width} entries")
    flat, inside = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=bool)
    for size, table in zip(spatial, tables, strict=True):
        there = (table >= 0) & (table < size)
        shape = (len(flat) * len(table), flat.shape[1] * table.shape[1])
        flat = (flat[:, None, :, None] * size + table[None, :, None, :]).reshape(shape)
        inside = (inside[:, None, :, None] & there[None, :, None, :]).reshape(shape)
    within = np.where(inside, flat, -1)
    starts = np.arange(planes) * prod(spatial)
    return np.where(within >= 0, within + starts[:, None, None], -1).reshape(-1, width)


def spatial_sizes(shape: Shape) -> Sizes:
    """The sizes of the axes that a window moves over."""
    if len(shape) < 3:
        raise AffineLensError(f"a tensor of shape {shape} has no spatial axes behind batch and channels")
    return shape[2:]
