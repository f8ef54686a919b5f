"""A compiled ONNX file computes what onnxruntime computes, with the file's own numbers; a bad file is one sentence."""

from __future__ import annotations

import contextlib
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import affinelens as al  # noqa: E402
from affinelens.errors import AffineLensError, MissingExtraError  # noqa: E402
from affinelens.network import network  # noqa: E402
from support.onnx_models import assert_same_function, model, node, save, weights  # noqa: E402
from support.onnx_mutation import onnx_escapes  # noqa: E402


def refusal(proto: Any, folder: Path) -> str:
    with pytest.raises(AffineLensError) as caught:
        network(save(proto, folder))
    message = str(caught.value)
    assert "net.onnx" in message
    assert "\n" not in message
    return message


def test_gemm_chain_keeps_the_initializers_bit_for_bit(tmp_path: Path) -> None:
    shapes = {"W": (4, 3), "b": (4,), "V": (4, 2)}
    constants = {name: weights(*shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [node("Gemm", "x W b", "h", transB=1), node("Relu", "h", "r"), node("Gemm", "r V", "y")]
    proto = model(nodes, constants, [1, 3], kind=TensorProto.FLOAT)
    net = assert_same_function(proto, tmp_path, rtol=1e-5)
    assert np.array_equal(net.stages[0].linear.sources[0][1].weight, constants["W"].astype(np.float64))
    assert np.array_equal(net.stages[0].linear.bias.weight[:, 0], constants["b"].astype(np.float64))
    assert np.array_equal(net.output.sources[0][1].weight, constants["V"].astype(np.float64).T)
    assert net.input_shape == (3,)
    assert net.notes == ()


def test_gemm_factors_stay_exact(tmp_path: Path) -> None:
    constants = {"W": weights(2, 2), "b": weights(2)}
    net = network(save(model([node("Gemm", "x W b", "y", alpha=0.1, beta=0.3)], constants, [1, 2]), tmp_path))
    alpha, beta = (Fraction(float(np.float32(v))) for v in (0.1, 0.3))
    x = [Fraction(1, 3), Fraction(5)]
    by_hand = [
        alpha * sum(Fraction(w) * v for w, v in zip(column, x, strict=True)) + beta * Fraction(b)
        for column, b in zip(constants["W"].T.tolist(), constants["b"].tolist(), strict=True)
    ]
    assert net.evaluate_exact(x) == by_hand


def test_exact_value_of_a_residual_network(tmp_path: Path) -> None:
    slope = Fraction(float(np.float32(0.1)))
    constants = {"W": weights(2, 2), "b": weights(2)}
    nodes = [
        node("MatMul", "x W", "m"),
        node("Add", "m b", "h"),
        node("LeakyRelu", "h", "r", alpha=0.1),
        node("Sub", "r x", "y"),
    ]
    x = [Fraction(2, 3), Fraction(-1, 7)]
    by_hand = []
    for column, b, v in zip(constants["W"].T.tolist(), constants["b"].tolist(), x, strict=True):
        h = sum((Fraction(w) * u for w, u in zip(column, x, strict=True)), Fraction(b))
        by_hand.append((h if h > 0 else slope * h) - v)
    assert network(save(model(nodes, constants, [1, 2]), tmp_path)).evaluate_exact(x) == by_hand


@pytest.mark.parametrize(
    ("nodes", "constants", "shape"),
    [
        ([node("MatMul", "W x", "h"), node("Relu", "h", "y")], {"W": weights(3, 2)}, [2, 4]),
        ([node("MatMul", "x W", "h"), node("Relu", "h", "y")], {"W": weights(1, 1, 4, 3)}, [2, 4]),
        ([node("MatMul", "x w", "y")], {"w": weights(4)}, [1, 3, 4]),
        ([node("Gemm", "x W c", "y", transA=1, alpha=0.5, beta=2.0)], {"W": weights(3, 2), "c": weights(4, 1)}, [3, 4]),
        ([node("Gemm", "W x", "y", transB=1)], {"W": weights(3, 2)}, [4, 2]),
        ([node("PRelu", "x s", "y")], {"s": weights(3, 1)}, [1, 3, 4]),
        ([node("Mul", "c x", "h"), node("Neg", "h", "n"), node("Sub", "c n", "y")], {"c": weights(3, 1)}, [1, 4]),
        ([node("Div", "x c", "y")], {"c": weights(4)}, [1, 4]),
        ([node("Relu", "x", "r"), node("Add", "r x", "y")], {}, [1, 4]),
        ([node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "t W", "y")], {"W": weights(3, 2)}, [1, 3, 4]),
        ([node("Transpose", "W", "t"), node("Identity", "t", "i"), node("MatMul", "x i", "y")],
         {"W": weights(2, 3)}, [3]),
        ([node("Reshape", "x s", "h"), node("Relu", "h", "y")], {"s": np.array([0, -1, 2])}, [2, 6]),
        ([node("Flatten", "x", "h", axis=-1), node("MatMul", "h W", "y")], {"W": weights(3, 2)}, [1, 2, 3]),
        ([node("Flatten", "x", "y", axis=0)], {}, [1, 2, 3]),
        ([node("Unsqueeze", "x a", "u"), node("Squeeze", "u b", "s"), node("Relu", "s", "y")],
         {"a": np.array([0, -1]), "b": np.array([-1])}, [1, 3]),
        ([node("Squeeze", "x", "y")], {}, [1, 3, 1]),
        ([node("Dropout", "x", "d"), node("Identity", "d", "y")], {}, [1, 3]),
        ([node("Cast", "x", "c", to=TensorProto.DOUBLE), node("Relu", "c", "y")], {}, [1, 3]),
    ],
)  # fmt: skip
def test_operators_agree_with_onnxruntime(nodes: Any, constants: Any, shape: Any, tmp_path: Path) -> None:
    assert_same_function(model(nodes, constants, shape), tmp_path)


def test_batch_norm(tmp_path: Path) -> None:
    constants = {name: weights(3, seed=seed) for seed, name in enumerate("gbm")} | {"v": np.array([0.5, 1.75, 1.1])}
    nodes = [node("BatchNormalization", "x g b m v", "h", epsilon=0.01), node("Relu", "h", "y")]
    net = assert_same_function(model(nodes, constants, [1, 3, 2]), tmp_path)
    assert any("batch norm" in note.text for note in net.notes)
    trained = [node("BatchNormalization", "x g b m v", "y mean var", training_mode=1)]
    message = refusal(model(trained, constants, [1, 3, 2]), tmp_path)
    assert "the_BatchNormalization" in message
    assert "training mode" in message


def test_axes_given_as_attributes_by_older_operator_sets(tmp_path: Path) -> None:
    nodes = [node("Unsqueeze", "x", "u", axes=[0]), node("Squeeze", "u", "s", axes=[1]), node("Relu", "s", "y")]
    assert_same_function(model(nodes, {}, [1, 3], opset=11), tmp_path)


def test_reshape_with_allowzero_takes_zeros_literally(tmp_path: Path) -> None:
    proto = model([node("Reshape", "x s", "y", allowzero=1)], {"s": np.array([0, 3])}, [1, 3])
    assert "cannot be reshaped to (0, 3)" in refusal(proto, tmp_path)


def test_flattening_by_the_shape_of_the_input(tmp_path: Path) -> None:
    nodes = [
        node("Shape", "x", "s"),
        node("Gather", "s zero", "n"),
        node("Unsqueeze", "n axis", "u"),
        node("Concat", "u rest", "t", axis=0),
        node("Reshape", "x t", "y"),
    ]
    constants = {"zero": np.array(0), "axis": np.array([0]), "rest": np.array([-1])}
    net = assert_same_function(model(nodes, constants, ["batch", 2, 3]), tmp_path)
    assert net.output_size == 6
    assert net.notes == ()


def test_stored_constants_and_arithmetic_between_constants(tmp_path: Path) -> None:
    value = numpy_helper.from_array(weights(3, 2))
    nodes = [
        node("Constant", "", "W", value=value),
        node("Constant", "", "k", value_float=0.1),
        node("Cast", "k", "d", to=TensorProto.DOUBLE),
        node("Mul", "W d", "V"),
        node("MatMul", "x V", "y"),
    ]
    net = assert_same_function(model(nodes, {}, [1, 3]), tmp_path)
    assert len(net.notes) == 1
    product = numpy_helper.to_array(value) * np.float64(np.float32(0.1))
    assert np.array_equal(net.output.sources[0][1].weight, product.T)


@pytest.mark.parametrize("kind", [TensorProto.FLOAT16, TensorProto.BFLOAT16])
def test_half_precision_weights_are_taken_exactly(kind: int, tmp_path: Path) -> None:
    typed = helper.make_tensor("W", kind, [2, 1], [0.1, 3.0])
    values = numpy_helper.to_array(typed)
    net = network(save(model([node("MatMul", "x W", "y")], {"W": typed}, [1, 2], kind=kind), tmp_path))
    assert np.array_equal(net.output.sources[0][1].weight, values.T.astype(np.float64))
    raw = numpy_helper.from_array(values, "W")
    same = network(save(model([node("MatMul", "x W", "y")], {"W": raw}, [1, 2], kind=kind), tmp_path))
    assert same.digest == net.digest


def test_open_batch_axis_is_one_and_other_open_axes_are_refused(tmp_path: Path) -> None:
    assert assert_same_function(model([node("Relu", "x", "y")], {}, ["N", 3]), tmp_path).input_shape == (3,)
    for unnamed in (0, None):
        assert network(save(model([node("Relu", "x", "y")], {}, [unnamed, 3]), tmp_path)).input_shape == (3,)
    assert network(save(model([node("Relu", "x", "y")], {}, [3]), tmp_path)).input_shape == (3,)
    message = refusal(model([node("Relu", "x", "y")], {}, ["N", 3, "width"]), tmp_path)
    assert "'x'" in message
    assert "axis 2" in message
    assert "width" in message


def test_initializers_may_be_listed_as_inputs(tmp_path: Path) -> None:
    proto = model([node("MatMul", "x W", "y")], {"W": weights(3, 2)}, [1, 3])
    proto.graph.input.append(helper.make_tensor_value_info("W", TensorProto.DOUBLE, [3, 2]))
    assert network(save(proto, tmp_path)).input_size == 3


def test_several_inputs_or_outputs_are_named(tmp_path: Path) -> None:
    proto = model([node("Add", "x z", "y"), node("Neg", "x", "w")], {}, [1, 3], outputs="y w")
    proto.graph.input.append(helper.make_tensor_value_info("z", TensorProto.DOUBLE, [1, 3]))
    message = refusal(proto, tmp_path)
    assert all(f"'{name}'" in message for name in "yw")
    assert "until='y'" in message
    del proto.graph.output[1]
    message = refusal(proto, tmp_path)
    assert all(f"'{name}'" in message for name in "xz")
    assert "fixed={'z': values}" in message


def test_parts_the_output_does_not_need_are_ignored(tmp_path: Path) -> None:
    nodes = [node("Sigmoid", "x", "s"), node("Relu", "x", "other"), node("Relu", "x", "y")]
    assert len(network(save(model(nodes, {}, [1, 3]), tmp_path)).stages) == 1


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([node("Sigmoid", "x", "h"), node("Relu", "h", "y")], ["the_Sigmoid", "(Sigmoid)", "not piecewise affine"]),
        ([node("Softmax", "x", "h"), node("Relu", "h", "y")], ["the_Softmax", "(Softmax)"]),
        ([helper.make_node("Exp", ["x"], ["y"])], ["'y'", "(Exp)"]),
        ([helper.make_node("Relu", ["x"], ["y"], domain="vendor")], ["(vendor.Relu)"]),
        ([node("Mul", "x x", "y")], ["the_Mul", "must be a constant"]),
        ([node("MatMul", "x x", "y")], ["the_MatMul", "must be a constant"]),
        ([node("Add", "x missing", "y")], ["the_Add", "'missing'", "defines"]),
        ([node("Add", "x five", "y")], ["the_Add", "(1, 3) and (5,)"]),
        ([node("MatMul", "x five", "y")], ["the_MatMul", "(1, 3)", "(5,)"]),
        ([node("Cast", "x", "y", to=TensorProto.INT64)], ["the_Cast", "INT64"]),
        ([node("Dropout", "x ratio yes", "y")], ["the_Dropout", "training"]),
        ([node("Relu", "", "y")], ["the_Relu", "input 0 is missing"]),
        ([node("Gemm", "x five", "y", alpha="one")], ["the_Gemm", "matrices"]),
        ([node("LeakyRelu", "x", "y", alpha="one")], ["the_LeakyRelu", "alpha"]),
        ([node("Constant", "", "y", value_string="one")], ["the_Constant", "value_string"]),
        ([node("Add", "x words", "y")], ["'words'", "STRING"]),
    ],
)
def test_refusals_name_the_node(nodes: Any, words: list[str], tmp_path: Path) -> None:
    constants = {
        "five": weights(5),
        "ratio": np.array(0.5),
        "yes": np.array(True),
        "words": helper.make_tensor("words", TensorProto.STRING, [1], ["one"]),
    }
    message = refusal(model(nodes, constants, [1, 3]), tmp_path)
    assert all(word in message for word in words), message


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_numbers_are_refused_by_name(bad: float, tmp_path: Path) -> None:
    message = refusal(
        model([node("MatMul", "x the_weight", "y")], {"the_weight": np.array([[1.0], [bad]])}, [1, 2]), tmp_path
    )
    assert "'the_weight'" in message
    assert ("NaN" if np.isnan(bad) else "infinity") in message


