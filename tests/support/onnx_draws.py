"""ONNX models of one node whose attributes are drawn at random, for every operator that has some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from support.onnx_models import model, node

Drawn = tuple[Any, dict[str, Any], list[int], int]
Draw = Callable[[np.random.Generator], Drawn]


def _numbers(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


def _several(rng: np.random.Generator, axes: int, low: int, high: int) -> list[int]:
    return rng.integers(low, high, size=axes, endpoint=True).tolist()


def _maybe(rng: np.random.Generator, name: str, value: Any, share: float = 0.5) -> dict[str, Any]:
    return {name: value} if rng.random() < share else {}


def _padding(rng: np.random.Generator, axes: int, sizes: list[int]) -> dict[str, Any]:
    """Pads below the window's size, or automatic padding, or none."""
    automatic = rng.choice(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"], p=[0.5, 0.1, 0.2, 0.2])
    if automatic != "NOTSET":
        return {"auto_pad": str(automatic)}
    return _maybe(rng, "pads", [int(rng.integers(size)) for size in sizes * 2], 0.7)


def convolution(rng: np.random.Generator) -> Drawn:
    axes = int(rng.integers(1, 3, endpoint=True))
    group, sizes = int(rng.integers(1, 2, endpoint=True)), _several(rng, axes, 1, 3)
    attributes = {
        **_padding(rng, axes, sizes),
        **_maybe(rng, "strides", _several(rng, axes, 1, 3)),
        **_maybe(rng, "dilations", _several(rng, axes, 1, 2)),
        **_maybe(rng, "kernel_shape", sizes),
        **({"group": group} if group > 1 else {}),
    }
    constants = {"w": _numbers(rng, 2 * group, 2, *sizes), "b": _numbers(rng, 2 * group)}
    shape = [1, 2 * group, *_several(rng, axes, 4, 7)]
    return node("Conv", "x w b" if rng.random() < 0.5 else "x w", "y", **attributes), constants, shape, _opset(rng, 7)


def transposed_convolution(rng: np.random.Generator) -> Drawn:
    axes = int(rng.integers(1, 3, endpoint=True))
    group, sizes = int(rng.integers(1, 2, endpoint=True)), _several(rng, axes, 1, 3)
    strides = _several(rng, axes, 1, 3)
    spatial = _several(rng, axes, 2, 4)
    attributes = {
        **_padding(rng, axes, sizes),
        **_maybe(rng, "strides", strides, 0.7),
        **_maybe(rng, "dilations", _several(rng, axes, 1, 2)),
        **_maybe(rng, "output_padding", [int(rng.integers(stride)) for stride in strides]),
        **({"group": group} if group > 1 else {}),
    }
    if rng.random() < 0.2:
        attributes["output_shape"] = [size * 3 + int(rng.integers(-2, 3)) for size in spatial]
        attributes.pop("pads", None)
    constants = {"w": _numbers(rng, 2 * group, 2, *sizes)}
    return node("ConvTranspose", "x w", "y", **attributes), constants, [1, 2 * group, *spatial], _opset(rng, 7)


def _pooling(operator: str) -> Draw:
    def draw(rng: np.random.Generator) -> Drawn:
        opset = _opset(rng, 7)
        axes = int(rng.integers(1, 3, endpoint=True))
        sizes = _several(rng, axes, 1, 3)
        ceil = int(rng.choice([0, 1, 2, -1]))
        attributes = {
            "kernel_shape": sizes,
            **_padding(rng, axes, sizes),
            **_maybe(rng, "strides", _several(rng, axes, 1, 3)),
            **(_maybe(rng, "ceil_mode", ceil) if opset >= 10 else {}),
        }
        if operator != "MaxPool":
            attributes |= _maybe(rng, "count_include_pad", int(rng.integers(2)))
        if opset >= (10 if operator == "MaxPool" else 19):
            # onnxruntime crops where it should pad by less than nothing, but only if dilations of 1 are spelled out.
            least = 2 if "auto_pad" in attributes else 1
            attributes |= _maybe(rng, "dilations", _several(rng, axes, least, 2))
        return node(operator, "x", "y", **attributes), {}, [1, 2, *_several(rng, axes, 4, 7)], opset

    return draw


def _global_pooling(operator: str) -> Draw:
    def draw(rng: np.random.Generator) -> Drawn:
        axes = int(rng.integers(1, 3, endpoint=True))
        return node(operator, "x", "y"), {}, [1, 2, *_several(rng, axes, 2, 5)], _opset(rng, 7)

    return draw


def resize(rng: np.random.Generator) -> Drawn:
    opset = int(rng.choice([11, 13, 18, 19]))
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
    roundings = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
    attributes = {
        "mode": str(rng.choice(["nearest", "linear"])),
        "coordinate_transformation_mode": str(rng.choice(modes if opset >= 19 else modes[:-1])),
        "nearest_mode": str(rng.choice(roundings)),
    }
    if rng.random() < 0.5:
        scales = rng.choice([0.5, 0.75, 1.5, 2.0, 1.0, 2.5], size=2)
        constants = {"r": np.zeros(0, np.float32), "s": np.array([1, 1, *scales], dtype=np.float32)}
        return node("Resize", "x r s", "y", **attributes), constants, [1, 2, *_several(rng, 2, 2, 6)], opset
    constants = {"r": np.zeros(0, np.float32), "s": np.zeros(0, np.float32)}
    constants["n"] = np.array([1, 2, *_several(rng, 2, 1, 9)], dtype=np.int64)
    inputs = "x r s n" if opset < 13 else "x - - n"
    return node("Resize", inputs, "y", **attributes), constants, [1, 2, *_several(rng, 2, 2, 6)], opset


def pad(rng: np.random.Generator) -> Drawn:
    mode = str(rng.choice(["constant", "reflect", "edge"]))
    low = -1 if mode == "constant" else 0
    widths = [0, 0, *_several(rng, 2, low, 2), 0, 0, *_several(rng, 2, low, 2)]
    shape = [1, 2, 4, 5]
    if rng.random() < 0.3:
        return node("Pad", "x", "y", mode=mode, pads=widths, value=0.5), {}, shape, int(rng.integers(7, 11))
    constants = {"p": np.array(widths, dtype=np.int64), "v": np.array(0.5, dtype=np.float32)}
    return node("Pad", "x p v" if rng.random() < 0.5 else "x p", "y", mode=mode), constants, shape, _opset(rng, 11)


def gemm(rng: np.random.Generator) -> Drawn:
    turned, rows, inner, width = int(rng.integers(2)), 1, int(rng.integers(1, 5)), int(rng.integers(1, 5))
    attributes = {
        **_maybe(rng, "alpha", float(rng.normal())),
        **_maybe(rng, "beta", float(rng.normal())),
        **_maybe(rng, "transB", turned, 1.0),
    }
    addend = [(width,), (rows, width), (1,), (rows, 1)][int(rng.integers(4))]
    constants = {"w": _numbers(rng, *((width, inner) if turned else (inner, width))), "c": _numbers(rng, *addend)}
    return node("Gemm", "x w c", "y", **attributes), constants, [rows, inner], _opset(rng, 7)


def _reduction(operator: str) -> Draw:
    def draw(rng: np.random.Generator) -> Drawn:
        axes = sorted(rng.choice(np.arange(-3, 0), size=int(rng.integers(1, 4)), replace=False).tolist())
        kept = _maybe(rng, "keepdims", int(rng.integers(2)))
        opset = _opset(rng, 11)
        shape = [2, 3, 2]
        if opset >= (13 if operator == "ReduceSum" else 18):
            return node(operator, "x a", "y", **kept), {"a": np.array(axes, dtype=np.int64)}, shape, opset
        return node(operator, "x", "y", axes=axes, **kept), {}, shape, opset

    return draw


def _elementwise(operator: str, oldest: int, **ranges: tuple[float, float]) -> Draw:
    def draw(rng: np.random.Generator) -> Drawn:
        attributes: dict[str, Any] = {}
        for name, (low, high) in ranges.items():
            attributes |= _maybe(rng, name, float(rng.uniform(low, high)), 0.8)
        return node(operator, "x", "y", **attributes), {}, [1, 3, 2], _opset(rng, oldest)

    return draw


def shrink(rng: np.random.Generator) -> Drawn:
    width = float(rng.uniform(0, 1))
    return node("Shrink", "x", "y", lambd=width, bias=width), {}, [1, 4], _opset(rng, 9)


def batch_norm(rng: np.random.Generator) -> Drawn:
    constants = {name: _numbers(rng, 2) for name in ("g", "s", "m")} | {"v": np.abs(_numbers(rng, 2)) + 0.1}
    attributes = _maybe(rng, "epsilon", float(rng.uniform(0, 0.1)))
    return node("BatchNormalization", "x g s m v", "y", **attributes), constants, [1, 2, 3], _opset(rng, 9)


def depth_to_space(rng: np.random.Generator) -> Drawn:
    mode = _maybe(rng, "mode", str(rng.choice(["DCR", "CRD"])))
    return node("DepthToSpace", "x", "y", blocksize=2, **mode), {}, [1, 8, 2, 3], _opset(rng, 11)


def space_to_depth(rng: np.random.Generator) -> Drawn:
    return node("SpaceToDepth", "x", "y", blocksize=2), {}, [1, 2, 4, 6], _opset(rng, 7)


def transpose(rng: np.random.Generator) -> Drawn:
    order = _maybe(rng, "perm", rng.permutation(4).tolist(), 0.8)
    return node("Transpose", "x", "y", **order), {}, [1, 2, 3, 4], _opset(rng, 7)


def slicing(rng: np.random.Generator) -> Drawn:
    opset, axes = _opset(rng, 7), rng.permutation(4)[: int(rng.integers(1, 4))].tolist()
    starts, ends = (_several(rng, len(axes), -6, 6) for _ in range(2))
    if opset < 10:
        return node("Slice", "x", "y", starts=starts, ends=ends, axes=axes), {}, [2, 3, 4, 5], opset
    parts = {"s": starts, "e": ends, "a": [a - int(rng.choice([0, 4])) for a in axes]}
    parts["t"] = rng.choice([-2, -1, 1, 2], size=len(axes)).tolist()
    constants = {key: np.array(values, dtype=np.int64) for key, values in parts.items()}
    return node("Slice", "x s e a t", "y"), constants, [2, 3, 4, 5], opset


def _axes_from_input(operator: str, shape: list[int], ranks: tuple[int, int]) -> Draw:
    """Squeeze and Unsqueeze: the axes in any order, from the front or the end, as an attribute or an input."""

    def draw(rng: np.random.Generator) -> Drawn:
        low, high = ranks
        axes = rng.permutation([0, 2, high - 1])[: int(rng.integers(1, 4))] if low else rng.permutation([0, 2])
        axes = [int(a) - (high if rng.random() < 0.4 else 0) for a in axes]
        opset = _opset(rng, 11)
        if opset < 13:
            return node(operator, "x", "y", axes=axes), {}, shape, opset
        return node(operator, "x a", "y"), {"a": np.array(axes, dtype=np.int64)}, shape, opset

    return draw


def gather(rng: np.random.Generator) -> Drawn:
    axis, shape = int(rng.integers(-3, 3)), [2, 3, 4]
    size = shape[axis]
    indices = rng.integers(-size, size, size=rng.integers(0, 3, size=int(rng.integers(0, 3)), endpoint=True))
    return (
        node("Gather", "x i", "y", **_maybe(rng, "axis", axis, 1.0)),
        {"i": np.array(indices)},
        shape,
        _opset(rng, 11),
    )


def split(rng: np.random.Generator) -> Drawn:
    opset, first = _opset(rng, 7), int(rng.integers(1, 6))
    attributes = {"axis": int(rng.choice([1, -2]))}
    if rng.random() < 0.3 and opset < 18:
        return node("Split", "x", "y z", **attributes), {}, [2, 6, 3], opset
    if opset < 13:
        return node("Split", "x", "y z", **attributes, split=[first, 6 - first]), {}, [2, 6, 3], opset
    return node("Split", "x s", "y z", **attributes), {"s": np.array([first, 6 - first])}, [2, 6, 3], opset


def tile(rng: np.random.Generator) -> Drawn:
    return node("Tile", "x r", "y"), {"r": np.array(_several(rng, 3, 1, 3))}, [1, 2, 3], _opset(rng, 7)


def expand(rng: np.random.Generator) -> Drawn:
    goal = [int(rng.integers(1, 3)), *rng.choice([1, 2], size=1).tolist(), int(rng.choice([1, 3])), 1]
    return node("Expand", "x n", "y"), {"n": np.array(goal)}, [2, 3, 1], _opset(rng, 8)


def reshape(rng: np.random.Generator) -> Drawn:
    goal = [[0, -1], [-1, 4], [3, 0, 0], [24], [2, 0, -1, 1], [1, -1, 2], [0, 0, 0]][int(rng.integers(7))]
    return node("Reshape", "x n", "y"), {"n": np.array(goal)}, [2, 3, 4], _opset(rng, 7)


def flatten(rng: np.random.Generator) -> Drawn:
    opset = _opset(rng, 7)
    axis = int(rng.integers(-3 if opset >= 11 else 0, 4))
    return node("Flatten", "x", "y", **_maybe(rng, "axis", axis, 0.8)), {}, [2, 3, 4], opset


def matrix_product(rng: np.random.Generator) -> Drawn:
    """Vectors, matrices and stacks of them, broadcast, on either side."""
    inner = int(rng.integers(1, 5))
    leading = [[], [2], [1, 3], [2, 1]]
    left = [*leading[int(rng.integers(4))], int(rng.integers(1, 4)), inner] if rng.random() < 0.8 else [inner]
    right = [*leading[int(rng.integers(4))], inner, int(rng.integers(1, 4))] if rng.random() < 0.8 else [inner]
    if rng.random() < 0.5:
        return node("MatMul", "x w", "y"), {"w": _numbers(rng, *right)}, left, _opset(rng, 7)
    return node("MatMul", "w x", "y"), {"w": _numbers(rng, *left)}, right, _opset(rng, 7)


def gemm_turned(rng: np.random.Generator) -> Drawn:
    """Both factors transposed or not, the constant one on either side, with and without an addend."""
    rows, inner, width = _several(rng, 3, 1, 4)
    turned = [int(rng.integers(2)) for _ in range(2)]
    first, second = ([rows, inner][:: 1 - 2 * turned[0]], [inner, width][:: 1 - 2 * turned[1]])
    attributes = {
        **_maybe(rng, "transA", turned[0], 1.0 if turned[0] else 0.5),
        **_maybe(rng, "transB", turned[1], 1.0 if turned[1] else 0.5),
        **_maybe(rng, "alpha", float(rng.normal())),
        **_maybe(rng, "beta", float(rng.choice([0.0, 1.0, rng.normal()]))),
    }
    opset = _opset(rng, 7)
    addend = [(), (1, 1), (width,), (rows, 1), (rows, width)][int(rng.integers(5))]
    constants = {"c": _numbers(rng, *addend)}
    names = "c" if opset < 11 or rng.random() < 0.7 else ""
    if rng.random() < 0.5:
        return node("Gemm", f"x w {names}", "y", **attributes), {"w": _numbers(rng, *second), **constants}, first, opset
    return node("Gemm", f"w x {names}", "y", **attributes), {"w": _numbers(rng, *first), **constants}, second, opset


def clip(rng: np.random.Generator) -> Drawn:
    opset = _opset(rng, 7)
    low, high = sorted(rng.normal(size=2).tolist())
    if opset < 11:
        bounds = {**_maybe(rng, "min", low), **_maybe(rng, "max", high)}
        return node("Clip", "x", "y", **bounds), {}, [1, 3, 2], opset
    names = ["x l h", "x l", "x - h", "x"][int(rng.integers(4))]
    return node("Clip", names, "y"), {"l": np.float32(low), "h": np.float32(high)}, [1, 3, 2], opset


def prelu(rng: np.random.Generator) -> Drawn:
    slope = [(3, 1, 1), (1,), (2,), (3, 2, 2), (1, 3, 1, 1), (1, 1)][int(rng.integers(6))]
    return node("PRelu", "x s", "y"), {"s": _numbers(rng, *slope)}, [1, 3, 2, 2], _opset(rng, 7)


def concat(rng: np.random.Generator) -> Drawn:
    axis = int(rng.integers(-3, 3))
    shape = [2, 3, 2]
    other = list(shape)
    other[axis] = int(rng.integers(1, 4))
    names = " ".join(rng.permutation(["x", "c", "x"]).tolist())
    return node("Concat", names, "y", axis=axis), {"c": _numbers(rng, *other)}, shape, _opset(rng, 7)


def running_sum(rng: np.random.Generator) -> Drawn:
    attributes = {**_maybe(rng, "exclusive", int(rng.integers(2))), **_maybe(rng, "reverse", int(rng.integers(2)))}
    axis = np.array(rng.integers(-3, 3), dtype=rng.choice([np.int32, np.int64]))
    return node("CumSum", "x a", "y", **attributes), {"a": axis}, [2, 3, 2], _opset(rng, 11)


def top(rng: np.random.Generator) -> Drawn:
    axis, opset = int(rng.integers(-3, 3)), _opset(rng, 10)
    shape = [2, 3, 4]
    attributes = _maybe(rng, "axis", axis, 1.0)
    if opset >= 11:
        attributes |= _maybe(rng, "largest", int(rng.integers(2)))
    count = np.array([int(rng.integers(1, shape[axis] + 1))])
    return node("TopK", "x k", "y i", **attributes), {"k": count}, shape, opset


def crop_and_resize(rng: np.random.Generator) -> Drawn:
    """What Resize has besides: axes, cubic interpolation, the aspect ratio kept, weights outside left out."""
    opset = int(rng.choice([11, 13, 18, 19, 21]))
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    attributes: dict[str, Any] = {"mode": mode}
    if mode == "cubic":
        attributes |= {**_maybe(rng, "cubic_coeff_a", -0.5), **_maybe(rng, "exclude_outside", int(rng.integers(2)))}
    attributes |= _maybe(
        rng, "coordinate_transformation_mode", str(rng.choice(["half_pixel", "align_corners", "asymmetric"]))
    )
    shape = [1, 2, *_several(rng, 2, 2, 6)]
    constants = {"r": np.zeros(0, np.float32), "s": np.zeros(0, np.float32)}
    sizes = np.array([1, 2, *_several(rng, 2, 1, 9)], dtype=np.int64)
    if opset >= 18:
        if rng.random() < 0.5:
            attributes["axes"] = [2, 3] if rng.random() < 0.5 else [3, 2]
            sizes = sizes[2:]
            attributes |= _maybe(rng, "keep_aspect_ratio_policy", str(rng.choice(["not_larger", "not_smaller"])))
        attributes |= _maybe(rng, "antialias", int(rng.integers(2)), 0.3)
    names = "x r s n" if opset < 13 else "x - - n"
    return node("Resize", names, "y", **attributes), {**constants, "n": sizes}, shape, opset


def upsample(rng: np.random.Generator) -> Drawn:
    factors = np.array([1, 1, *rng.choice([1.0, 1.5, 2.0, 2.5, 3.0], size=2)], dtype=np.float32)
    mode = _maybe(rng, "mode", str(rng.choice(["nearest", "linear"])))
    shape = [1, 2, *_several(rng, 2, 2, 4)]
    if rng.random() < 0.5:
        return node("Upsample", "x", "y", scales=factors.tolist(), **mode), {}, shape, int(rng.integers(7, 9))
    return node("Upsample", "x s", "y", **mode), {"s": factors}, shape, 9


def pad_axes(rng: np.random.Generator) -> Drawn:
    """Pads of chosen axes, by all modes, and of less than nothing."""
    opset = int(rng.integers(18, 22))
    mode = str(rng.choice(["constant", "reflect", "edge", "wrap"]))
    axes = rng.permutation(4)[: int(rng.integers(1, 5))].tolist()
    widths = _several(rng, 2 * len(axes), -1, 2)
    constants = {"p": np.array(widths), "a": np.array([a - int(rng.choice([0, 4])) for a in axes])}
    return node("Pad", "x p - a", "y", mode=mode), constants, [2, 3, 4, 5], opset


def space_convolution(rng: np.random.Generator) -> Drawn:
    """Convolutions, transposed ones and poolings of three axes."""
    sizes, shape = _several(rng, 3, 1, 2), [1, 2, *_several(rng, 3, 3, 4)]
    attributes = {**_padding(rng, 3, sizes), **_maybe(rng, "strides", _several(rng, 3, 1, 2))}
    operator = str(rng.choice(["Conv", "ConvTranspose", "MaxPool", "AveragePool"]))
    if "Pool" in operator:
        return node(operator, "x", "y", kernel_shape=sizes, **attributes), {}, shape, _opset(rng, 7)
    return node(operator, "x w", "y", **attributes), {"w": _numbers(rng, 2, 2, *sizes)}, shape, _opset(rng, 7)


def reduction_of_all(rng: np.random.Generator) -> Drawn:
    """No axes at all: a reduction of everything, or of nothing where the node says so."""
    operator = str(rng.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1"]))
    opset = _opset(rng, 11)
    attributes = _maybe(rng, "keepdims", int(rng.integers(2)))
    if opset < (13 if operator == "ReduceSum" else 18):
        return node(operator, "x", "y", **attributes), {}, [2, 3, 2], opset
    attributes |= _maybe(rng, "noop_with_empty_axes", int(rng.integers(2)))
    names = "x a" if rng.random() < 0.5 else "x"
    return node(operator, names, "y", **attributes), {"a": np.zeros(0, np.int64)}, [2, 3, 2], opset


def gather_elements(rng: np.random.Generator) -> Drawn:
    axis, shape = int(rng.integers(-3, 3)), [2, 3, 4]
    goal = [int(rng.integers(1, size + 1)) for size in shape]
    goal[axis] = int(rng.integers(1, 6))
    indices = rng.integers(-shape[axis], shape[axis], size=goal)
    return node("GatherElements", "x i", "y", axis=axis), {"i": indices}, shape, _opset(rng, 11)


def gather_nd(rng: np.random.Generator) -> Drawn:
    batch, shape = int(rng.integers(0, 2)), [2, 3, 4]
    opset = _opset(rng, 12) if batch else _opset(rng, 11)
    depth = int(rng.integers(1, 4 - batch))
    places = [rng.integers(-size, size, size=(*shape[:batch], 2)) for size in shape[batch : batch + depth]]
    attributes = {"batch_dims": batch} if batch else {}
    return node("GatherND", "x i", "y", **attributes), {"i": np.stack(places, axis=-1)}, shape, opset


def triangle(rng: np.random.Generator) -> Drawn:
    upper = _maybe(rng, "upper", int(rng.integers(2)))
    names = "x k" if rng.random() < 0.7 else "x"
    return node("Trilu", names, "y", **upper), {"k": np.array(rng.integers(-3, 4))}, [2, 3, 4], _opset(rng, 14)


def arithmetic(rng: np.random.Generator) -> Drawn:
    """Sums, products and quotients with constants of other shapes, on either side where that is affine."""
    operator = str(rng.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"]))
    other = [(3,), (2, 1), (4, 2, 3), (), (1, 1, 1)][int(rng.integers(5))]
    if operator in ("Sum", "Mean", "Max", "Min"):
        return node(operator, "x c x", "y"), {"c": _numbers(rng, *other)}, [2, 3], _opset(rng, 8)
    names = "c x" if operator != "Div" and rng.random() < 0.5 else "x c"
    return node(operator, names, "y"), {"c": _numbers(rng, *other)}, [2, 3], _opset(rng, 7)


def _opset(rng: np.random.Generator, oldest: int) -> int:
    return int(rng.integers(oldest, 22))


DRAWS: dict[str, Draw] = {
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Resize": resize,
    "Pad": pad,
    "Gemm": gemm,
    "Shrink": shrink,
    "BatchNormalization": batch_norm,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Transpose": transpose,
    "Slice": slicing,
    "Squeeze": _axes_from_input("Squeeze", [1, 2, 1, 3, 1], (1, 5)),
    "Unsqueeze": _axes_from_input("Unsqueeze", [2, 3], (0, 4)),
    "Gather": gather,
    "Split": split,
    "Tile": tile,
    "Expand": expand,
    "Reshape": reshape,
    "Flatten": flatten,
    **{operator: _pooling(operator) for operator in ("MaxPool", "AveragePool")},
    **{operator: _global_pooling(operator) for operator in ("GlobalMaxPool", "GlobalAveragePool")},
    **{f"Reduce{kind}": _reduction(f"Reduce{kind}") for kind in ("Sum", "Mean", "Max", "Min", "L1")},
    "MatMul": matrix_product,
    "Gemm turned": gemm_turned,
    "Clip": clip,
    "PRelu": prelu,
    "Concat": concat,
    "CumSum": running_sum,
    "TopK": top,
    "Resize by axes": crop_and_resize,
    "Upsample": upsample,
    "Pad by axes": pad_axes,
    "three axes": space_convolution,
    "Reduce all": reduction_of_all,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "Trilu": triangle,
    "arithmetic": arithmetic,
    "LeakyRelu": _elementwise("LeakyRelu", 7, alpha=(-1, 1)),
    "HardSigmoid": _elementwise("HardSigmoid", 7, alpha=(0, 1), beta=(0, 1)),
}


def drawn_model(drawn: Drawn) -> Any:
    """The model of one node that was drawn, in float32."""
    drawn_node, constants, shape, opset = drawn
    return model([drawn_node], constants, shape, opset=opset, kind=1)
