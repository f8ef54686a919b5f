"""The table of ATen operators: which function means each, and which arguments it is read from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network.build import nonlinear, operators, ordering, windows
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.comparison import compare, negation, sign
from affinelens.network.build.replay import Operator, Operators, always, does, first_of, name, numbers, tensor, value
from affinelens.network.build.scattering import scattered
from affinelens.network.build.values import Comparison, RefusedError
from affinelens.network.note import combined, rounds
from affinelens.network.torch import image_operators as images
from affinelens.network.torch.aten_call import AtenCall, constant, flag
from affinelens.network.torch.exported_node import ExportedNode


def _fold(call: AtenCall) -> Any:
    """Run an operator on constants, as the model does."""
    target, node = call.node.node.target, call.node.node
    if call.node.operator == "getitem":
        return None
    if not isinstance(target, torch._ops.OpOverload):
        raise AffineLensError("this operator is not read; write the module without it")
    if torch.Tag.nondeterministic_seeded in target.tags:
        raise AffineLensError("this operator draws random numbers; a network must be a function")
    if call.node.inputs and call.node.operator not in _KEEPS_NUMBERS:
        call.builder.note(combined(call.name, str(target)))
    return target(*call.replay.resolved(node.args), **call.replay.resolved(node.kwargs))


def _item(call: AtenCall) -> Any:
    """One of an operation's results."""
    results, index = call.replay.resolved(call.node.node.args)
    if index >= len(results):
        raise AffineLensError("the positions of maxima jump and are not continuous; their values are read")
    return results[index]


def _reshape(call: AtenCall) -> Tensor | Comparison:
    """Every operator that keeps the numbers and their order; the exporter has worked out the shape."""
    value = call.replay.value(call.node.node.args[0], call.node)
    if isinstance(value, Comparison):
        return Comparison(call.builder.reshape(value.lead, call.shape))
    result, given = call.node.result.dtype, ExportedNode(call.node.inputs[0]).result.dtype
    if not result.is_floating_point:
        raise RefusedError(f"a conversion to {result} jumps and is not continuous")
    if torch.finfo(result).eps > torch.finfo(given).eps:
        call.builder.note(rounds(call.name, str(result).removeprefix("torch.")))
    return call.builder.reshape(call.first(), call.shape)


def _concatenate(call: AtenCall) -> Tensor:
    parts = [part for part in call.tensors() if part.shape != (0,)]
    return call.builder.concatenate(parts, call.given("dim") % len(parts[0].shape))


