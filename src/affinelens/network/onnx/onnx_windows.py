"""ONNX operators with a window that moves over an image: convolutions and poolings."""

from __future__ import annotations

from collections.abc import Sequence

from affinelens.errors import AffineLensError
from affinelens.network.build import nonlinear, windows
from affinelens.network.build.windows import Window
from affinelens.network.onnx.onnx_replay import Call, Floats, Value


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


def convolution(call: Call) -> Value:
    weight, bias = _kernel(call)
    tensor, groups = call.tensor(0), call.node.integer("group", 1)
    if weight.ndim < 2 or tensor.shape[1:2] != (weight.shape[1] * groups,):
        raise AffineLensError(
            f"a kernel of shape {weight.shape} in {groups} groups does not fit a tensor of shape {tensor.shape}"
        )
    return windows.convolve(call.builder, tensor, weight, bias, _window(call, _spatial(call), weight.shape[2:]))


def transposed_convolution(call: Call) -> Value:
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


def average_pool(call: Call) -> Value:
    window = _window(call, _spatial(call), call.node.integers("kernel_shape") or [])
    counted = bool(call.node.integer("count_include_pad", 0))
    return windows.average_pool(call.builder, call.tensor(0), window, count_padding=counted)


def max_pool(call: Call) -> Value:
    window = _window(call, _spatial(call), call.node.integers("kernel_shape") or [])
    return windows.max_pool(call.builder, call.tensor(0), window, call.name)


def global_average_pool(call: Call) -> Value:
    axes = range(2, 2 + len(_spatial(call)))
    return call.builder.mean_over(call.tensor(0), axes, keep=True)


def global_max_pool(call: Call) -> Value:
    axes = range(2, 2 + len(_spatial(call)))
    return nonlinear.maximum_over(call.builder, call.tensor(0), axes, call.name, keep=True)
