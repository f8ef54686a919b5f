"""Building a canonical network operation by operation; what every importer calls.

A :class:`Tensor` is an affine function of the input and of the outputs of earlier stages. Linear operations return
another tensor; an activation closes a stage and returns a fresh one. No coefficients are ever multiplied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from math import isqrt, prod

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError
from affinelens.network.activation import Activation
from affinelens.network.build.shapes import (
    Shape,
    axes_last,
    common_shape,
    reduced_shape,
    require_size,
    spread,
    without_batch,
)
from affinelens.network.canonical import Network
from affinelens.network.composed_maps import Chain, Sum, add, chain
from affinelens.network.convolution import Convolution
from affinelens.network.linear_map import Dense, LinearMap, Scale, Select, Sparse, identity
from affinelens.network.note import Note, NoteKind
from affinelens.network.stage import AffineSum, Stage

_ROOT_BITS = 256

# How many of the operations before a stage are remembered, for display.
_MOST_OPERATIONS = 16
# All index lists and factors of a network together.
_LARGEST_TOTAL = 2**26
# A tensor that is computed from the last stage by more linear maps than this takes forever to evaluate.
_MOST_STEPS = 2**14
# The reciprocal of any larger float64 is an integer denominator and a power of two that float64 holds.
_SMALLEST_DIVISOR = 2.0**-960


@dataclass(frozen=True, eq=False)
class Operation:
    """One operation of the model, as the user knows it."""

    label: str


@dataclass(frozen=True, eq=False)
class Tensor:
    """An affine function of the stages so far, with the shape it has in the model and the operations that made it."""

    shape: Shape
    sources: dict[int, LinearMap]
    bias: LinearMap | None = None
    operations: tuple[Operation, ...] = ()

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def positions(self) -> Indices:
        """The position of every entry among the flattened ones, in the tensor's shape."""
        return np.arange(self.size).reshape(self.shape)


