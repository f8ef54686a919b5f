"""What each ONNX operator does to values that depend on the input.

An operator is a function of a :class:`Call` that returns the node's first output, or a list of all of them. Operators
that combine constants alone are in :mod:`affinelens.network.onnx_constants`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor, prod
from operator import itemgetter
from typing import Any

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network import nonlinear, windows
from affinelens.network.graph import Tensor, checked_axis, common_shape, require_size
from affinelens.network.onnx_constants import fold, shape_of, size_of, stored
from affinelens.network.onnx_file import FLOATS, Node, type_name
from affinelens.network.onnx_replay import Array, Call, Constant, Floats, Replay, Value
from affinelens.network.resize import coordinate, resize_linear, resize_nearest
from affinelens.network.windows import Window

Operator = Callable[[Call], Value | list[Value]]

# What may follow a tail on the way to the output: the order of the scores stays as it is.
PASSIVE = {"Cast", "Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
TAILS = {"LogSoftmax", "Sigmoid", "Softmax"}
_CONTROL_FLOW = {"If", "Loop", "Scan", "SequenceMap"}
_CURVED = {
    "Acos", "Acosh", "ArgMax", "ArgMin", "Asin", "Asinh", "Atan", "Atanh", "Attention", "Bernoulli", "Ceil", "Celu",
    "Cos", "Cosh", "CumProd", "Det", "Elu", "Equal", "Erf", "Exp", "Floor", "GRU", "Gelu", "Greater", "GreaterOrEqual",
    "GroupNormalization", "HardSwish", "Hardmax", "InstanceNormalization", "LRN", "LSTM", "LayerNormalization", "Less",
    "LessOrEqual", "Log", "LogSoftmax", "LpNormalization", "LpPool", "MeanVarianceNormalization", "Mish", "Mod",
    "Multinomial", "NonZero", "Pow", "RMSNormalization", "RNN", "Reciprocal", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceProd", "ReduceSumSquare", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softmax",
    "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
}  # fmt: skip


def run(replay: Replay, node: Node) -> None:
    """Evaluate a node and keep its outputs."""
    try:
        results = _evaluate(Call(replay, node))
    except AffineLensError as error:
        raise error.located(f"node {node.name!r} ({node.operator})") from error
    except (ValueError, TypeError, OverflowError, MemoryError, IndexError) as error:
        cause = " ".join(str(error).split())
        raise AffineLensError(f"node {node.name!r} ({node.operator}): does not fit its inputs ({cause})") from error
    for name, value in zip(node.outputs, results, strict=False):
        replay.define(name, value)


def _evaluate(call: Call) -> Sequence[Value]:
    if call.node is call.replay.tail:
        return [_without_tail(call)]
    folded = fold(call) if call.node.inputs and call.is_constant() else None
    if folded is not None:
        return [folded]
    operator = call.node.operator
    if operator not in _OPERATORS:
        call.refuse(_reason(operator))
    call.builder.begin(operator)
    result = _OPERATORS[operator](call)
    return result if isinstance(result, list) else [result]


def _reason(operator: str) -> str:
    """Why an operator is not read."""
    if "." in operator:
        return f"belongs to the custom domain {operator.rpartition('.')[0]!r}, but only standard operators are read"
    if operator in _CONTROL_FLOW:
        return "control flow is not read; export the model with the branch or the loop resolved"
    if "Quantize" in operator or "QLinear" in operator or operator.endswith("Integer"):
        return "quantised operators round and are not piecewise affine; export the model before quantisation"
    if "Sequence" in operator or operator.startswith("Optional"):
        return "sequences and optional values are not read; tensors are needed"
    if operator in _CURVED:
        return "this operator is not piecewise affine and continuous"
    return "this operator is not read"


def _without_tail(call: Call) -> Value:
    """The scores that the model's last step turns into probabilities."""
    value = call.value(0)
    operator = call.node.operator
    if operator != "Sigmoid":
        first = checked_axis(call.node.integer("axis", -1 if call.opset >= 13 else 1), len(value.shape))
        together = value.shape[first : first + 1] if call.opset >= 13 else value.shape[first:]
        if prod(together) == 1:
            call.refuse(f"{operator} over axis {first} of a tensor of shape {value.shape} is constant")
    call.builder.note(nonlinear.cut_off(call.name, operator))
    return value