def test_old_operator_sets_are_refused(tmp_path: Path) -> None:
    assert "operator set 6" in refusal(model([node("Relu", "x", "y")], {}, [1, 3], opset=6), tmp_path)


def test_inputs_that_are_not_floats_are_refused(tmp_path: Path) -> None:
    proto = model([node("Cast", "x", "y", to=TensorProto.FLOAT)], {}, [1, 3], kind=TensorProto.INT64)
    assert "INT64" in refusal(proto, tmp_path)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    whole = model([node("MatMul", "x W", "y")], {"W": weights(3, 2)}, [1, 3]).SerializeToString()
    path = tmp_path / "net.onnx"
    for content in (b"", b"\x00" * 50, b"not a network at all", whole[:30], whole[: len(whole) // 2], whole[:-40]):
        path.write_bytes(content)
        with pytest.raises(AffineLensError, match="not a readable ONNX file"):
            network(path)


def test_any_single_damaged_byte_gives_a_network_or_one_sentence(tmp_path: Path) -> None:
    nodes = [node("Gemm", "x W b", "h", alpha=0.5), node("Reshape", "h s", "r"), node("Relu", "r", "y")]
    constants = {
        "W": weights(3, 2),
        "b": helper.make_tensor("b", TensorProto.DOUBLE, [2], [1.0, 2.0]),
        "s": np.array([-1]),
    }
    generator = np.random.default_rng(0)
    whole = model(nodes, constants, ["N", 3]).SerializeToString()
    path = tmp_path / "net.onnx"
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= int(generator.integers(1, 256))
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(AffineLensError):
            network(path)


@pytest.mark.parametrize("dims", [[10**9, 10**9], [3, -2], [2, 2], [1] * 100])
@pytest.mark.parametrize("raw", [True, False])
def test_declared_sizes_must_be_stored(dims: list[int], raw: bool, tmp_path: Path) -> None:
    tensor = TensorProto(name="W", data_type=TensorProto.DOUBLE)
    if raw:
        tensor.raw_data = weights(3, 2).tobytes()
    else:
        tensor.double_data.extend(weights(6))
    tensor.dims.extend(dims)
    assert "'W'" in refusal(model([node("MatMul", "x W", "y")], {"W": tensor}, [1, 3]), tmp_path)


def test_tensors_of_absurd_size_are_refused_before_they_are_built(tmp_path: Path) -> None:
    assert "numbers" in refusal(model([node("Relu", "x", "y")], {}, [1, 10**12]), tmp_path)
    column, row = weights(200_000, 1), weights(200_000)
    grown = [node("Add", "x column", "h"), node("Relu", "h", "y")]
    assert "numbers" in refusal(model(grown, {"column": column}, [1, 100_000]), tmp_path)
    folded = [node("Add", "column row", "c"), node("Add", "x c", "y")]
    assert "numbers" in refusal(model(folded, {"column": column, "row": row}, [1, 1]), tmp_path)
    assert "numbers" in refusal(model([node("MatMul", "x W", "y")], {"W": weights(100, 100)}, [10**6, 100]), tmp_path)


def external(location: str, **entries: Any) -> Any:
    tensor = TensorProto(name="W", data_type=TensorProto.DOUBLE, data_location=TensorProto.EXTERNAL)
    tensor.dims.extend([3, 2])
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model([node("MatMul", "x W", "y")], {"W": tensor}, [1, 3])


def test_external_data_beside_the_model_is_read(tmp_path: Path) -> None:
    values = weights(3, 2)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "W.bin").write_bytes(b"12345678" + values.tobytes())
    net = network(save(external("data/W.bin", offset=8, length=48), tmp_path))
    assert np.array_equal(net.output.sources[0][1].weight, values.T)


def test_external_data_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "W.bin").write_bytes(weights(3, 2).tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "W.bin")
    for location in ("../W.bin", str(tmp_path / "W.bin"), "link.bin"):
        assert "outside the model's folder" in refusal(external(location), folder)


