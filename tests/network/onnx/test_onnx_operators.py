"""Every ONNX operator that is read computes what onnxruntime computes, in every form its operator sets give it."""

from __future__ import annotations

import gzip
import tracemalloc
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper  # noqa: E402

from affinelens.errors import AffineLensError  # noqa: E402
from affinelens.network import network  # noqa: E402
from affinelens.network.build import builder as graph  # noqa: E402
from support.onnx_models import assert_same_function, model, node, save, weights  # noqa: E402

IMAGE = [1, 4, 7, 6]


def single(*shape: int) -> Any:
    return weights(*shape).astype(np.float32)


def whole(*numbers: int) -> Any:
    return np.array(numbers, dtype=np.int64)


def refusal(proto: Any, folder: Path, **options: Any) -> str:
    with pytest.raises(AffineLensError) as caught:
        network(save(proto, folder), **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def agrees(nodes: Any, constants: Any, shape: Any, folder: Path, *, opset: int = 17, **options: Any) -> Any:
    """The same function as onnxruntime's, whose windows compute in float32."""
    proto = model(nodes, constants, shape, opset=opset, kind=TensorProto.FLOAT)
    return assert_same_function(proto, folder, rtol=2e-5, **options)


CONVOLUTIONS = [
    ([1, 4, 9], (2, 4, 3), {}),
    ([1, 4, 9], (6, 2, 3), {"group": 2, "strides": [2], "pads": [3, 0], "dilations": [2]}),
    (IMAGE, (3, 4, 3, 2), {"pads": [1, 0, 0, 2], "strides": [2, 1]}),
    (IMAGE, (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    (IMAGE, (3, 4, 3, 4), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}),
    (IMAGE, (3, 4, 2, 4), {"auto_pad": "SAME_LOWER", "strides": [1, 2]}),
    (IMAGE, (3, 4, 2, 2), {"auto_pad": "VALID", "kernel_shape": [2, 2]}),
    ([1, 2, 5, 4, 6], (4, 2, 2, 3, 2), {"strides": [1, 2, 2], "pads": [0, 1, 1, 1, 0, 1]}),
    ([3, 2, 5], (2, 2, 3), {"pads": [1, 1]}),
]


@pytest.mark.parametrize(("shape", "kernel", "attributes"), CONVOLUTIONS)
def test_convolution(shape: Any, kernel: Any, attributes: Any, tmp_path: Path) -> None:
    constants = {"w": single(*kernel), "b": single(kernel[0])}
    agrees([node("Conv", "x w b", "y", **attributes)], constants, shape, tmp_path)
    agrees([node("Conv", "x w", "h", **attributes), node("Relu", "h", "y")], constants, shape, tmp_path, opset=8)


@pytest.mark.parametrize(
    ("shape", "kernel", "attributes"),
    [
        ([1, 4, 5], (4, 2, 3), {"strides": [2]}),
        ([1, 4, 3, 4], (4, 3, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ([1, 4, 3, 4], (4, 2, 2, 3), {"group": 2, "strides": [3, 2], "pads": [1, 0, 0, 1], "dilations": [2, 1],
                                      "output_padding": [2, 1]}),
        ([1, 4, 3, 4], (4, 2, 3, 3), {"strides": [2, 2], "output_shape": [6, 8]}),
        ([1, 4, 3, 4], (4, 2, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        ([1, 4, 3, 4], (4, 2, 3, 3), {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        ([1, 2, 3, 2, 2], (2, 1, 2, 2, 2), {"strides": [1, 2, 1]}),
    ],
)  # fmt: skip
def test_transposed_convolution(shape: Any, kernel: Any, attributes: Any, tmp_path: Path) -> None:
    constants = {"w": single(*kernel), "b": single(kernel[1] * attributes.get("group", 1))}
    agrees([node("ConvTranspose", "x w b", "y", **attributes)], constants, shape, tmp_path)


POOLINGS = [
    ("MaxPool", [1, 4, 9], {"kernel_shape": [3], "strides": [2], "pads": [1, 0]}),
    ("MaxPool", IMAGE, {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("MaxPool", IMAGE, {"kernel_shape": [3, 2], "strides": [3, 2], "ceil_mode": 1}),
    ("MaxPool", IMAGE, {"kernel_shape": [2, 2], "dilations": [2, 3], "pads": [1, 0, 0, 1]}),
    ("MaxPool", IMAGE, {"kernel_shape": [3, 3], "auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("MaxPool", [1, 2, 4, 4, 4], {"kernel_shape": [2, 2, 2], "strides": [2, 1, 2]}),
    ("AveragePool", [1, 4, 9], {"kernel_shape": [4], "strides": [3]}),
    ("AveragePool", IMAGE, {"kernel_shape": [3, 3], "strides": [3, 3]}),
    ("AveragePool", IMAGE, {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1]}),
    ("AveragePool", IMAGE, {"kernel_shape": [3, 2], "pads": [1, 0, 2, 1], "count_include_pad": 1}),
    ("AveragePool", IMAGE, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
    ("AveragePool", IMAGE, {"kernel_shape": [2, 3], "auto_pad": "SAME_LOWER", "strides": [2, 2]}),
    ("GlobalAveragePool", IMAGE, {}),
    ("GlobalMaxPool", IMAGE, {}),
]


@pytest.mark.parametrize(("operator", "shape", "attributes"), POOLINGS)
def test_pooling(operator: str, shape: Any, attributes: Any, tmp_path: Path) -> None:
    agrees([node(operator, "x", "y", **attributes)], {}, shape, tmp_path)


def test_padding_never_wins_a_maximum(tmp_path: Path) -> None:
    pool = node("MaxPool", "x", "y", kernel_shape=[3], pads=[1, 1])
    net = network(save(model([pool], {}, [1, 1, 3]), tmp_path))
    assert net.evaluate_exact([-5.0, -7.0, -9.0]) == [-5, -5, -7]
    assert np.diff(net.stages[0].activation.starts).tolist() == [2, 3, 2]


REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1"]


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_reductions(operator: str, tmp_path: Path) -> None:
    shape = [1, 3, 4, 2]
    agrees([node(operator, "x", "y", axes=[1, -1])], {}, shape, tmp_path, opset=11)
    agrees([node(operator, "x", "y", keepdims=0)], {}, shape, tmp_path, opset=8)
    axes = {"a": whole(2)}
    agrees([node(operator, "x a", "y", keepdims=0)], axes, shape, tmp_path, opset=18)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"])
def test_reductions_that_are_asked_to_do_nothing(operator: str, tmp_path: Path) -> None:
    nothing = [node(operator, "x", "h", noop_with_empty_axes=1), node("Neg", "h", "y")]
    agrees(nothing, {}, [1, 3], tmp_path, opset=18)


ELEMENTWISE = [
    ([node("Abs", "x", "y")], {}),
    ([node("Clip", "x", "y")], {}),
    ([node("Clip", "x lo", "y")], {"lo": np.float32(-0.5)}),
    ([node("Clip", "x - hi", "y")], {"hi": np.float32(0.25)}),
    ([node("Clip", "x lo hi", "y")], {"lo": np.float32(-0.5), "hi": np.float32(0.25)}),
    ([node("HardSigmoid", "x", "y", alpha=0.3, beta=0.4)], {}),
    ([node("HardSigmoid", "x", "y")], {}),
    ([node("ThresholdedRelu", "x", "y", alpha=0.0)], {}),
    ([node("Shrink", "x", "y", lambd=0.5, bias=0.5)], {}),
    ([node("PRelu", "x s", "y")], {"s": single(4, 1, 1)}),
    ([node("Sub", "c x", "h"), node("Max", "x h c", "y")], {"c": single(6)}),
    ([node("Max", "c x d", "y")], {"c": single(7, 1), "d": single(6)}),
    ([node("Neg", "x", "h"), node("Min", "x h c", "y")], {"c": single(4, 1, 1)}),
    ([node("Min", "x c", "y")], {"c": single(1)}),
    ([node("Max", "x", "y")], {}),
    ([node("Relu", "x", "h"), node("Sum", "x h c", "y")], {"c": single(6)}),
    ([node("Relu", "x", "h"), node("Mean", "x h c", "y")], {"c": single(6)}),
    ([node("Where", "m x c", "y")], {"m": np.eye(7, 6, dtype=bool), "c": single(4, 1, 1)}),
    ([node("Greater", "x c", "m"), node("Sub", "x c", "d"), node("Where", "m d zero", "y")],
     {"c": single(6), "zero": np.float32(0)}),
    ([node("LessOrEqual", "x zero", "m"), node("Not", "m", "n"), node("Cast", "n", "f", to=1), node("Mul", "x f", "y")],
     {"zero": np.float32(0)}),
    ([node("TopK", "x k", "y i", axis=1)], {"k": whole(3)}),
    ([node("TopK", "x k", "y i", axis=2, largest=0)], {"k": whole(2)}),
    ([node("CumSum", "x k", "y")], {"k": np.array(1)}),
    ([node("CumSum", "x k", "y", exclusive=1, reverse=1)], {"k": np.array(-1)}),
    ([node("MatMul", "x w", "y")], {"w": single(4, 6, 3)}),
    ([node("MatMul", "w x", "y")], {"w": single(1, 2, 7)}),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "constants"), ELEMENTWISE)
def test_elementwise(nodes: Any, constants: Any, tmp_path: Path) -> None:
    agrees(nodes, constants, IMAGE, tmp_path)


def test_bounds_as_attributes(tmp_path: Path) -> None:
    agrees([node("Clip", "x", "y", min=-0.5, max=0.5)], {}, [1, 5], tmp_path, opset=10)


LAYOUT = [
    ([node("Concat", "x c x", "y", axis=-2)], {"c": single(1, 4, 2, 6)}),
    ([node("Relu", "x", "h"), node("Concat", "h x", "y", axis=1)], {}),
    ([node("Slice", "x s e a t", "y")],
     {"s": whole(1, -1), "e": whole(100, -100), "a": whole(1, -1), "t": whole(2, -2)}),
    ([node("Slice", "x s e", "y")], {"s": whole(0, 1), "e": whole(1, 3)}),
    ([node("Gather", "x i", "y", axis=2)], {"i": np.array([[0, -1], [3, 3]])}),
    ([node("Gather", "x i", "y", axis=1)], {"i": np.array(2)}),
    ([node("Split", "x", "a y", axis=1)], {}),
    ([node("Split", "x p", "a y b", axis=2)], {"p": whole(1, 4, 2)}),
    ([node("Expand", "x s", "y")], {"s": whole(3, 1, 1, 1)}),
    ([node("Tile", "x r", "y")], {"r": whole(1, 2, 1, 3)}),
    ([node("Pad", "x p", "y")], {"p": whole(0, 0, 1, 2, 0, 1, 3, 0)}),
    ([node("Pad", "x p v", "y")], {"p": whole(0, 0, 1, -2, 0, 1, -3, 0), "v": np.float32(1.5)}),
    ([node("Pad", "x p", "y", mode="reflect")], {"p": whole(0, 0, 1, 2, 0, 0, 3, 0)}),
    ([node("Pad", "x p", "y", mode="edge")], {"p": whole(0, 0, 1, 2, 0, 0, 3, 0)}),
    ([node("Transpose", "x", "y", perm=[2, 0, 3, 1])], {}),
    ([node("DepthToSpace", "x", "y", blocksize=2)], {}),
    ([node("DepthToSpace", "x", "y", blocksize=2, mode="CRD")], {}),
    ([node("Slice", "x s e a", "h"), node("SpaceToDepth", "h", "y", blocksize=3)],
     {"s": whole(1), "e": whole(7), "a": whole(2)}),
    ([node("Slice", "x s e a d", "y")], {"s": whole(5, -1), "e": whole(0, -9), "a": whole(2, -1), "d": whole(-2, -1)}),
    ([node("Trilu", "x k", "y", upper=0)], {"k": np.array(-1)}),
    ([node("GatherElements", "x i", "y", axis=2)], {"i": np.arange(96).reshape(1, 4, 4, 6) % 7}),
    ([node("GatherND", "x i", "y", batch_dims=1)], {"i": whole(3, 0).reshape(1, 2, 1)}),
    ([node("ReverseSequence", "x l", "y", batch_axis=0, time_axis=1)], {"l": whole(3)}),
    ([node("Pow", "x one", "y")], {"one": np.float32(1)}),
    ([node("IsNaN", "x", "n"), node("Where", "n zero x", "y")], {"zero": np.float32(0)}),
    ([node("Sign", "x", "s"), node("Mul", "s x", "y")], {}),
    ([node("Compress", "x c", "y", axis=2)], {"c": np.array([True, False, True])}),
    ([node("ScatterND", "x i u", "y")], {"i": whole(0, 2).reshape(1, 2), "u": np.ones((1, 7, 6), np.float32)}),
    ([node("Relu", "x", "r"), node("ScatterElements", "x i r", "y", axis=1)],
     {"i": np.array([2, 0, 3, 1]).reshape(1, 4, 1, 1) + np.zeros((1, 4, 7, 6), np.int64)}),
    ([node("Greater", "x zero", "c"), node("Transpose", "c", "t"), node("Squeeze", "t", "q"),
      node("Transpose", "x", "xt"), node("Squeeze", "xt", "xq"), node("Where", "q xq zero", "y")],
     {"zero": np.float32(0)}),
]  # fmt: skip


@pytest.mark.parametrize(("nodes", "constants"), LAYOUT)
def test_layout(nodes: Any, constants: Any, tmp_path: Path) -> None:
    agrees(nodes, constants, IMAGE, tmp_path)


REPEATED = np.array([2, 0, 2, -1]).reshape(1, 4, 1, 1) + np.zeros((1, 4, 5, 6), np.int64)


@pytest.mark.parametrize("reduction", ["add", "max", "min"])
def test_scattering_that_puts_entries_together(reduction: str, tmp_path: Path) -> None:
    constants = {"i": REPEATED, "n": whole(0, 2, 0, 2, 0, 1).reshape(1, 3, 2)}
    nodes = [
        node("Relu", "x", "r"), node("Slice", "r zero five two", "v"),
        node("ScatterElements", "x i v", "e", axis=1, reduction=reduction),
        node("Slice", "r zero three one", "u"), node("ScatterND", "e n u", "y", reduction=reduction),
    ]  # fmt: skip
    numbers = {"zero": whole(0), "one": whole(1), "two": whole(2), "three": whole(3), "five": whole(5)}
    agrees(nodes, constants | numbers, IMAGE, tmp_path, opset=18)


@pytest.mark.parametrize(
    ("equation", "shapes", "noted"),
    [
        ("bchw,dc->bdhw", [(2, 4)], False),
        ("bchw, hw", [(7, 6)], False),
        ("...w,wz->z...", [(6, 3)], False),
        ("bcij,c,jk->bik", [(4,), (6, 2)], True),
        ("bchw,cd->bhw", [(4, 3)], True),
        ("bchw->wc", [], False),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_einsum(equation: str, shapes: Any, noted: bool, first: bool, tmp_path: Path) -> None:
    names, constants = [f"w{k}" for k in range(len(shapes))], [single(*shape) for shape in shapes]
    terms, arrow, output = equation.partition("->")
    own, *others = terms.split(",")
    terms = ",".join([own, *others] if first else [*others, own])
    nodes = [
        node("Einsum", " ".join(["x", *names] if first else [*names, "x"]), "y", equation=f"{terms}{arrow}{output}")
    ]
    agrees(nodes, dict(zip(names, constants, strict=True)), IMAGE, tmp_path)
    net = network(save(model(nodes, dict(zip(names, constants, strict=True)), IMAGE, kind=TensorProto.FLOAT), tmp_path))
    assert any("Einsum" in str(note) for note in net.notes) == noted


@pytest.mark.parametrize("new_axis", [0, 1])
def test_sequences(new_axis: int, tmp_path: Path) -> None:
    nodes = [
        node("Relu", "x", "r"), node("SequenceConstruct", "x r c", "s"), node("SequenceAt", "s i", "t"),
        node("ConcatFromSequence", "s", "h", axis=-1, new_axis=new_axis), node("ReduceSum", "h", "z"),
        node("Add", "z t", "y"),
    ]  # fmt: skip
    agrees(nodes, {"c": single(*IMAGE), "i": np.array(-2)}, IMAGE, tmp_path)


def test_affine_operators_of_scikit_learns_converters(tmp_path: Path) -> None:
    learning: dict[str, Any] = {"domain": "ai.onnx.ml"}
    nodes = [
        node("Scaler", "x", "s", offset=[0.5, 1.0, -2.0, 0.0], scale=[2.0, 0.25, 1.0, -1.0], **learning),
        node("ArrayFeatureExtractor", "s i", "e", **learning),
        node("Relu", "e", "r"),
        node("FeatureVectorizer", "r r", "v", inputdimensions=[3, 3], **learning),
        node("LinearRegressor", "v", "y", coefficients=[0.5] * 6 + [1.0, -1.0] * 3, intercepts=[1.0, 2.0], targets=2,
             **learning),
    ]  # fmt: skip
    proto = model(nodes, {"i": whole(3, 0, 1)}, [1, 4], kind=TensorProto.FLOAT)
    proto.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    assert_same_function(proto, tmp_path, rtol=1e-5)


def test_images_with_channels_last_between_transposes(tmp_path: Path) -> None:
    """As tf2onnx exports Keras: transposes around windows, a Reshape by shapes computed in the graph, a MatMul."""
    nodes = [
        node("Transpose", "x", "t", perm=[0, 3, 1, 2]),
        node("Conv", "t w", "c", auto_pad="SAME_UPPER", strides=[2, 2]),
        node("Relu", "c", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2], auto_pad="VALID"),
        node("Transpose", "p", "b", perm=[0, 2, 3, 1]),
        node("Shape", "b", "n"),
        node("Slice", "n zero one", "rows"),
        node("Concat", "rows rest", "shape", axis=0),
        node("Reshape", "b shape", "f"),
        node("MatMul", "f m", "d"),
        node("Add", "d bias", "a"),
        node("Identity", "a", "y"),
    ]
    constants = {
        "w": single(3, 2, 3, 3), "zero": whole(0), "one": whole(1), "rest": whole(-1), "m": single(12, 4),
        "bias": single(4),
    }  # fmt: skip
    agrees(nodes, constants, ["batch", 8, 7, 2], tmp_path)


def test_a_conversion_that_rounds_is_reported(tmp_path: Path) -> None:
    nodes = [node("Cast", "x", "h", to=TensorProto.FLOAT16), node("Cast", "h", "y", to=TensorProto.DOUBLE)]
    net = network(save(model(nodes, {}, [1, 3]), tmp_path))
    assert [str(note) for note in net.notes] == [
        "the_Cast_h: values are rounded to float16 in the model, but not in the network"
    ]


def test_layout_in_older_and_newer_forms(tmp_path: Path) -> None:
    agrees([node("Slice", "x", "y", starts=[1], ends=[3], axes=[2])], {}, IMAGE, tmp_path, opset=9)
    agrees([node("Pad", "x", "y", pads=[0, 0, 1, 0, 0, 0, 0, 2], value=0.5)], {}, IMAGE, tmp_path, opset=10)
    agrees([node("Split", "x", "a y", axis=2, split=[3, 4])], {}, IMAGE, tmp_path, opset=11)
    agrees([node("Split", "x", "a b y", axis=2, num_outputs=3)], {}, IMAGE, tmp_path, opset=18)
    agrees([node("CenterCropPad", "x n", "y", axes=[2, 3])], {"n": whole(4, 9)}, IMAGE, tmp_path, opset=18)
    constants = {"p": whole(2, 1), "a": whole(-1)}
    agrees([node("Pad", "x p - a", "y")], constants, IMAGE, tmp_path, opset=18)
    agrees([node("Pad", "x p - a", "y", mode="wrap")], constants, IMAGE, tmp_path, opset=19)


RESIZINGS = [
    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"},
    {"mode": "nearest"},
    {"mode": "nearest", "coordinate_transformation_mode": "half_pixel", "nearest_mode": "round_prefer_ceil"},
    {"mode": "nearest", "coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"},
    {"mode": "linear"},
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    {"mode": "linear", "coordinate_transformation_mode": "asymmetric"},
    {"mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
]


@pytest.mark.parametrize("attributes", RESIZINGS)
def test_resize(attributes: Any, tmp_path: Path) -> None:
    scales = {"s": np.array([1, 1, 2, 1.5], dtype=np.float32)}
    agrees([node("Resize", "x - s", "y", **attributes)], scales, IMAGE, tmp_path)
    sizes = {"n": whole(1, 4, 14, 4)}
    agrees([node("Resize", "x - - n", "y", **attributes)], sizes, IMAGE, tmp_path, opset=13)


def test_resize_in_older_and_newer_forms(tmp_path: Path) -> None:
    scales = {"s": np.array([1, 1, 2, 1.5], dtype=np.float32)}
    agrees([node("Resize", "x s", "y", mode="nearest")], scales, IMAGE, tmp_path, opset=10)
    agrees([node("Upsample", "x s", "y", mode="linear")], scales, IMAGE, tmp_path, opset=9)
    agrees([node("Upsample", "x", "y", mode="nearest", scales=[1.0, 1.0, 2.0, 3.0])], {}, IMAGE, tmp_path, opset=8)
    some = {"s": np.array([2, 0.5], dtype=np.float32)}
    agrees([node("Resize", "x - s", "y", mode="linear", axes=[2, 3])], some, IMAGE, tmp_path, opset=18)


def test_resizing_weights_are_exact(tmp_path: Path) -> None:
    resize = node("Resize", "x - - n", "y", mode="linear", coordinate_transformation_mode="align_corners")
    net = network(save(model([resize], {"n": whole(1, 1, 4)}, [1, 1, 3]), tmp_path))
    assert net.evaluate_exact([0.0, 1.0, 3.0]) == [0, Fraction(2, 3), Fraction(5, 3), 3]


def test_shapes_computed_in_the_graph(tmp_path: Path) -> None:
    """A reshape and a padding whose shapes are worked out from the input's by arithmetic on constants."""
    nodes = [
        node("Shape", "x", "s"),
        node("Slice", "s one three zero", "middle"),
        node("ReduceProd", "middle", "count", axes=[0], keepdims=1),
        node("Cast", "count", "f", to=TensorProto.FLOAT),
        node("Div", "f two", "half"),
        node("Floor", "half", "floored"),
        node("Cast", "floored", "rows", to=TensorProto.INT64),
        node("Concat", "rows minus", "shape", axis=0),
        node("Reshape", "x shape", "h"),
        node("ConstantOfShape", "oneth", "ones", value=helper.make_tensor("v", TensorProto.INT64, [1], [2])),
        node("Range", "start stop step", "range"),
        node("Mul", "range ones", "doubled"),
        node("Equal", "doubled doubled", "same"),
        node("Where", "same doubled range", "pads"),
        node("Pad", "h pads", "y"),
    ]
    constants = {
        "one": whole(1), "three": whole(3), "zero": whole(0), "minus": whole(-1), "two": np.float32(2),
        "oneth": whole(4), "start": np.array(0), "stop": np.array(4), "step": np.array(1),
    }  # fmt: skip
    net = agrees(nodes, constants, ["batch", 4, 7, 6], tmp_path, opset=13)
    assert net.output_size == (14 + 4) * (12 + 8)


def test_a_maximum_of_constants_is_no_stage(tmp_path: Path) -> None:
    nodes = [
        node("MaxPool", "c", "p", kernel_shape=[2], strides=[2]),
        node("Clip", "p lo hi", "q"),
        node("Add", "x q", "y"),
    ]
    constants = {"c": single(1, 2, 4), "lo": np.float32(-0.1), "hi": np.float32(0.1)}
    assert agrees(nodes, constants, [1, 2, 2], tmp_path).stages == ()


def test_a_window_may_hold_the_same_entry_twice(tmp_path: Path) -> None:
    nodes = [node("Pad", "x p", "h", mode="edge"), node("MaxPool", "h", "y", kernel_shape=[3])]
    agrees(nodes, {"p": whole(0, 0, 2, 0, 0, 2)}, [1, 1, 4], tmp_path)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Sigmoid", "Tanh"])
@pytest.mark.parametrize("opset", [11, 13])
def test_a_final_softmax_is_cut_off_and_noted(operator: str, opset: int, tmp_path: Path) -> None:
    body = [node("MatMul", "x w", "h"), node("Relu", "h", "r")]
    constants = {"w": weights(3, 4), "s": whole(4)}
    cut = network(save(model([*body, node(operator, "r", "p"), node("Reshape", "p s", "y")], constants, [1, 3],
                             opset=opset), tmp_path))  # fmt: skip
    assert [note.kind.is_cut_off for note in cut.notes] == [True]
    assert f"the final {operator} was cut off" in str(cut.notes[0])
    plain = network(save(model([*body, node("Reshape", "r s", "y")], constants, [1, 3], opset=opset), tmp_path))
    assert cut.digest == plain.digest


def test_a_softmax_along_the_batch_is_not_cut_off(tmp_path: Path) -> None:
    nodes = [node("Relu", "x", "h"), node("Softmax", "h", "y", axis=0)]
    message = refusal(model(nodes, {}, [1, 3]), tmp_path)
    assert "the_Softmax" in message
    assert "until='h'" in message


def test_a_node_that_reads_what_it_makes_is_refused(tmp_path: Path) -> None:
    message = refusal(model([node("Relu", "x", "h"), node("Identity", "y", "y")], {}, [1, 3]), tmp_path)
    assert "'y' is read, but no earlier node" in message


def test_a_bound_of_a_clipping_may_depend_on_the_input(tmp_path: Path) -> None:
    nodes = [node("ReduceMax", "x", "high", axes=[1], keepdims=0), node("Squeeze", "high", "most"),
             node("Clip", "twice low most", "y")]  # fmt: skip
    proto = model([node("Add", "x x", "twice"), *nodes], {"low": np.array(-0.5)}, [1, 3], opset=12)
    net = network(save(proto, tmp_path))
    for x in np.random.default_rng(1).normal(size=(20, 3)):
        np.testing.assert_allclose(net(x), np.minimum(np.maximum(2 * x, -0.5), x.max()), atol=1e-12)


def branching() -> Any:
    nodes = [
        node("MatMul", "x w", "h"),
        node("Relu", "h", "r"),
        node("Tanh", "r", "t"),
        node("Neg", "r", "n"),
        node("Mul", "t two", "y"),
    ]
    constants = {"w": weights(3, 4), "two": np.array(2.0)}
    return model(nodes, constants, [1, 3], outputs="y n")


def test_until_names_a_node_a_tensor_or_an_output(tmp_path: Path) -> None:
    path = save(branching(), tmp_path)
    assert network(path, until="n").units == 4
    assert network(path, until="the_Relu_r").digest == network(path, until="r").digest
    assert network(path, until="h").stages == ()
    assert "until='r'" in refusal(branching(), tmp_path, until="y")
    message = refusal(branching(), tmp_path, until="the_Rely_r")
    assert "'the_Relu_r'" in message
    assert "'y', 'n'" in refusal(branching(), tmp_path)


def test_inputs_are_fixed_by_name(tmp_path: Path) -> None:
    proto = model([node("Mul", "x z", "h"), node("Relu", "h", "y")], {}, [1, 3])
    proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.DOUBLE, ["N", 3]))
    path = save(proto, tmp_path)
    for values in ([1.0, -2.0, 3.0], np.array([[1.0, -2.0, 3.0]])):
        assert network(path, fixed={"z": values})([1.0, 1.0, 1.0]).tolist() == [1, 0, 3]
    assert network(path, fixed={"x": [[1.0, -2.0, 3.0]]})([1.0, 1.0, 1.0]).tolist() == [1, 0, 3]
    assert "fixed={'z': values}" in refusal(proto, tmp_path)
    assert "(1, 4)" in refusal(proto, tmp_path, fixed={"z": np.ones((1, 4))})
    assert "'zz'" in refusal(proto, tmp_path, fixed={"zz": 1.0})
    assert "rectangular" in refusal(proto, tmp_path, fixed={"z": [[1.0], [1.0, 2.0]]})
    assert "left free" in refusal(proto, tmp_path, fixed={"z": np.ones((1, 3)), "x": np.ones((1, 3))})


def test_input_shape_fills_open_axes(tmp_path: Path) -> None:
    proto = model([node("GlobalAveragePool", "x", "y")], {}, ["N", 3, "height", "width"])
    message = refusal(proto, tmp_path)
    assert "(height) on axis 2" in message
    assert "input_shape=" in message
    path = save(proto, tmp_path)
    assert network(path, input_shape=(3, 2, 5)).input_shape == (3, 2, 5)
    assert network(path, input_shape=(1, 3, 2, 5)).input_shape == (3, 2, 5)
    assert "(open, 3, open, open)" in refusal(proto, tmp_path, input_shape=(4, 2, 5))
    assert "not a shape" in refusal(proto, tmp_path, input_shape=(3, 0, 5))
    bare = model([node("Relu", "x", "y")], {}, None)
    assert "input_shape=" in refusal(bare, tmp_path)
    assert network(save(bare, tmp_path), input_shape=(2, 2)).input_shape == (2, 2)


def test_packed_files_are_read(tmp_path: Path) -> None:
    proto = model([node("Relu", "x", "y")], {}, [1, 3])
    path = tmp_path / "net.onnx.gz"
    packed = gzip.compress(proto.SerializeToString())
    path.write_bytes(packed)
    assert network(path).units == 3
    for content in (b"", packed[:20], b"not packed", packed[:-9] + b"damaged!!"):
        path.write_bytes(content)
        with pytest.raises(AffineLensError, match="not a readable ONNX file"):
            network(path)


REFUSED = [
    ([node("HardSwish", "r", "y")], ["the_HardSwish", "not piecewise affine", "until='r'"]),
    ([node("Sigmoid", "r", "h"), node("Relu", "h", "y")], ["the_Sigmoid", "not piecewise affine", "until='r'"]),
    ([node("LayerNormalization", "r c", "y")], ["the_LayerNormalization", "not piecewise affine"]),
    ([node("Mul", "r x", "y")], ["the_Mul", "constant", "not piecewise affine", "until='r'"]),
    ([node("MatMul", "r x", "y")], ["the_MatMul", "constant", "until='r'"]),
    ([node("Div", "c r", "y")], ["the_Div", "divisor", "until='r'"]),
    ([node("Pow", "r high", "y")], ["the_Pow", "not piecewise affine"]),
    ([node("If", "flag", "y", then_branch=helper.make_graph([], "t", [], []))], ["the_If", "control flow"]),
    ([node("QuantizeLinear", "r c", "q"), node("DequantizeLinear", "q c", "y")], ["the_QuantizeLinear", "quantised"]),
    ([node("ConvInteger", "r c", "y")], ["the_ConvInteger", "quantised"]),
    ([node("SplitToSequence", "r", "y")], ["the_SplitToSequence", "sequences"]),
    ([node("SequenceConstruct", "r x", "s"), node("Relu", "s", "y")], ["the_Relu", "is a sequence"]),
    ([node("SequenceConstruct", "r x", "y")], ["output 'y' is a sequence"]),
    ([node("ConcatFromSequence", "r", "y", axis=1)], ["must be a sequence"]),
    ([node("Einsum", "r x", "y", equation="ij,ij->i")], ["the_Einsum", "several factors", "until='r'"]),
    ([node("Einsum", "r", "y", equation="ij,jk->i")], ["the_Einsum"]),
    ([node("ScatterElements", "r place x", "y", reduction="mul")], ["reduction by mul is not read"]),
    (
        [helper.make_node("Fancy", ["r"], ["y"], name="n", domain="vendor")],
        ["(vendor.Fancy)", "custom domain 'vendor'"],
    ),
    ([node("NonMaxSuppression", "r c", "y")], ["the_NonMaxSuppression", "not read", "until='r'"]),
    ([node("Shrink", "r", "y", lambd=0.5, bias=0.0)], ["the_Shrink", "not continuous"]),
    ([node("ThresholdedRelu", "r", "y", alpha=1.0)], ["the_ThresholdedRelu", "not continuous"]),
    ([node("Clip", "r high low", "y")], ["the_Clip", "at least 2", "at most 1"]),
    ([node("Where", "r r x", "y")], ["the_Where", "condition"]),
    (
        [node("Less", "r c", "m"), node("Where", "m r x", "y")],
        ["the_Where", "cannot be proved continuous", "until='r'"],
    ),
    ([node("TopK", "r nine", "y i", axis=1)], ["the_TopK", "[9] of the 3 entries"]),
    ([node("Floor", "r", "y")], ["the_Floor", "jumps"]),
    ([node("Sign", "r", "y")], ["a sign jumps"]),
    ([node("Sign", "r", "s"), node("Cast", "s", "y", to=1)], ["a sign jumps"]),
    ([node("Sign", "r", "s"), node("Mul", "s x", "y")], ["cannot be proved continuous"]),
    ([node("Resize", "r - scales", "y", mode="cubic")], ["the_Resize", "cubic"]),
    ([node("Resize", "r - c", "y")], ["the_Resize", "scales"]),
    ([node("MaxPool", "r", "y", kernel_shape=[2])], ["the_MaxPool", "no spatial axes"]),
    ([node("Gather", "r nine", "y", axis=1)], ["the_Gather", "index 9 is out of bounds", "size 3"]),
    ([node("Split", "r halves", "y z", axis=1)], ["the_Split", "split", "(2)", "(3)"]),
    ([node("Concat", "r c", "y", axis=0)], ["the_Concat", "(1, 3)", "(3,)"]),
    ([node("Pad", "r nine", "y")], ["the_Pad", "pads=[9]"]),
]


@pytest.mark.parametrize(("nodes", "words"), REFUSED)
def test_refusals_say_what_and_where_to_cut(nodes: Any, words: list[str], tmp_path: Path) -> None:
    constants = {
        "c": np.ones(3), "flag": np.array(True), "high": np.array(2.0), "low": np.array(1.0), "nine": whole(9),
        "place": np.zeros((1, 3), np.int64),
        "halves": whole(1, 1),
        "scales": np.ones(2, dtype=np.float32),
    }  # fmt: skip
    message = refusal(model([node("Relu", "x", "r"), *nodes], constants, [1, 3]), tmp_path)
    assert all(word in message for word in words), message


HUGE = [
    [node("ConstantOfShape", "huge", "c"), node("Add", "x c", "y")],
    [node("Expand", "x tall", "y")],
    [node("Tile", "x huge", "y")],
    [node("Pad", "x pads", "y")],
    [node("Resize", "x - - huge", "y")],
    [node("Resize", "x - - huge", "y", mode="linear")],
    [node("Reshape", "x four", "h"), node("Resize", "h - - wide", "y", mode="linear")],
    [node("Reshape", "x four", "h"), node("Resize", "h - - wide", "y")],
    [node("Range", "zero many one", "c"), node("Add", "x c", "y")],
    [node("MaxPool", "image", "c", kernel_shape=[2**31, 2**31], pads=[2**31] * 4), node("Add", "x c", "y")],
    [node("AveragePool", "image", "c", kernel_shape=[2**31, 2**31], pads=[2**31] * 4), node("Add", "x c", "y")],
    [node("ConvTranspose", "image w", "c", output_padding=[2**40, 0]), node("Add", "x c", "y")],
    [node("Conv", "image w", "c", pads=[2**20] * 4), node("Add", "x c", "y")],
    [node("Tile", "x row", "h"), node("ReduceMax", "h", "y")],
    [node("Gather", "x lots", "h", axis=1), node("Gather", "h lots", "y", axis=1)],
]


@pytest.mark.parametrize("nodes", HUGE)
def test_sizes_are_checked_before_anything_is_built(nodes: Any, tmp_path: Path) -> None:
    constants = {
        "huge": whole(2**40, 2**40), "pads": whole(2**40, 2**40, 0, 0), "zero": np.array(0), "many": np.array(2**50),
        "one": np.array(1), "image": np.ones((1, 1, 2, 2)), "w": np.ones((1, 1, 1, 1)),
        "lots": np.zeros((100, 1000), dtype=np.int64), "tall": whole(2**40, 3), "row": whole(1, 10**4),
        "four": whole(1, 1, 1, 3), "wide": whole(1, 1, 13416, 13416),
    }  # fmt: skip
    path = save(model(nodes, constants, [1, 3], opset=13), tmp_path)
    tracemalloc.start()
    try:
        with pytest.raises(AffineLensError, match="numbers, more than"):
            network(path)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 50 * 2**20


def test_layouts_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many tensors, each of an accepted size."""
    monkeypatch.setattr(graph, "_LARGEST_TOTAL", 10**5)
    grow = [node("Tile", "x r", "h0"), *(node("Transpose", f"h{k}", f"h{k + 1}", perm=[1, 0]) for k in range(200))]
    proto = model([*grow, node("Relu", "h200", "y")], {"r": whole(10, 33)}, [1, 3])
    assert "layout alone" in refusal(proto, tmp_path)


def test_sums_of_sums_are_bounded(tmp_path: Path) -> None:
    """Each node doubles the work of the one before."""
    names = ["x", *(f"h{k}" for k in range(1, 60)), "y"]
    doubled = [node("Add", f"{a} {a}", b) for a, b in pairwise(names)]
    assert "linear maps" in refusal(model(doubled, {}, [1, 3]), tmp_path)
    mixed = []
    for a, b in pairwise(names):
        mixed += [node("MatMul", f"{a} w", f"m{b}"), node("Add", f"{a} m{b}", b)]
    assert "linear maps" in refusal(model(mixed, {"w": np.eye(3)}, [1, 3]), tmp_path)


def test_operator_sets_beyond_the_installed_package_are_refused(tmp_path: Path) -> None:
    newest = onnx.defs.onnx_opset_version()
    assert network(save(model([node("Relu", "x", "y")], {}, [1, 3], opset=newest), tmp_path)).units == 3
    message = refusal(model([node("Relu", "x", "y")], {}, [1, 3], opset=newest + 1), tmp_path)
    assert f"operator set {newest + 1}" in message
    assert f"from 7 to {newest}" in message


def test_inputs_that_are_no_tensors_are_refused(tmp_path: Path) -> None:
    proto = model([node("SequenceAt", "x i", "y")], {"i": np.array(0)}, [1, 3])
    kind = helper.make_tensor_sequence_value_info("x", TensorProto.DOUBLE, [1, 3])
    proto.graph.input[0].CopyFrom(kind)
    assert "sequence" in refusal(proto, tmp_path)


def test_a_norm_over_no_axes_is_the_absolute_value(tmp_path: Path) -> None:
    nodes = [node("ReduceL1", "x a", "y", noop_with_empty_axes=1)]
    assert_same_function(
        model(nodes, {"a": np.zeros(0, dtype=np.int64)}, [1, 4], opset=18, kind=1), tmp_path, rtol=1e-6
    )


def test_elements_are_gathered_at_some_of_the_places(tmp_path: Path) -> None:
    indices = np.array([[[1, -3], [0, 2]]])
    nodes = [node("GatherElements", "x i", "y", axis=2)]
    assert_same_function(model(nodes, {"i": indices}, [2, 3, 3], kind=1), tmp_path, rtol=1e-6)
    with pytest.raises(AffineLensError, match="do not fit a tensor"):
        network(save(model(nodes, {"i": np.zeros((1, 4, 1), dtype=np.int64)}, [2, 3, 3], kind=1), tmp_path))