# Sums and products


def _add(call: Call) -> Value:
    return call.builder.add(call.tensor(0), call.tensor(1))


def _add_all(call: Call) -> Value:
    return call.builder.add_all([call.lifted(value) for value in call.values()])


def _mean_of_all(call: Call) -> Value:
    return call.builder.divide(call.lifted(_add_all(call)), np.array(float(len(call.node.inputs))))


def _subtract(call: Call) -> Value:
    return call.builder.subtract(call.tensor(0), call.tensor(1))


def _multiply(call: Call) -> Value:
    left, right = call.value(0), call.value(1)
    if isinstance(right, Constant):
        return call.builder.scale(call.lifted(left), right.numbers())
    if isinstance(left, Constant):
        return call.builder.scale(right, left.numbers())
    return call.refuse(
        "both factors depend on the network's input; one of them must be a constant, or it is not piecewise affine"
    )


def _divide(call: Call) -> Value:
    if isinstance(call.value(1), Tensor):
        call.refuse("the divisor depends on the network's input; it must be a constant, or it is not piecewise affine")
    return call.builder.divide(call.tensor(0), call.array(1))


def _negate(call: Call) -> Value:
    return nonlinear.negated(call.builder, call.tensor(0))


def _matmul(call: Call) -> Value:
    return _product(call, call.value(0), call.value(1))


def _gemm(call: Call) -> Value:
    factors = [call.value(position) for position in (0, 1)]
    if any(len(factor.shape) != 2 for factor in factors):
        raise AffineLensError(f"matrices are needed, but the shapes are {factors[0].shape} and {factors[1].shape}")
    left, right = (
        _transposed(call, factor, (1, 0)) if call.node.integer(attribute, 0) else factor
        for factor, attribute in zip(factors, ("transA", "transB"), strict=True)
    )
    product = call.builder.scale(_product(call, left, right), call.node.number("alpha", 1.0))
    if not call.has(2):
        return product
    return call.builder.add(product, call.builder.scale(call.tensor(2), call.node.number("beta", 1.0)))


def _product(call: Call, left: Value, right: Value) -> Tensor:
    if isinstance(right, Constant):
        return call.builder.matmul_right(call.lifted(left), right.numbers())
    if isinstance(left, Constant):
        return call.builder.matmul_left(left.numbers(), right)
    return call.refuse(
        "both factors depend on the network's input; one of them must be a constant, or it is not piecewise affine"
    )


def _batch_norm(call: Call) -> Value:
    if call.node.integer("training_mode", 0) or sum(map(bool, call.node.outputs)) > 1:
        raise AffineLensError("batch norm is in training mode; export the model in evaluation mode")
    if not call.node.integer("spatial", 1):
        raise AffineLensError("batch norm with spatial=0 is not read; export the model with operator set 9 or later")
    gain, shift, mean, variance = (call.array(position) for position in (1, 2, 3, 4))
    return call.builder.batch_norm(
        call.tensor(0),
        gain=gain,
        shift=shift,
        mean=mean,
        variance=variance,
        epsilon=float(call.node.number("epsilon", 1e-5)),
        name=call.name,
    )


# Windows


