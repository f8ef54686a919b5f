"""Building a canonical network operation by operation; what every importer calls.

A :class:`Tensor` is an affine function of the input and of the outputs of earlier stages. Linear operations return
another tensor; an activation closes a stage and returns a fresh one. No coefficients are ever multiplied here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, prod
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from affinelens.errors import AffineLensError
from affinelens.network.activation import Activation, PiecewiseLinear
from affinelens.network.canonical import AffineSum, Network, Stage
from affinelens.network.linear_map import Dense, LinearMap, Scale, Select, Sparse, add, chain, identity

Floats = NDArray[np.float64]
Shape = tuple[int, ...]
_ROOT_BITS = 256
Number = TypeVar("Number", bound=np.generic)

# A tensor, or a matrix that has to be written out, of more numbers than this is a mistake or an attack, not a network.
_LARGEST = 2**28
# The reciprocal of any larger float64 is an integer denominator and a power of two that float64 holds.
_SMALLEST_DIVISOR = 2.0**-960


@dataclass(frozen=True, eq=False)
class Tensor:
    """An affine function of the stages so far, with the shape it has in the model."""

    shape: Shape
    sources: dict[int, LinearMap]
    bias: LinearMap | None = None

    @property
    def size(self) -> int:
        return prod(self.shape)


def parameter(values: ArrayLike, name: str) -> Floats:
    """A model's parameter as float64, which holds every smaller float exactly."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise AffineLensError(f"{name} holds values of type {array.dtype}; real numbers are needed")
    if array.dtype.kind in "iu" and array.size and (array.max() > 2**53 or array.min() < -(2**53)):
        raise AffineLensError(f"{name} holds integers beyond 2**53, which float64 cannot represent; rescale the model")
    with np.errstate(all="ignore"):  # a signalling NaN warns when it is converted
        wide = array.astype(np.float64)
    if array.dtype.itemsize > 8 and not np.array_equal(wide.astype(array.dtype), array):
        raise AffineLensError(f"{name} holds {array.dtype} numbers that float64 cannot represent; convert the model")
    if not np.isfinite(wide).all():
        found = "NaN" if np.isnan(wide).any() else "infinity"
        raise AffineLensError(f"{name} contains {found}; every weight must be a finite number")
    return wide