def _pad(call: AtenCall) -> Any:
    """Padding; torch's list of widths begins with the last axis."""
    if call.given("mode") not in (None, "constant"):
        return call.moved()
    source, given = call.first(), list(call.given("pad"))
    widths = [(0, 0)] * (len(source.shape) - len(given) // 2) + list(zip(given[::2], given[1::2], strict=True))[::-1]
    fill = float(call.numbers("value")) if call.given("value") else 0.0
    return operators.padded(call.builder, source, widths, "constant", fill)


def _like(call: AtenCall) -> Any:
    """Constants made to the measure of a tensor, such as zeros_like."""
    node = call.node.node
    example = torch.empty(call.first().shape, dtype=call.node.result.dtype)
    return node.target(example, *node.args[1:], **{**node.kwargs, "device": None, "pin_memory": None})


def _filled(call: AtenCall) -> Tensor:
    """A tensor overwritten by one number, which may depend on the input."""
    return call.builder.broadcast(call.tensor("value"), call.shape)


def _nothing(call: AtenCall) -> torch.Tensor:
    """Zeros, and what is false of every real number."""
    return torch.zeros(call.shape, dtype=call.node.result.dtype)


def _scaled_other(call: AtenCall) -> Tensor:
    """What is added, times a Python number."""
    return call.builder.scale(call.tensor("other"), call.numbers("alpha"))


def _divide(call: AtenCall) -> Tensor:
    if call.given("rounding_mode") is not None:
        raise RefusedError("a division that rounds jumps and is not continuous")
    return operators.divide(call.builder, call.value("self"), call.value("other"))


def _factors(call: AtenCall) -> tuple[Floats, Floats]:
    return call.numbers("alpha"), call.numbers("beta")


def _linear(call: AtenCall) -> Tensor:
    product = call.builder.matmul_right(call.tensor("input"), call.numbers("weight").T)
    return product if call.given("bias") is None else call.builder.add_constant(product, call.numbers("bias"))


def _batch_norm(call: AtenCall) -> Tensor:
    mean = call.numbers("running_mean")
    return call.builder.batch_norm(
        call.tensor("input"),
        gain=np.ones(len(mean)) if call.given("weight") is None else call.numbers("weight"),
        shift=np.zeros(len(mean)) if call.given("bias") is None else call.numbers("bias"),
        mean=mean,
        variance=call.numbers("running_var"),
        epsilon=float(call.given("eps")),
        name=call.name.split("/")[0],
    )


def _slope_of_each_channel(call: AtenCall) -> Floats:
    return call.numbers("weight").reshape((-1,) + (1,) * max(len(call.first().shape) - 2, 0))


def _mean_slope(call: AtenCall) -> Floats:
    """A random slope in evaluation mode is the mean of its bounds."""
    if call.given("training"):
        raise RefusedError("rrelu draws random slopes in training mode; a network must be a function")
    return constant((call.given("lower") + call.given("upper")) / 2, call.node).numbers()


def _hard_sigmoid(call: AtenCall) -> Tensor:
    moved = call.builder.add_constant(call.tensor("self"), np.array(3.0))
    clipped = nonlinear.clip(call.builder, moved, np.array(0.0), np.array(6.0), call.name)
    return call.builder.divide(clipped, np.array(6.0))


def _extremum(call: AtenCall, *, largest: bool) -> Any:
    """Of two tensors, along an axis (with the positions, which are not read), or of everything."""
    if call.given("other") is not None:
        both = [call.value("self"), call.value("other")]
        return operators.extremum(call.builder, both, call.name, largest=largest)
    over = nonlinear.maximum_over if largest else nonlinear.minimum_over
    best = does(over, tensor("self"), AtenCall.reduced_axes, name, keep=flag("keepdim"))(call)
    return best if isinstance(call.node.node.meta["val"], torch.Tensor) else (best,)


def _ranked(call: AtenCall) -> Any:
    """topk, sort, msort, median and kthvalue: the entries of some ranks along an axis, of which 0 is the largest's."""
    source, operator = call.tensor("self"), call.node.operator.removeprefix("nan")
    whole = call.given("dim") is None and operator in ("median", "msort")
    axis = 0 if whole else call.axis()
    if whole and operator == "median":
        source = call.builder.reshape(source, (source.size,))
    count = source.shape[axis] if source.shape else 1
    largest = call.given("descending" if operator == "sort" else "largest")
    ranks = range(count) if largest else range(count)[::-1]
    if operator == "median":
        ranks = range(count // 2, count // 2 + 1)
    elif operator == "kthvalue":
        ranks = ranks[call.given("k") - 1 : call.given("k")]
    elif operator == "topk":
        ranks = ranks[: call.given("k")]
    best = call.builder.reshape(ordering.ordered(call.builder, source, axis, list(ranks), call.name), call.shape)
    return best if isinstance(call.node.node.meta["val"], torch.Tensor) else (best,)


def _written(call: AtenCall) -> Any:
    """index_put: entries replaced where a comparison holds or at given places, or added to what is there."""
    places = [slice(None) if place is None else place for place in call.given("indices")]
    if len(places) == 1 and isinstance(places[0], Comparison):
        return operators.choose(call.builder, places[0], call.value("values"), call.value("self"), call.name)
    if not call.given("accumulate"):
        return call.moved()
    return _accumulated(call, call.tensor("values"), lambda places_of_self: places_of_self[tuple(places)])


def _scattered(call: AtenCall) -> Any:
    """Entries replaced by those of another tensor, or by a number."""
    if call.given("reduce") is not None:
        raise RefusedError("scatter is read without reduce alone; scatter_add adds")
    if call.given("value") is None:
        return call.moved()
    places = torch.zeros(call.shape).scatter(call.axis(), call.given("index").cpu(), 1.0)
    mask = constant(places.bool(), call.node)
    return operators.choose(call.builder, mask, call.value("value"), call.value("self"), call.name)


def _added(call: AtenCall) -> Tensor:
    """scatter_add and index_add: a tensor's entries added at given places of another."""
    axis, index = call.axis(), call.given("index").cpu()
    if call.node.operator == "index_add":
        amount = call.builder.scale(call.tensor("source"), call.numbers("alpha"))
        return _accumulated(call, amount, lambda places: places.index_select(axis, index))
    return _accumulated(call, _as_large_as(call, "src", index), lambda places: places.gather(axis, index))


def _reduced(call: AtenCall) -> Tensor:
    """scatter_reduce and index_reduce: entries put together with those that are brought to their places."""
    axis, index = call.axis(), call.given("index").cpu()
    how, with_own = call.given("reduce"), bool(call.given("include_self"))
    if call.node.operator == "index_reduce":
        return _accumulated(
            call, call.tensor("source"), lambda places: places.index_select(axis, index), how, with_own=with_own
        )
    amount = _as_large_as(call, "src", index)
    return _accumulated(call, amount, lambda places: places.gather(axis, index), how, with_own=with_own)


def _as_large_as(call: AtenCall, argument: str, index: torch.Tensor) -> Tensor:
    """The entries of a tensor that an index takes part of."""
    source = call.tensor(argument)
    return call.builder.rearrange(source, source.positions[tuple(slice(size) for size in index.shape)])


def _accumulated(
    call: AtenCall,
    amount: Tensor,
    chosen: Callable[[torch.Tensor], torch.Tensor],
    how: str = "sum",
    *,
    with_own: bool = True,
) -> Tensor:
    """The operator's tensor put together with an amount at the places that are chosen of its own."""
    target = call.tensor("self")
    places = chosen(torch.from_numpy(target.positions)).numpy()
    return scattered(call.builder, target, amount, places, how, call.name, with_own=with_own)


def _sum_of_products(call: AtenCall) -> Tensor:
    """addbmm: the matrix products of a batch, added up."""
    builder, (alpha, beta) = call.builder, _factors(call)
    product = operators.matrix_product(builder, call.value("batch1"), call.value("batch2"))
    summed = builder.scale(builder.sum_over(product, [0], keep=False), alpha)
    return builder.add(builder.scale(call.tensor("self"), beta), summed)


def _restrided(call: AtenCall) -> Any:
    """as_strided, of entries that lie in memory one after the other as the network has them."""
    source = ExportedNode(call.node.inputs[0]).result
    if not source.is_contiguous() or source.storage_offset():
        raise RefusedError("as_strided is read of a contiguous tensor alone; write it with slices")
    return call.moved()


def _with_sign_of(call: AtenCall) -> Tensor:
    """copysign, by the signs of constants."""
    sizes = nonlinear.absolute(call.builder, call.tensor("self"), call.name)
    return call.builder.scale(sizes, np.copysign(1.0, call.numbers("other")))


def _instance_norm(call: AtenCall) -> Tensor:
    if call.given("use_input_stats"):
        raise RefusedError("a norm by the input's own mean and variance is not piecewise affine; running ones are read")
    return _batch_norm(call)


def _same(call: AtenCall) -> torch.Tensor:
    """Whether entries are equal; of a tensor and itself that is no question, as nan is no number of a network."""
    node = call.node.node
    if node.args[0] is not node.args[1]:
        raise RefusedError(call.why_unread())
    return torch.full(call.shape, call.node.operator == "eq")


def _distances(call: AtenCall) -> Tensor:
    """cdist: a norm of the difference of every row of one tensor and every row of another."""
    builder, first, second = call.builder, call.tensor("x1"), call.tensor("x2")
    first = builder.reshape(first, (*first.shape[:-1], 1, first.shape[-1]))
    second = builder.reshape(second, (*second.shape[:-2], 1, *second.shape[-2:]))
    difference = builder.subtract(first, second)
    return nonlinear.norm_over(
        builder, difference, [len(difference.shape) - 1], float(call.given("p")), call.name, keep=False
    )


def _order(call: AtenCall) -> float:
    given = call.given("ord"), call.given("p")
    return next((float(order) for order in given if order is not None), 2.0)


def _each(names: str, operator: Operator) -> dict[str, Operator]:
    return dict.fromkeys(names.split(), operator)


_MAX_POOL = images.on_images(does(windows.max_pool, images.batched, images.pooling_window, name))
_AVERAGE_POOL = images.on_images(
    does(
        windows.average_pool,
        images.batched,
        images.pooling_window,
        count_padding=flag("count_include_pad"),
        divisor=lambda call: call.given("divisor_override"),
    )
)
_ADAPTIVE_MAX_POOL = images.on_images(does(windows.max_pool, images.batched, images.adaptive, name))
_ADAPTIVE_AVERAGE_POOL = images.on_images(does(windows.average_pool, images.batched, images.adaptive))
_NORM = does(nonlinear.norm_over, tensor("self"), AtenCall.reduced_axes, _order, name, keep=flag("keepdim"))
_CLAMP = does(operators.clamp, value("self"), value("min"), value("max"), name)

_TABLE: dict[str, Operator] = {
    "_native_batch_norm_legit_no_training": first_of(_batch_norm),
    "abs": does(nonlinear.absolute, tensor("self"), name),
    "add": does(GraphBuilder.add, tensor("self"), _scaled_other),
    "_cdist_forward": _distances,
    "addbmm": _sum_of_products,
    "addmm": does(operators.affine_product, value("mat1"), value("mat2"), value("self"), _factors),
    "addmv": does(operators.affine_product, value("mat"), value("vec"), value("self"), _factors),
    "baddbmm": does(operators.affine_product, value("batch1"), value("batch2"), value("self"), _factors),
    "cat": _concatenate,
    "as_strided": _restrided,
    "copysign": _with_sign_of,
    "cummax": first_of(does(ordering.running_maximum, tensor("self"), AtenCall.axis, name)),
    "cummin": first_of(does(ordering.running_minimum, tensor("self"), AtenCall.axis, name)),
    "cumsum": does(GraphBuilder.running_sum, tensor("self"), AtenCall.axis),
    "dot": does(operators.matrix_product, value("self"), value("tensor")),
    "fill": _filled,
    "getitem": _item,
    "index_put": _written,
    "instance_norm": _instance_norm,
    "ldexp": does(GraphBuilder.scale, tensor("self"), lambda call: np.exp2(call.numbers("other"))),
    "lerp": does(operators.interpolated, value("self"), value("end"), value("weight")),
    "pow": does(operators.power, value("self"), value("exponent")),
    "hardsigmoid": _hard_sigmoid,
    "hardtanh": does(operators.clamp, value("self"), value("min_val"), value("max_val"), name),
    "leaky_relu": does(nonlinear.rectify, tensor("self"), numbers("negative_slope"), name),
    "linear": _linear,
    "masked_fill": does(operators.choose, value("mask"), value("value"), value("self"), name),
    "matmul": does(operators.matrix_product, value("self"), value("other")),
    "mean": does(GraphBuilder.mean_over, tensor("self"), AtenCall.reduced_axes, keep=flag("keepdim")),
    "mul": does(operators.multiply, value("self"), value("other"), name),
    "mv": does(operators.matrix_product, value("self"), value("vec")),
    "nan_to_num": value("self"),
    "neg": does(nonlinear.negated, tensor("self")),
    "prelu": does(nonlinear.rectify, tensor("self"), _slope_of_each_channel, name),
    "relu": does(nonlinear.rectify, tensor("self"), always(np.array(0.0)), name),
    "relu6": does(nonlinear.clip, tensor("self"), always(np.array(0.0)), always(np.array(6.0)), name),
    "rrelu": does(nonlinear.rectify, tensor("self"), _mean_slope, name),
    "scatter": _scattered,
    "sub": does(GraphBuilder.subtract, tensor("self"), _scaled_other),
    "sum": does(GraphBuilder.sum_over, tensor("self"), AtenCall.reduced_axes, keep=flag("keepdim")),
    "threshold": does(nonlinear.threshold, tensor("self"), numbers("threshold"), numbers("value"), name),
    "where": does(operators.choose, value("condition"), value("self"), value("other"), name),
    **_each("linalg_vector_norm norm", _NORM),
    **_each("ge gt", does(compare, value("self"), value("other"))),
    **_each("le lt", does(compare, value("other"), value("self"))),
    **_each("bitwise_not logical_not", does(negation, value("self"))),
    **_each("sgn sign", does(sign, value("self"))),
    **_each("isinf isnan zero zeros_like", _nothing),
    **_each("kthvalue median msort nanmedian sort topk", _ranked),
    **_each("index_add scatter_add", _added),
    **_each("index_reduce scatter_reduce", _reduced),
    **_each("eq ne", _same),
    **_each("bmm mm", does(operators.matrix_product, value("self"), value("mat2"))),
    **_each("clamp clamp_max clamp_min clip", _CLAMP),
    **_each("div true_divide", _divide),
    **_each("amax fmax max maximum", partial(_extremum, largest=True)),
    **_each("amin fmin min minimum", partial(_extremum, largest=False)),
    **_each("constant_pad_nd pad", _pad),
    **_each("full_like new_full new_ones new_zeros ones_like", _like),
    **_each("conv1d conv2d conv3d convolution", images.on_images(images.convolution)),
    **_each("conv_transpose1d conv_transpose2d conv_transpose3d", images.on_images(images.transposed_convolution)),
    **_each("max_pool1d max_pool2d max_pool3d", _MAX_POOL),
    **_each("max_pool2d_with_indices max_pool3d_with_indices", first_of(_MAX_POOL)),
    **_each("avg_pool1d avg_pool2d avg_pool3d", _AVERAGE_POOL),
    **_each("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", first_of(_ADAPTIVE_MAX_POOL)),
    **_each("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d", _ADAPTIVE_AVERAGE_POOL),
    **_each("_adaptive_avg_pool2d _adaptive_avg_pool3d", _ADAPTIVE_AVERAGE_POOL),
    **_each("upsample_bilinear2d upsample_linear1d upsample_trilinear3d", images.resized),
    **_each("_to_copy _unsafe_view alias clone contiguous detach flatten lift_fresh_copy", _reshape),
    **_each("reshape squeeze unflatten unsqueeze view", _reshape),
    # Operators that are linear in each of their tensors.
    **_each("_linalg_solve_ex _trilinear _upsample_bicubic2d_aa _upsample_bilinear2d_aa", AtenCall.linear_in_one),
    **_each("grid_sampler_2d grid_sampler_3d linalg_solve_triangular", AtenCall.linear_in_one),
    # Operators whose every result is one of the tensors' entries, or zero.
    **_each("atleast_1d atleast_2d atleast_3d copy diag diag_embed diagonal_scatter index_copy", AtenCall.moved),
    **_each("select_scatter slice_scatter", AtenCall.moved),
    **_each("_upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d", AtenCall.moved),
    **_each("channel_shuffle chunk diagonal expand flip gather im2col index index_select narrow", AtenCall.moved),
    **_each("masked_scatter", AtenCall.moved),
    **_each("permute pixel_shuffle pixel_unshuffle repeat repeat_interleave roll rot90 select slice", AtenCall.moved),
    **_each("reflection_pad1d reflection_pad2d reflection_pad3d", AtenCall.moved),
    **_each("replication_pad1d replication_pad2d replication_pad3d", AtenCall.moved),
    **_each("split split_with_sizes t take tile transpose tril triu unbind unfold", AtenCall.moved),
    **_each("upsample_nearest1d upsample_nearest2d upsample_nearest3d", AtenCall.moved),
}

# Operators that change none of a constant's numbers.
_KEEPS_NUMBERS = {"item"} | {
    name for name, operator in _TABLE.items() if operator in (AtenCall.moved, _reshape, _concatenate)
}
# What may follow a tail on the way to the output: the order of the scores stays as it is.
PASSIVE = {"permute", "t", "transpose"} | {name for name, operator in _TABLE.items() if operator is _reshape}
OPERATORS = Operators(_TABLE, _fold)