class GraphBuilder:
    """Collects stages while a model's operations are replayed in order."""

    def __init__(self, input_shape: Shape) -> None:
        self._input_shape = input_shape
        self._stages: list[Stage] = []
        self._notes: dict[Note, None] = {}
        self._written = 0
        self._operation: Operation | None = None

    def begin(self, label: str) -> None:
        """Say which of the model's operations the following calls carry out."""
        self._operation = Operation(label)

    def specify(self, detail: str) -> None:
        """Add a detail, such as a window's sizes, to the present operation's label."""
        if self._operation is not None:
            self.begin(f"{self._operation.label} {detail}")

    def input(self, *, batched: bool = False) -> Tensor:
        """The network's input; ``batched`` puts a batch axis of 1 in front, as frameworks do."""
        size = prod(self._input_shape)
        require_size(size, f"an input of shape {self._input_shape}")
        return Tensor((1, *self._input_shape) if batched else self._input_shape, {0: identity(size)})

    def constant(self, values: Floats) -> Tensor:
        return Tensor(values.shape, {}, Dense(values.reshape(values.size, 1)))

    def note(self, note: Note) -> None:
        self._notes[note] = None

    def require_room(self, count: int) -> None:
        """Refuse to write out so many more indices and factors than a network may hold, before they are made."""
        if self._written + count > _LARGEST_TOTAL:
            raise AffineLensError(
                f"the network's layout alone takes {self._written + count} numbers, more than the {_LARGEST_TOTAL} "
                f"accepted"
            )

    def linear(self, tensor: Tensor, linear: LinearMap, shape: Shape) -> Tensor:
        """A linear map of the tensor's flattened values."""
        written = _written_out(linear)
        self.require_room(written)
        self._written += written
        sources = {k: chain(first, linear) for k, first in tensor.sources.items()}
        bias = None if tensor.bias is None else chain(tensor.bias, linear)
        return Tensor(shape, sources, bias, self._extended(tensor))

    def _extended(self, *tensors: Tensor) -> tuple[Operation, ...]:
        """The operations that made some tensors, and the present one."""
        present = () if self._operation is None else (self._operation,)
        merged = dict.fromkeys((*(operation for tensor in tensors for operation in tensor.operations), *present))
        return tuple(merged)[-_MOST_OPERATIONS:]

    def reshape(self, tensor: Tensor, shape: Shape) -> Tensor:
        if prod(shape) != tensor.size:
            raise AffineLensError(f"a tensor of shape {tensor.shape} cannot be reshaped to {shape}")
        return Tensor(shape, tensor.sources, tensor.bias, tensor.operations)

    def rearrange(self, tensor: Tensor, positions: Indices) -> Tensor:
        """The entries at the given positions of the flattened tensor, in the positions' shape; 0 where that is -1."""
        require_size(positions.size, f"a tensor of shape {positions.shape}")
        if not tensor.size:
            return self.constant(np.zeros(positions.shape))
        chosen = np.ascontiguousarray(positions, dtype=np.int64).ravel()
        moved = self.linear(tensor, Select(chosen, tensor.size), positions.shape)
        stays = np.array_equal(chosen, np.arange(tensor.size))
        return replace(moved, operations=tensor.operations) if stays else moved

    def broadcast(self, tensor: Tensor, shape: Shape) -> Tensor:
        if tensor.shape == shape:
            return tensor
        if tensor.shape == shape[len(shape) - len(tensor.shape) :] and tensor.size == prod(shape):
            return self.reshape(tensor, shape)
        return self.rearrange(tensor, spread(tensor.positions, shape).reshape(shape))

    def transpose(self, tensor: Tensor, axes: Sequence[int]) -> Tensor:
        """The tensor with its axes in the given order."""
        return self.rearrange(tensor, tensor.positions.transpose(axes))

    def concatenate(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """The tensors one after the other along an axis."""
        first = parts[0].shape
        others = {(len(part.shape), part.shape[:axis], part.shape[axis + 1 :]) for part in parts}
        if not 0 <= axis < len(first) or len(others) > 1:
            shapes = ", ".join(str(part.shape) for part in parts)
            raise AffineLensError(f"tensors of shapes {shapes} cannot be joined along axis {axis}")
        ends = np.cumsum([0, *(part.shape[axis] for part in parts)]).tolist()
        shape = (*first[:axis], ends[-1], *first[axis + 1 :])
        require_size(prod(shape), f"a tensor of shape {shape}")
        self.require_room(len(parts) * prod(shape))
        placed = []
        for part, (start, end) in zip(parts, pairwise(ends), strict=True):
            positions = np.full(shape, -1)
            positions[(slice(None),) * axis + (slice(start, end),)] = part.positions
            placed.append(self.rearrange(part, positions))
        return self.add_all(placed)

    def add_all(self, parts: Sequence[Tensor]) -> Tensor:
        total = parts[0]
        for part in parts[1:]:
            total = self.add(total, part)
        return total

    def sum_over(self, tensor: Tensor, axes: Sequence[int], *, keep: bool) -> Tensor:
        """The sum over some axes, which stay as axes of size 1 or disappear."""
        total = sum_of(axes_last(tensor.positions, axes), tensor.size)
        return self.linear(tensor, total, reduced_shape(tensor.shape, axes, keep=keep))

    def running_sum(self, tensor: Tensor, axis: int, *, exclusive: bool = False, backward: bool = False) -> Tensor:
        """Every entry and those before it along an axis, or behind it; ``exclusive`` leaves itself out."""
        count = tensor.shape[axis]
        require_size(tensor.size * count, f"a running sum of {count} entries")
        ones = np.tril(np.ones((count, count), dtype=bool), -1 if exclusive else 0)
        taken = np.moveaxis(tensor.positions, axis, -1)[..., None, :]
        taken = np.moveaxis(np.where(ones.T if backward else ones, taken, -1), -2, axis).reshape(-1, count)
        return self.linear(tensor, sum_of(taken, tensor.size), tensor.shape)

    def mean_over(self, tensor: Tensor, axes: Sequence[int], *, keep: bool) -> Tensor:
        count = prod(tensor.shape[axis] for axis in axes)
        return self.divide(self.sum_over(tensor, axes, keep=keep), np.array(float(count)))

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        shape = common_shape(left.shape, right.shape)
        left, right = self.broadcast(left, shape), self.broadcast(right, shape)
        sources: dict[int, LinearMap] = dict(left.sources)
        for k, linear in right.sources.items():
            sources[k] = add([sources[k], linear]) if k in sources else linear
        biases = [bias for bias in (left.bias, right.bias) if bias is not None]
        bias = add(biases) if biases else None
        if max(part.steps for part in (*sources.values(), *([bias] if bias else []))) > _MOST_STEPS:
            raise AffineLensError(
                f"sums without an activation between them repeat more than {_MOST_STEPS} linear maps; "
                f"add the maps up in the model"
            )
        return Tensor(shape, sources, bias, self._extended(left, right))

    def add_constant(self, tensor: Tensor, constant: Floats) -> Tensor:
        return self.add(tensor, self.constant(constant))

    def subtract(self, left: Tensor, right: Tensor) -> Tensor:
        return self.add(left, self.scale(right, np.array(-1.0)))

    def scale(self, tensor: Tensor, factors: Floats) -> Tensor:
        shape = common_shape(tensor.shape, factors.shape)
        tensor = self.broadcast(tensor, shape)
        every = spread(factors, shape)
        return tensor if np.all(every == 1.0) else self.linear(tensor, Scale(every), shape)

    def divide(self, tensor: Tensor, divisors: Floats) -> Tensor:
        """The exact quotient: one map for each different divisor, whose odd part stays an integer denominator."""
        if np.any(np.abs(divisors) < _SMALLEST_DIVISOR):
            raise AffineLensError(
                f"a tensor is divided by a constant that contains 0 or a number below {_SMALLEST_DIVISOR:g}"
            )
        shape = common_shape(tensor.shape, divisors.shape)
        every = spread(divisors, shape)
        quotients = [_quotient(every == divisor, divisor) for divisor in np.unique(every).tolist()]
        return self.linear(self.broadcast(tensor, shape), add(quotients), shape)

    def matmul_right(self, tensor: Tensor, weight: Floats) -> Tensor:
        """``tensor @ weight`` by numpy's rules."""
        if not tensor.shape or not weight.ndim or tensor.shape[-1] != weight.shape[-2:][0]:
            raise AffineLensError(
                f"a tensor of shape {tensor.shape} cannot be multiplied by a constant of shape {weight.shape}"
            )
        if weight.ndim == 1:
            product = self.matmul_right(tensor, weight[:, None])
            return self.reshape(product, product.shape[:-1])
        if len(tensor.shape) == 1:
            product = self.matmul_right(self.reshape(tensor, (1, *tensor.shape)), weight)
            return self.reshape(product, product.shape[:-2] + product.shape[-1:])
        leading = common_shape(tensor.shape[:-2], weight.shape[:-2])
        rows, (size, width) = tensor.shape[-2], weight.shape[-2:]
        require_size(prod(leading) * rows * max(size, width), f"a product of shape {(*leading, rows, width)}")
        if prod(weight.shape[:-2]) == 1:
            product = self.linear(
                tensor, _repeated(weight.reshape(1, size, width), prod(leading) * rows), (*leading, rows, width)
            )
        else:
            require_size(prod(leading) * size * width, f"a constant of shape {(*leading, size, width)}")
            stacked = np.broadcast_to(weight, (*leading, size, width)).reshape(-1, size, width)
            spread = self.broadcast(tensor, (*leading, rows, size))
            product = self.linear(spread, _repeated(stacked, rows), (*leading, rows, width))
        return product

    def matmul_left(self, weight: Floats, tensor: Tensor) -> Tensor:
        """``weight @ tensor``: the transpose of ``tensor.T @ weight.T``."""
        turned = self._swap_last_axes(tensor) if len(tensor.shape) > 1 else tensor
        product = self.matmul_right(turned, weight.swapaxes(-1, -2) if weight.ndim > 1 else weight)
        return self._swap_last_axes(product) if len(tensor.shape) > 1 and weight.ndim > 1 else product

    def _swap_last_axes(self, tensor: Tensor) -> Tensor:
        *leading, last, final = range(len(tensor.shape))
        return self.transpose(tensor, (*leading, final, last))

    def batch_norm(
        self, tensor: Tensor, *, gain: Floats, shift: Floats, mean: Floats, variance: Floats, epsilon: float, name: str
    ) -> Tensor:
        """Inference-mode batch norm over axis 1: ``(x - mean) * gain / sqrt(variance + epsilon) + shift``."""
        lengths = [len(values) for values in (gain, shift, mean, variance)]
        if len(tensor.shape) < 2 or lengths != [tensor.shape[1]] * 4:
            raise AffineLensError(
                f"batch norm parameters of lengths {lengths} do not fit a tensor of shape {tensor.shape}"
            )
        if np.any(variance + epsilon <= 0):
            raise AffineLensError("batch norm needs variance + epsilon above zero")
        per_channel = (1, -1) + (1,) * (len(tensor.shape) - 2)
        factors = _over_root(gain, variance, epsilon)
        rounded = "batch norm's gain / sqrt(variance + epsilon) was rounded once to float64"
        self.note(Note(NoteKind.ROUNDED, rounded, name))
        centered = self.add_constant(tensor, -mean.reshape(per_channel))
        scaled = self.scale(centered, factors.reshape(per_channel))
        return self.add_constant(scaled, shift.reshape(per_channel))

    def activate(self, tensor: Tensor, activation: Activation, name: str, shape: Shape | None = None) -> Tensor:
        """Close a stage; the result has the tensor's shape unless the activation changes the size."""
        shape = tensor.shape if shape is None else shape
        if not tensor.sources and tensor.bias is not None:
            return self._settled(tensor, tensor.bias, activation, shape)
        before = replace(tensor, operations=tuple(o for o in tensor.operations if o is not self._operation))
        kind = "" if self._operation is None else self._operation.label
        self._stages.append(Stage(name, self._affine_sum(before), activation, kind, without_batch(shape)))
        self._operation = None
        return Tensor(shape, {len(self._stages): identity(activation.size_out)})

    def _settled(self, tensor: Tensor, constant: LinearMap, activation: Activation, shape: Shape) -> Tensor:
        """An activation of constants, whose pieces are known: no stage."""
        values = constant.apply_exact(ExactMatrix.from_floats(np.ones((1, 1))))
        signs = [(n > 0) - (n < 0) for n in activation.breaks.exact(values).numerators.entries()]
        lines = activation.lines(activation.pattern_from_signs(np.array(signs, dtype=np.int8)))
        taken = tensor if lines.unit is None else self.rearrange(tensor, lines.unit.reshape(shape))
        scaled = self.scale(taken, lines.slopes.reshape(shape))
        return self.add_constant(scaled, lines.offsets.reshape(shape)) if lines.offsets.any() else scaled

    def finish(self, output: Tensor) -> Network:
        shape = without_batch(output.shape)
        return Network(self._input_shape, tuple(self._stages), self._affine_sum(output), tuple(self._notes), shape)

    def _affine_sum(self, tensor: Tensor) -> AffineSum:
        labels = tuple(operation.label for operation in tensor.operations)
        return AffineSum(tensor.size, tuple(sorted(tensor.sources.items())), tensor.bias, labels)


def sum_of(members: Indices, size: int) -> Sparse:
    """The sum of the entries at each row's positions, leaving out -1."""
    present = members >= 0
    starts = np.cumsum([0, *present.sum(axis=1)])
    return Sparse(starts, members[present], np.ones(int(starts[-1])), size)


def _repeated(weight: Floats, rows: int) -> LinearMap:
    """The matrices (count, in, out) each applied to as many rows of its own."""
    count, size, width = weight.shape
    matrix = np.ascontiguousarray(weight.swapaxes(1, 2))
    if count * rows == 1:
        return Dense(matrix[0])
    turned = np.arange(count * rows * size).reshape(count, rows, size).swapaxes(1, 2).ravel()
    back = np.arange(count * rows * width).reshape(count, width, rows).swapaxes(1, 2).ravel()
    each = Convolution(matrix[..., None], (rows,), (rows,), (1,), (1,), (0,))
    return chain(chain(Select(turned, len(turned)), each), Select(back, len(back)))


def _written_out(linear: LinearMap) -> int:
    """How many indices and factors a map holds that the model does not store itself."""
    if isinstance(linear, Chain | Sum):
        return sum(map(_written_out, linear.maps))
    if isinstance(linear, Dense | Convolution):
        return 0
    return sum(array.size for _, array in linear.parameters())


def _quotient(where: NDArray[np.bool_], divisor: float) -> Scale:
    """Division of the chosen entries by a number, and of the others to 0."""
    over, under = abs(divisor).as_integer_ratio()
    power_of_two = over & -over
    return Scale(np.where(where, np.copysign(under / power_of_two, divisor), 0.0), over // power_of_two)


def _over_root(gain: Floats, variance: Floats, epsilon: float) -> Floats:
    """``gain / sqrt(variance + epsilon)``, computed from the exact numbers and rounded once."""
    factors = []
    for numerator, square in zip(gain.tolist(), variance.tolist(), strict=True):
        radicand = Fraction(square) + Fraction(epsilon)
        scale = 2 ** (_ROOT_BITS + max(0, radicand.denominator.bit_length() - radicand.numerator.bit_length()))
        root = isqrt(radicand.numerator * scale**2 // radicand.denominator)
        factors.append(float(Fraction(numerator) * scale / root))
    return np.array(factors)