class GraphBuilder:
    """Collects stages while a model's operations are replayed in order."""

    def __init__(self, input_shape: Shape) -> None:
        self._input_shape = input_shape
        self._stages: list[Stage] = []
        self._notes: list[str] = []

    def input(self, *, batched: bool = False) -> Tensor:
        """The network's input; ``batched`` puts a batch axis of 1 in front, as frameworks do."""
        size = prod(self._input_shape)
        require_size(size, f"an input of shape {self._input_shape}")
        return Tensor((1, *self._input_shape) if batched else self._input_shape, {0: identity(size)})

    def constant(self, values: Floats) -> Tensor:
        return Tensor(values.shape, {}, Dense(values.reshape(values.size, 1)))

    def note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def linear(self, tensor: Tensor, linear: LinearMap, shape: Shape) -> Tensor:
        """A linear map of the tensor's flattened values."""
        sources = {k: chain(first, linear) for k, first in tensor.sources.items()}
        bias = None if tensor.bias is None else chain(tensor.bias, linear)
        return Tensor(shape, sources, bias)

    def reshape(self, tensor: Tensor, shape: Shape) -> Tensor:
        if prod(shape) != tensor.size:
            raise AffineLensError(f"a tensor of shape {tensor.shape} cannot be reshaped to {shape}")
        return Tensor(shape, tensor.sources, tensor.bias)

    def broadcast(self, tensor: Tensor, shape: Shape) -> Tensor:
        if tensor.shape == shape:
            return tensor
        positions = _spread(np.arange(tensor.size).reshape(tensor.shape), shape)
        return self.linear(tensor, Select(positions, tensor.size), shape)

    def transpose(self, tensor: Tensor, axes: Sequence[int]) -> Tensor:
        """The tensor with its axes in the given order."""
        positions = np.arange(tensor.size).reshape(tensor.shape).transpose(axes)
        return self.linear(tensor, Select(positions.ravel(), tensor.size), positions.shape)

    def add(self, left: Tensor, right: Tensor) -> Tensor:
        shape = common_shape(left.shape, right.shape)
        left, right = self.broadcast(left, shape), self.broadcast(right, shape)
        sources: dict[int, LinearMap] = dict(left.sources)
        for k, linear in right.sources.items():
            sources[k] = add([sources[k], linear]) if k in sources else linear
        biases = [bias for bias in (left.bias, right.bias) if bias is not None]
        return Tensor(shape, sources, add(biases) if biases else None)

    def add_constant(self, tensor: Tensor, constant: Floats) -> Tensor:
        return self.add(tensor, self.constant(constant))

    def subtract(self, left: Tensor, right: Tensor) -> Tensor:
        return self.add(left, self.scale(right, np.array(-1.0)))

    def scale(self, tensor: Tensor, factors: Floats) -> Tensor:
        shape = common_shape(tensor.shape, factors.shape)
        tensor = self.broadcast(tensor, shape)
        spread = _spread(factors, shape)
        return tensor if np.all(spread == 1.0) else self.linear(tensor, Scale(spread), shape)

    def divide(self, tensor: Tensor, divisors: Floats) -> Tensor:
        """The exact quotient: one map for each different divisor, whose odd part stays an integer denominator."""
        if np.any(np.abs(divisors) < _SMALLEST_DIVISOR):
            raise AffineLensError(
                f"a tensor is divided by a constant that contains 0 or a number below {_SMALLEST_DIVISOR:g}"
            )
        shape = common_shape(tensor.shape, divisors.shape)
        spread = _spread(divisors, shape)
        quotients = [_quotient(spread == divisor, divisor) for divisor in np.unique(spread).tolist()]
        return self.linear(self.broadcast(tensor, shape), add(quotients), shape)

    def matmul_right(self, tensor: Tensor, weight: Floats) -> Tensor:
        """``tensor @ weight`` by numpy's rules; axes of the weight before its last two must be 1."""
        if weight.ndim > 2 and prod(weight.shape[:-2]) == 1:
            missing = max(weight.ndim - max(len(tensor.shape), 2), 0)
            widened = self.reshape(tensor, (1,) * missing + tensor.shape)
            return self.matmul_right(widened, weight.reshape(weight.shape[-2:]))
        if not tensor.shape or weight.ndim not in (1, 2) or tensor.shape[-1] != weight.shape[0]:
            raise AffineLensError(
                f"a tensor of shape {tensor.shape} cannot be multiplied by a constant of shape {weight.shape}"
            )
        leading = tensor.shape[:-1]
        matrix = weight.reshape(weight.shape[0], prod(weight.shape[1:]))
        return self.linear(
            tensor, _blocks(np.ascontiguousarray(matrix.T), prod(leading)), (*leading, *weight.shape[1:])
        )

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
        self.note(f"{name}: batch norm's gain / sqrt(variance + epsilon) was rounded once to float64")
        centred = self.add_constant(tensor, -mean.reshape(per_channel))
        scaled = self.scale(centred, factors.reshape(per_channel))
        return self.add_constant(scaled, shift.reshape(per_channel))

    def activate(self, tensor: Tensor, activation: Activation, name: str, shape: Shape | None = None) -> Tensor:
        """Close a stage; the result has the tensor's shape unless the activation changes the size."""
        self._stages.append(Stage(name, self._affine_sum(tensor), activation))
        return Tensor(shape or tensor.shape, {len(self._stages): identity(activation.size_out)})

    def rectify(self, tensor: Tensor, slopes: Floats, name: str) -> Tensor:
        """Close a stage of ReLU-like units: slope 1 above zero and ``slopes``, spread over the tensor, below."""
        return self.activate(tensor, PiecewiseLinear.two_slopes(_spread(slopes, tensor.shape)), name)

    def finish(self, output: Tensor) -> Network:
        return Network(self._input_shape, tuple(self._stages), self._affine_sum(output), tuple(self._notes))

    def _affine_sum(self, tensor: Tensor) -> AffineSum:
        return AffineSum(tensor.size, tuple(sorted(tensor.sources.items())), tensor.bias)


def _blocks(matrix: Floats, copies: int) -> LinearMap:
    """The matrix applied to ``copies`` consecutive blocks."""
    if copies == 1:
        return Dense(matrix)
    out_size, in_size = matrix.shape
    require_size(copies * matrix.size, f"a matrix of shape {matrix.shape} applied {copies} times")
    columns = np.arange(in_size)[None, None, :] + in_size * np.arange(copies)[:, None, None]
    spread = np.broadcast_to(columns, (copies, out_size, in_size)).ravel()
    starts = np.arange(copies * out_size + 1) * in_size
    return Sparse(starts, spread, np.tile(matrix.ravel(), copies), copies * in_size)


def _quotient(where: NDArray[np.bool_], divisor: float) -> Scale:
    """Division of the chosen entries by a number, and of the others to 0."""
    over, under = abs(divisor).as_integer_ratio()
    power_of_two = over & -over
    return Scale(np.where(where, np.copysign(under / power_of_two, divisor), 0.0), over // power_of_two)


def _spread(values: NDArray[Number], shape: Shape) -> NDArray[Number]:
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


def require_size(count: int, what: str) -> None:
    """Refuse, before allocating it, what no real network needs."""
    if count > _LARGEST:
        raise AffineLensError(f"{what} needs {count} numbers, more than the {_LARGEST} that are accepted")


def _over_root(gain: Floats, variance: Floats, epsilon: float) -> Floats:
    """``gain / sqrt(variance + epsilon)``, computed from the exact numbers and rounded once."""
    factors = []
    for numerator, spread in zip(gain.tolist(), variance.tolist(), strict=True):
        radicand = Fraction(spread) + Fraction(epsilon)
        scale = 2 ** (_ROOT_BITS + max(0, radicand.denominator.bit_length() - radicand.numerator.bit_length()))
        root = isqrt(radicand.numerator * scale**2 // radicand.denominator)
        factors.append(float(Fraction(numerator) * scale / root))
    return np.array(factors)
