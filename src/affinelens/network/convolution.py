"""Convolutions as operators: the kernel is kept, and no matrix is ever written out.

A convolution takes channels over any number of spatial axes: ``y[o, p] = sum K[o, i, t] x[i, p * stride + t * dilation
- before]``, inputs outside the image being zero. Its adjoint, with the same kernel, is a transposed convolution, so the
two are one class. Padding behind the image and a transposed convolution's output padding only show in the sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError
from affinelens.network.coefficients import Coefficients
from affinelens.network.linear_map import Weighted

Sizes = tuple[int, ...]
Slices = tuple[slice, ...]

# How many numbers are gathered at a time, so that matrix products have many columns.
_FLOATS_AT_A_TIME = 2**23
_INTEGERS_AT_A_TIME = 2**20


@dataclass(frozen=True, eq=False)
class Convolution(Weighted):
    """A convolution from ``sizes_in`` to ``sizes_out`` (spatial sizes), or its adjoint, from the latter to the former.

    The kernel has shape (groups, channels out, channels in, *window), its channels counted within a group.
    """

    kind: ClassVar[str] = "convolution"
    hashed: ClassVar[tuple[str, ...]] = (
        "kernel", "sizes_in", "sizes_out", "strides", "dilations", "before", "adjoint",
    )  # fmt: skip
    weighed: ClassVar[str] = "kernel"

    kernel: Floats
    sizes_in: Sizes
    sizes_out: Sizes
    strides: Sizes
    dilations: Sizes
    before: Sizes
    adjoint: bool = False

    def __post_init__(self) -> None:
        axes = self.kernel.ndim - 3
        lengths = {len(part) for part in (self.sizes_in, self.sizes_out, self.strides, self.dilations, self.before)}
        if lengths != {axes} or min((*self.kernel.shape, *self.strides, *self.dilations), default=0) < 1:
            raise AffineLensError(f"a convolution's kernel of shape {self.kernel.shape} does not fit its other numbers")
        if min((*self.sizes_in, *self.sizes_out, 1)) < 1:
            raise AffineLensError(f"a convolution from {self.sizes_in} to {self.sizes_out} has an empty side")
        for name, (channels, sizes) in {"size_in": self.taken, "size_out": self.given}.items():
            object.__setattr__(self, name, self.groups * channels * prod(sizes))

    @property
    def groups(self) -> int:
        return int(self.kernel.shape[0])

    @property
    def taken(self) -> tuple[int, Sizes]:
        """Channels in a group and spatial sizes of what the map takes."""
        return (self.kernel.shape[1], self.sizes_out) if self.adjoint else (self.kernel.shape[2], self.sizes_in)

    @property
    def given(self) -> tuple[int, Sizes]:
        """Channels in a group and spatial sizes of what the map gives."""
        return (self.kernel.shape[2], self.sizes_in) if self.adjoint else (self.kernel.shape[1], self.sizes_out)

    @property
    def roundings(self) -> int:
        return self.taken[0] * prod(self.kernel.shape[3:])

    def transposed(self) -> Convolution:
        return replace(self, adjoint=not self.adjoint)

    def multiplied(self, coefficients: Floats, columns: Floats) -> Floats:
        """One matrix product for a block of columns, on what the window sees at every position."""
        if not self._taps:
            return np.zeros((self.size_out, columns.shape[1]), dtype=columns.dtype)
        matrix = np.stack([coefficients[_at(*tap)] for tap, _, _ in self._taps], axis=-1)
        matrix = (matrix.swapaxes(1, 2) if self.adjoint else matrix).swapaxes(2, 3)
        matrix = np.ascontiguousarray(matrix).reshape(self.groups, self.given[0], -1)
        width = columns.shape[1]
        seen = len(self._taps) * self.taken[0] * prod(self.given[1])
        step = max(1, _FLOATS_AT_A_TIME // max(seen, 1))
        result = np.empty((self.size_out, width), dtype=columns.dtype)
        for first in range(0, width, step):
            block = slice(first, first + step)
            result[:, block] = self._multiplied_block(matrix, columns[:, block])
        return result

    def _multiplied_block(self, matrix: Floats, columns: Floats) -> Floats:
        (channels_in, sizes_in), (_, sizes_out) = self.taken, self.given
        width = columns.shape[1]
        taken = columns.reshape(self.groups, channels_in, *sizes_in, width)
        seen = np.zeros((self.groups, len(self._taps), channels_in, *sizes_out, width), dtype=columns.dtype)
        for place, (_, source, target) in enumerate(self._taps):
            seen[:, place][_at(*target, slice(None))] = taken[_at(*source, slice(None))]
        return (matrix @ seen.reshape(self.groups, matrix.shape[2], -1)).reshape(-1, width)

    @cached_property
    def _taps(self) -> list[tuple[Sizes, Slices, Slices]]:
        """Every entry of the window that reaches the image, with the positions it takes from and gives to."""
        found = []
        for tap in np.ndindex(*self.kernel.shape[3:]):
            spans = [self._span(axis, offset) for axis, offset in enumerate(tap)]
            if all(inner.start < inner.stop for inner, _ in spans):
                inputs, outputs = tuple(span[1] for span in spans), tuple(span[0] for span in spans)
                found.append((tap, *((outputs, inputs) if self.adjoint else (inputs, outputs))))
        return found

    def _span(self, axis: int, tap: int) -> tuple[slice, slice]:
        """The output positions that an entry of the window serves along an axis, and the inputs it takes there."""
        stride, shift = self.strides[axis], tap * self.dilations[axis] - self.before[axis]
        first = max(0, -(shift // stride))
        last = min(self.sizes_out[axis], (self.sizes_in[axis] - 1 - shift) // stride + 1)
        start = first * stride + shift
        return slice(first, last), slice(start, start + max(0, last - first - 1) * stride + 1, stride)

    @cached_property
    def _exact_kernels(self) -> list[ExactMatrix]:
        """For each group the matrix from (channel, window entry) to channel, over one denominator."""
        kernel = self.kernel.swapaxes(1, 2) if self.adjoint else self.kernel
        rows, width = kernel.shape[1], prod(kernel.shape[2:])
        exact = ExactMatrix.from_floats(kernel.reshape(-1, width))
        entries = exact.numerators.entries()
        size = rows * width
        parts = [fmpz_mat(rows, width, entries[g * size : (g + 1) * size]) for g in range(self.groups)]
        return [ExactMatrix(part, exact.denominator) for part in parts]

    @cached_property
    def sources(self) -> Indices:
        """The input position behind each (window entry, output position), or -1."""
        _, sizes = self.taken
        positions = np.arange(prod(sizes)).reshape(sizes)
        table = np.full((*self.kernel.shape[3:], *self.given[1]), -1)
        for tap, source, target in self._taps:
            table[_at(*tap, *target)] = positions[source]
        return table.reshape(prod(self.kernel.shape[3:]), -1)

    def apply_exact(self, columns: ExactMatrix) -> ExactMatrix:
        width = columns.shape[1]
        channels, sizes = self.taken
        entries = np.empty((self.size_in + 1) * width, dtype=object)
        entries[:-width] = columns.numerators.entries()
        entries[-width:] = fmpz(0)
        rows = entries.reshape(-1, width)
        filled = (rows[:-1] != 0).reshape(self.groups, channels, -1, width).any(axis=(0, 1, 3))
        reached = np.flatnonzero(np.append(filled, False)[self.sources].any(axis=0))  # -1 is none
        positions = self.sources.shape[1]
        step = max(1, _INTEGERS_AT_A_TIME // (channels * len(self.sources) * width))
        result = np.full((self.groups, self.given[0], positions, width), fmpz(0), dtype=object)
        for group, exact in enumerate(self._exact_kernels):
            kernel = exact.numerators
            start = (group * channels + np.arange(channels)) * prod(sizes)
            for first in range(0, len(reached), step):
                block = reached[first : first + step]
                here = self.sources[:, block]
                picked = np.where(here < 0, self.size_in, here + start[:, None, None])
                gathered = rows[picked].reshape(kernel.ncols(), -1)
                product = kernel * fmpz_mat(*gathered.shape, gathered.ravel().tolist())
                result[group, :, block] = _table(product, (-1, len(block), width)).swapaxes(0, 1)
        denominator = columns.denominator * self._exact_kernels[0].denominator
        return ExactMatrix(fmpz_mat(self.size_out, width, result.ravel().tolist()), denominator)

    def coefficients(self, output: int) -> Coefficients:
        (channels_in, sizes_in), (channels_out, sizes_out) = self.taken, self.given
        channel, position = divmod(output, prod(sizes_out))
        group, channel = divmod(channel, channels_out)
        kernel = self.kernel[group, :, channel] if self.adjoint else self.kernel[group, channel]
        behind = self.sources[:, position]
        used = np.flatnonzero(behind >= 0)
        start = (group * channels_in + np.arange(channels_in)) * prod(sizes_in)
        columns = start[:, None] + behind[used]
        return Coefficients.of_floats(columns.ravel(), kernel.reshape(channels_in, -1)[:, used].ravel())


def _at(*last: int | slice) -> Any:
    """An index into the last axes of an array."""
    return (..., *last)


def _table(matrix: fmpz_mat, shape: tuple[int, ...]) -> NDArray[np.object_]:
    entries = np.empty(matrix.nrows() * matrix.ncols(), dtype=object)
    entries[:] = matrix.entries()
    return entries.reshape(shape)