def test_external_data_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "W.bin").write_bytes(weights(3, 2).tobytes())
    assert "not a file" in refusal(external("missing.bin"), tmp_path)
    assert "not a file" in refusal(external("."), tmp_path)
    assert "not a file" in refusal(external(""), tmp_path)
    assert "48 bytes" in refusal(external("W.bin", length=40), tmp_path)
    assert "beyond the end" in refusal(external("W.bin", offset=8), tmp_path)
    assert "beyond the end" in refusal(external("W.bin", offset=-8), tmp_path)
    assert "the_MatMul" in refusal(external("W.bin", offset="eight"), tmp_path)
    assert "the_MatMul" in refusal(external("W\0.bin"), tmp_path)


def test_a_missing_package_names_the_pip_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(model([node("Relu", "x", "y")], {}, [1, 3]), tmp_path)
    for name in [
        name for name in sys.modules if name.startswith(("affinelens.network.onnx.importer", "affinelens.network.onnx"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'affinelens\[onnx\]'"):
        network(path)


def test_damaged_files_end_in_a_network_or_in_a_sentence(tmp_path: Path) -> None:
    assert [(number, repr(error)) for number, _, error in onnx_escapes(600, 0, tmp_path)] == []


def test_damaged_names_and_missing_outputs_are_refused(tmp_path: Path) -> None:
    """What a long run of damaged files found: a model without outputs, an unnamed initializer, a name of two lines."""
    proto = model([node("Relu", "x", "y")], {}, [1, 3])
    proto.graph.ClearField("output")
    assert "until='y'" in refusal(proto, tmp_path)
    proto.graph.node[0].ClearField("output")
    assert "no output; export it again" in refusal(proto, tmp_path)
    unnamed = model([node("Relu", "x", "h")], {"": np.ones(3)}, [1, 3], outputs="y")
    unnamed.graph.output[0].name = ""
    assert network(save(unnamed, tmp_path)).output_size == 3
    proto = model([node("Relu", "x", "y")], {}, [1, 3])
    proto.graph.node[0].op_type = "Re\nlu"
    assert "not read" in refusal(proto, tmp_path)


def test_a_loaded_model_is_taken_as_an_object(tmp_path: Path) -> None:
    proto = model([node("Gemm", "x w", "h"), node("Relu", "h", "y")], {"w": weights(2, 3)}, [1, 2])
    loaded = network(proto)
    assert loaded.digest == network(save(proto, tmp_path)).digest
    assert network(proto, until="h").stages == ()
    assert al.count(proto, al.Box(-1, 1, dim=2)) == al.count(loaded, al.Box(-1, 1, dim=2))
    proto.graph.initializer[0].ClearField("raw_data")
    proto.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    with pytest.raises(
        AffineLensError, match=r"the ONNX model: .*initializer 'w' lies in another file; load the model"
    ):
        network(proto)