def _window(call: Call, spatial: tuple[int, ...], sizes: Sequence[int]) -> Window:
    """The window that a node's attributes describe."""
    axes = len(spatial)
    strides = call.node.integers("strides") or [1] * axes
    dilations = call.node.integers("dilations") or [1] * axes
    pads = call.node.integers("pads") or [0] * (2 * axes)
    if len(pads) != 2 * axes or len(sizes) != axes:
        raise AffineLensError(
            f"a window of {list(sizes)} with pads={pads} does not fit spatial axes of sizes {spatial}"
        )
    ceil = bool(call.node.integer("ceil_mode", 0))
    window = Window(tuple(sizes), tuple(strides), tuple(dilations), tuple(pads[:axes]), tuple(pads[axes:]), ceil)
    automatic = call.node.text("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        totals = [
            max((-(-size // window.strides[axis]) - 1) * window.strides[axis] + window.extent(axis) - size, 0)
            for axis, size in enumerate(spatial)
        ]
        return _padded(window, totals, upper=automatic == "SAME_UPPER")
    if automatic == "VALID":
        return _padded(window, [0] * axes, upper=True)
    if automatic != "NOTSET":
        raise AffineLensError(f"auto_pad={automatic!r} is not read; accepted are NOTSET, SAME_UPPER, SAME_LOWER, VALID")
    return window


def _padded(window: Window, totals: Sequence[int], *, upper: bool) -> Window:
    """A window whose padding adds up to the given totals, an odd one more behind (upper) or before."""
    halves = tuple(total // 2 for total in totals)
    others = tuple(total - half for total, half in zip(totals, halves, strict=True))
    before, after = (halves, others) if upper else (others, halves)
    return Window(window.sizes, window.strides, window.dilations, before, after, window.ceil)


def _spatial(call: Call) -> tuple[int, ...]:
    shape = call.value(0).shape
    if len(shape) < 3:
        raise AffineLensError(f"a tensor of shape {shape} has no spatial axes behind batch and channels")
    return shape[2:]


def _kernel(call: Call) -> tuple[Floats, Floats | None]:
    weight = call.array(1)
    given = call.node.integers("kernel_shape")
    if given is not None and tuple(given) != weight.shape[2:]:
        raise AffineLensError(f"kernel_shape={given} does not fit a kernel of shape {weight.shape}")
    return weight, call.array(2) if call.has(2) else None


def _convolution(call: Call) -> Value:
    weight, bias = _kernel(call)
    tensor, groups = call.tensor(0), call.node.integer("group", 1)
    if weight.ndim < 2 or tensor.shape[1:2] != (weight.shape[1] * groups,):
        raise AffineLensError(
            f"a kernel of shape {weight.shape} in {groups} groups does not fit a tensor of shape {tensor.shape}"
        )
    return windows.convolve(call.builder, tensor, weight, bias, _window(call, _spatial(call), weight.shape[2:]))


def _transposed_convolution(call: Call) -> Value:
    weight, bias = _kernel(call)
    spatial = _spatial(call)
    window = _window(call, spatial, weight.shape[2:])
    extra = call.node.integers("output_padding") or [0] * len(spatial)
    wanted = call.node.integers("output_shape")
    automatic = call.node.text("auto_pad", "NOTSET")
    if wanted is None and automatic.startswith("SAME"):
        wanted = [size * stride for size, stride in zip(spatial, window.strides, strict=True)]
    if len(extra) != len(spatial) or (wanted is not None and len(wanted) != len(spatial)):
        raise AffineLensError(f"output_padding={extra} or output_shape={wanted} does not fit {len(spatial)} axes")
    if wanted is not None:
        full = [
            (size - 1) * window.strides[axis] + window.extent(axis) + extra[axis] for axis, size in enumerate(spatial)
        ]
        totals = [most - size for most, size in zip(full, wanted, strict=True)]
        window = _padded(window, [max(total, 0) for total in totals], upper=automatic == "SAME_UPPER")
        extra = [more + max(-total, 0) for more, total in zip(extra, totals, strict=True)]
    groups = call.node.integer("group", 1)
    return windows.convolve_transposed(call.builder, call.tensor(0), weight, bias, window, groups, tuple(extra))


def _average_pool(call: Call) -> Value:
    window = _window(call, _spatial(call), call.node.integers("kernel_shape") or [])
    counted = bool(call.node.integer("count_include_pad", 0))
    return windows.average_pool(call.builder, call.tensor(0), window, count_padding=counted)


def _max_pool(call: Call) -> Value:
    window = _window(call, _spatial(call), call.node.integers("kernel_shape") or [])
    return windows.max_pool(call.builder, call.tensor(0), window, call.name)


def _global_average_pool(call: Call) -> Value:
    axes = range(2, 2 + len(_spatial(call)))
    return call.builder.mean_over(call.tensor(0), axes, keep=True)


def _global_max_pool(call: Call) -> Value:
    axes = range(2, 2 + len(_spatial(call)))
    return nonlinear.maximum_over(call.builder, call.tensor(0), axes, call.name, keep=True)


# Sums, means and maxima over axes


def _reduction(reduce: Callable[[Call, Tensor, list[int], bool], Tensor]) -> Operator:
    def operator(call: Call) -> Value:
        tensor = call.tensor(0)
        axes = call.reduced_axes(len(tensor.shape))
        return tensor if axes is None else reduce(call, tensor, axes, bool(call.node.integer("keepdims", 1)))

    return operator


def _sum_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return call.builder.sum_over(tensor, axes, keep=keep)


def _mean_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return call.builder.mean_over(tensor, axes, keep=keep)


def _max_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return nonlinear.maximum_over(call.builder, tensor, axes, call.name, keep=keep)


def _min_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    negative = nonlinear.negated(call.builder, tensor)
    return nonlinear.negated(call.builder, _max_over(call, negative, axes, keep))


def _absolute_sum_over(call: Call, tensor: Tensor, axes: list[int], keep: bool) -> Tensor:
    return _sum_over(call, nonlinear.absolute(call.builder, tensor, call.name), axes, keep)


# Functions with pieces


def _relu(call: Call) -> Value:
    return nonlinear.rectify(call.builder, call.tensor(0), np.array(0.0), call.name)


def _leaky_relu(call: Call) -> Value:
    return nonlinear.rectify(call.builder, call.tensor(0), call.node.number("alpha", 0.01), call.name)


def _prelu(call: Call) -> Value:
    return nonlinear.rectify(call.builder, call.tensor(0), call.array(1), call.name)


def _thresholded_relu(call: Call) -> Value:
    if call.node.number("alpha", 1.0) != 0:
        call.refuse("ThresholdedRelu jumps at its threshold, so it is not continuous unless alpha is 0")
    return _relu(call)


def _shrink(call: Call) -> Value:
    width, shift = float(call.node.number("lambd", 0.5)), float(call.node.number("bias", 0.0))
    if width != shift:
        call.refuse(f"shrinking with lambd={width:g} and bias={shift:g} is not continuous; the two must be equal")
    return nonlinear.soft_shrink(call.builder, call.tensor(0), width, call.name)


def _absolute(call: Call) -> Value:
    return nonlinear.absolute(call.builder, call.tensor(0), call.name)


def _clip(call: Call) -> Value:
    low, high = (
        _bound(call, position, attribute, default)
        for position, attribute, default in ((1, "min", -np.inf), (2, "max", np.inf))
    )
    return nonlinear.clip(call.builder, call.tensor(0), low, high, call.name)


def _bound(call: Call, position: int, attribute: str, default: float) -> Floats:
    """A bound from an input or, in older operator sets, an attribute."""
    if call.has(position):
        return call.constant(position).bounds()
    return np.array(call.node.attributes.get(attribute, default), dtype=np.float64)


def _hard_sigmoid(call: Call) -> Value:
    scaled = call.builder.scale(call.tensor(0), call.node.number("alpha", 0.2))
    moved = call.builder.add_constant(scaled, call.node.number("beta", 0.5))
    return nonlinear.clip(call.builder, moved, np.array(0.0), np.array(1.0), call.name)


def _maximum(call: Call) -> Value:
    return _extremum(call, largest=True)


def _minimum(call: Call) -> Value:
    return _extremum(call, largest=False)


def _extremum(call: Call, *, largest: bool) -> Value:
    """The largest or smallest of the inputs; against constants alone it is a clipping."""
    tensors = [value for value in call.values() if isinstance(value, Tensor)]
    constants = [value for value in call.values() if isinstance(value, Constant)]
    if len(tensors) > 1:
        everything = [call.lifted(value) for value in call.values()]
        combine = nonlinear.maximum if largest else nonlinear.minimum
        return combine(call.builder, everything, call.name)
    none = np.array(-np.inf if largest else np.inf)
    bound = none
    for constant in constants:
        common_shape(bound.shape, constant.shape)
        bound = np.maximum(bound, constant.bounds()) if largest else np.minimum(bound, constant.bounds())
    low, high = (bound, -none) if largest else (-none, bound)
    return nonlinear.clip(call.builder, tensors[0], low, high, call.name)


def _where(call: Call) -> Value:
    if isinstance(call.value(0), Tensor):
        call.refuse("the condition depends on the network's input; it must be a constant")
    chosen = call.constant(0).values.astype(np.float64)
    first, second = (call.builder.scale(call.tensor(k), mask) for k, mask in ((1, chosen), (2, 1.0 - chosen)))
    return call.builder.add(first, second)


# Layout


def _identity(call: Call) -> Value:
    return call.value(0)


def _dropout(call: Call) -> Value:
    if call.has(2) and call.constant(2).values.any():
        raise AffineLensError("dropout is in training mode; export the model in evaluation mode")
    return call.value(0)


def _cast(call: Call) -> Value:
    target = call.node.integer("to", 0)
    if target not in FLOATS:
        call.refuse(f"a conversion to {type_name(target)} is not piecewise affine")
    return call.value(0)


def _cast_like(call: Call) -> Value:
    like = call.value(1)
    if isinstance(like, Constant) and like.values.dtype.kind in "iub":
        call.refuse(f"a conversion to {like.values.dtype} is not piecewise affine")
    return call.value(0)


def _transpose(call: Call) -> Value:
    value = call.value(0)
    rank = len(value.shape)
    axes = [checked_axis(axis, rank) for axis in call.node.integers("perm") or range(rank)[::-1]]
    if sorted(axes) != list(range(rank)):
        raise AffineLensError(f"perm={axes} does not order the axes of a tensor of shape {value.shape}")
    return _transposed(call, value, axes)


def _transposed(call: Call, value: Value, axes: Sequence[int]) -> Value:
    return call.rearranged(value, value.shape, lambda array: array.transpose(axes))


def _flatten(call: Call) -> Value:
    value, axis = call.value(0), call.node.integer("axis", 1)
    if abs(axis) > len(value.shape):
        raise AffineLensError(f"axis {axis} does not exist in a tensor of shape {value.shape}")
    return call.with_shape(value, (prod(value.shape[:axis]), prod(value.shape[axis:])))


def _reshape(call: Call) -> Value:
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


def _squeeze(call: Call) -> Value:
    value, given = call.value(0), _axes(call)
    ones = [axis for axis, size in enumerate(value.shape) if size == 1]
    dropped = ones if given is None else [checked_axis(axis, len(value.shape)) for axis in given]
    if not set(dropped) <= set(ones):
        raise AffineLensError(f"axes {dropped} of a tensor of shape {value.shape} are not all of size 1")
    return call.with_shape(value, tuple(s for axis, s in enumerate(value.shape) if axis not in dropped))


def _unsqueeze(call: Call) -> Value:
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


def _slice(call: Call) -> Value:
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


def _gather(call: Call) -> Value:
    value = call.value(0)
    axis = checked_axis(call.node.integer("axis", 0), len(value.shape))
    size = value.shape[axis]
    indices = np.array(call.integers(1), dtype=np.int64).reshape(call.constant(1).shape)
    if indices.size and not -size <= indices.min() <= indices.max() < size:
        raise AffineLensError(f"an index lies outside the {size} entries of axis {axis}")
    shape = (*value.shape[:axis], *indices.shape, *value.shape[axis + 1 :])
    return call.rearranged(value, shape, lambda array: np.take(array, indices % max(size, 1), axis))


def _concatenate(call: Call) -> Value:
    parts = call.values()
    axis = checked_axis(call.node.integer("axis", 1), len(parts[0].shape))
    constants = [part.values for part in parts if isinstance(part, Constant)]
    if len(constants) == len(parts):
        require_size(sum(part.size for part in constants), "the result")
        return call.result(np.concatenate(constants, axis))
    return call.builder.concatenate([call.lifted(part) for part in parts], axis)


def _split(call: Call) -> list[Value]:
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


def _expand(call: Call) -> Value:
    value = call.value(0)
    shape = common_shape(value.shape, tuple(call.integers(1)))
    return call.rearranged(value, shape, lambda array: np.broadcast_to(array, shape))


def _tile(call: Call) -> Value:
    value, repeats = call.value(0), call.integers(1)
    if len(repeats) != len(value.shape) or min(repeats, default=0) < 0:
        raise AffineLensError(f"repeats {repeats} do not fit a tensor of shape {value.shape}")
    shape = [size * count for size, count in zip(value.shape, repeats, strict=True)]
    return call.rearranged(value, shape, lambda array: np.tile(array, repeats))


_PAD_MODES = {"constant": "constant", "reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def _pad(call: Call) -> Value:
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


def _depth_to_space(call: Call) -> Value:
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


def _space_to_depth(call: Call) -> Value:
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


# Resizing


def _resize(call: Call) -> Value:
    tensor = call.tensor(0)
    rank = len(tensor.shape)
    for attribute, only in (("antialias", 0), ("exclude_outside", 0)):
        if call.node.integer(attribute, only) != only:
            raise AffineLensError(f"{attribute}=1 is not read; export the model without it")
    if call.node.text("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise AffineLensError("keep_aspect_ratio_policy is not read; export the model with the sizes it comes to")
    axes = [checked_axis(axis, rank) for axis in call.node.integers("axes") or range(rank)]
    scales_at = 1 if call.opset < 11 else 2
    scales = call.constant(scales_at).values.ravel().tolist() if call.has(scales_at) else []
    sizes = call.integers(3) if call.has(3) else []
    older = call.opset < 11
    way = call.node.text("coordinate_transformation_mode", "asymmetric" if older else "half_pixel")
    rounding = call.node.text("nearest_mode", "floor" if older else "round_prefer_floor")
    return _resized(call, tensor, axes, scales, sizes, way, rounding)


def _upsample(call: Call) -> Value:
    scales: list[float] = call.node.attributes.get("scales", [])
    if call.has(1):
        scales = call.constant(1).values.ravel().tolist()
    tensor = call.tensor(0)
    return _resized(call, tensor, range(len(tensor.shape)), scales, [], "asymmetric", "floor")


def _resized(
    call: Call,
    tensor: Tensor,
    axes: Sequence[int],
    scales: Sequence[float],
    sizes: Sequence[int],
    way: str,
    rounding: str,
) -> Tensor:
    mode = call.node.text("mode", "nearest")
    if mode not in ("nearest", "linear", "bilinear", "trilinear"):
        raise AffineLensError(f"mode={mode!r} is not read; accepted are nearest and linear")
    if len(sizes or scales) != len(axes) or not all(0 < scale < np.inf for scale in scales):
        raise AffineLensError(
            f"scales {list(scales)} and sizes {list(sizes)} do not fit a tensor of shape {tensor.shape}"
        )
    for position, axis in enumerate(axes):
        size = tensor.shape[axis]
        scale = Fraction(sizes[position], max(size, 1)) if sizes else Fraction(scales[position])
        outputs = sizes[position] if sizes else floor(size * scale)
        if scale == 1 or scale <= 0:
            if outputs != size:
                raise AffineLensError(f"axis {axis} cannot be resized to {outputs} entries")
            continue
        where = coordinate(way, size, outputs, scale)
        if mode == "nearest":
            tensor = resize_nearest(call.builder, tensor, axis, outputs, where, rounding)
        else:
            tensor = resize_linear(call.builder, tensor, axis, outputs, where)
    return tensor


_OPERATORS: dict[str, Operator] = {
    "Abs": _absolute,
    "Add": _add,
    "AveragePool": _average_pool,
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Concat": _concatenate,
    "Constant": stored,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "DepthToSpace": _depth_to_space,
    "Div": _divide,
    "Dropout": _dropout,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool,
    "GlobalMaxPool": _global_max_pool,
    "HardSigmoid": _hard_sigmoid,
    "Identity": _identity,
    "LeakyRelu": _leaky_relu,
    "MatMul": _matmul,
    "Max": _maximum,
    "MaxPool": _max_pool,
    "Mean": _mean_of_all,
    "Min": _minimum,
    "Mul": _multiply,
    "Neg": _negate,
    "PRelu": _prelu,
    "Pad": _pad,
    "ReduceL1": _reduction(_absolute_sum_over),
    "ReduceMax": _reduction(_max_over),
    "ReduceMean": _reduction(_mean_over),
    "ReduceMin": _reduction(_min_over),
    "ReduceSum": _reduction(_sum_over),
    "Relu": _relu,
    "Reshape": _reshape,
    "Resize": _resize,
    "Shape": shape_of,
    "Shrink": _shrink,
    "Size": size_of,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Sub": _subtract,
    "Sum": _add_all,
    "ThresholdedRelu": _thresholded_relu,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "Upsample": _upsample,
    "Where": _where,
}
