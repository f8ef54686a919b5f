"""Input that cannot be taken is one sentence, the same on the command line (exit code 2) and from Python."""

from __future__ import annotations

import gzip
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.cli.model_options import on_command_line
from support.command_line import run, write_domain, write_network

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
GARBAGE = {
    "empty": b"",
    "text": b"this is not a model\n",
    "zeros": bytes(512),
    "zip": b"PK\x03\x04" + bytes(range(256)),
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_network(tmp_path / "net.npz", 2, 4, 1, seed=0)


@pytest.fixture
def square() -> al.Box:
    return al.Box(-1, 1, dim=2)


def refusal(*arguments: object) -> str:
    """The sentence with which a command refuses, checked to be one, alone, and without a traceback."""
    done = run(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1, done.stderr
    program, _, sentence = done.stderr.rstrip("\n").partition(": ")
    assert program == "affinelens"
    assert sentence
    return sentence


def python_refusal(call: Callable[[], object]) -> str:
    with pytest.raises(al.AffineLensError) as caught:
        call()
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


def refused_everywhere(path: Path) -> str:
    """The sentence for a model file, which must be the same on the command line and from Python.

    Only the advice to use an option of the model names it as it is given there.
    """
    sentence = python_refusal(lambda: al.network(path))
    counting = python_refusal(lambda: al.count(path, al.Box(-1, 1, dim=2)))
    assert counting.removesuffix(" (an option of affinelens.network, whose result can be given here)") == sentence
    before, option, _ = refusal("inspect", path).partition("--")
    assert sentence.startswith(before) if option else sentence == before
    assert sentence.startswith(f"{path}: ")
    return sentence


# Model files


def test_missing_file(tmp_path: Path) -> None:
    sentence = refused_everywhere(tmp_path / "missing.onnx")
    assert "no such file" in sentence
    for command in ("count", "enumerate"):
        assert refusal(command, tmp_path / "missing.onnx", "--box", -1, 1) == sentence


def test_directory_as_a_model(tmp_path: Path) -> None:
    assert "not a file" in refused_everywhere(tmp_path)


@pytest.mark.skipif(ROOT, reason="root reads everything")
@pytest.mark.parametrize("suffix", [".npz", ".onnx", ".safetensors"])
def test_file_without_permission(suffix: str, tmp_path: Path) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnx")
    path = tmp_path / f"secret{suffix}"
    path.write_bytes(b"content")
    path.chmod(0)
    refused_everywhere(path)


@pytest.mark.parametrize("name", ["net.txt", "net.npy", "net", "net.gz", ".npz"])
def test_unknown_extension(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(b"content")
    sentence = refused_everywhere(path)
    assert ".npz" in sentence
    assert ".onnx" in sentence


@pytest.mark.parametrize("content", GARBAGE)
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".onnx", ".pt", ".pth"])
def test_garbage(suffix: str, content: str, tmp_path: Path) -> None:
    if suffix in (".onnx", ".pt", ".pth"):
        pytest.importorskip("onnx" if suffix == ".onnx" else "torch")
    path = tmp_path / f"garbage{suffix}"
    path.write_bytes(GARBAGE[content])
    sentence = python_refusal(lambda: al.network(path))
    if content == "text":
        assert refusal("inspect", path).partition(";")[0] == sentence.partition(";")[0]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_truncated_npz(share: float, model: Path) -> None:
    content = model.read_bytes()
    model.write_bytes(content[: int(share * len(content))])
    refused_everywhere(model)


def write_onnx(path: Path, operator: str, weight: np.ndarray) -> Path:
    """An ONNX network of one MatMul named 'first' and one more node named 'second'."""
    onnx = pytest.importorskip("onnx")
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "w"], ["z"], name="first"),
        onnx.helper.make_node(operator, ["z"], ["y"], name="second"),
    ]
    double = onnx.TensorProto.DOUBLE
    ends = [[onnx.helper.make_tensor_value_info(name, double, [1, 2])] for name in ("x", "y")]
    graph = onnx.helper.make_graph(nodes, "graph", *ends, [onnx.numpy_helper.from_array(weight, "w")])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(made.SerializeToString())
    return path


def test_truncated_onnx(tmp_path: Path) -> None:
    path = write_onnx(tmp_path / "net.onnx", "Relu", np.eye(2))
    assert al.network(path).units == 2
    content = path.read_bytes()
    for size in range(0, len(content), 7):
        path.write_bytes(content[:size])
        python_refusal(lambda: al.network(path))
    path.write_bytes(content[: len(content) // 2])
    refused_everywhere(path)


@pytest.mark.parametrize("operator", ["Exp", "NoSuchOperator"])
def test_unsupported_operator_is_named_with_its_node(operator: str, tmp_path: Path) -> None:
    sentence = refused_everywhere(write_onnx(tmp_path / "net.onnx", operator, np.eye(2)))
    assert "'second'" in sentence
    assert operator in sentence


def several_outputs(made: Any) -> None:
    made.graph.output.append(made.graph.output[0])
    made.graph.output[1].name = "z"


def several_inputs(made: Any) -> None:
    made.graph.input.append(made.graph.input[0])
    made.graph.input[1].name = "w"
    del made.graph.initializer[:]


def open_axis(made: Any) -> None:
    made.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "features"


def new_operators(made: Any) -> None:
    made.opset_import[0].version = 1000


def old_operators(made: Any) -> None:
    made.opset_import[0].version = 3


def control_flow(made: Any) -> None:
    made.graph.node[1].op_type = "Loop"


def custom_operator(made: Any) -> None:
    made.graph.node[1].domain = "vendor"


def quantised(made: Any) -> None:
    made.graph.node[1].op_type = "DynamicQuantizeLinear"


def huge_size(made: Any) -> None:
    made.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 2**40


def external_data(made: Any) -> None:
    made.graph.initializer[0].ClearField("raw_data")
    made.graph.initializer[0].data_location = 1
    made.graph.initializer[0].external_data.add(key="location", value="../weights.bin")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (several_outputs, "until='y'"),
        (several_inputs, "fixed={'w': values}"),
        (open_axis, "input_shape="),
        (new_operators, "operator set 1000"),
        (old_operators, "operator set 3"),
        (control_flow, "control flow"),
        (custom_operator, "custom domain 'vendor'"),
        (quantised, "quantised"),
        (huge_size, f"{2**40} numbers"),
        (external_data, "outside the model's folder"),
    ],
)
def test_onnx_files_that_cannot_be_taken(change: Callable[[Any], None], words: str, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = write_onnx(tmp_path / "net.onnx", "Relu", np.eye(2))
    made = onnx.ModelProto.FromString(path.read_bytes())
    change(made)
    path.write_bytes(made.SerializeToString())
    assert words in refused_everywhere(path)


@pytest.mark.parametrize("content", GARBAGE)
def test_packed_garbage(content: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    for number, packed in enumerate([GARBAGE[content], gzip.compress(GARBAGE[content])]):
        path = tmp_path / f"garbage{number}.onnx.gz"
        path.write_bytes(packed)
        assert "not a readable ONNX file" in python_refusal(lambda path=path: al.network(path))


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_weights_that_are_not_finite(value: float, word: str, tmp_path: Path) -> None:
    weight = np.array([[1.0, value], [0.0, 1.0]])
    np.savez(tmp_path / "net.npz", W0=weight, b0=np.zeros(2), W1=np.ones((1, 2)), b1=np.zeros(1))
    assert word in refused_everywhere(tmp_path / "net.npz")
    assert word in refused_everywhere(write_onnx(tmp_path / "net.onnx", "Relu", weight))
    assert word in python_refusal(lambda: al.network([(weight, [0.0, 0.0])]))


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({}, "no arrays"),
        ({"W0": np.ones((2, 2, 2)), "b0": np.ones(2)}, "shape (2, 2, 2)"),
        ({"W0": np.ones((0, 2)), "b0": np.ones(0)}, "shape (0, 2)"),
        ({"W0": np.ones((2, 2)), "b0": np.ones(3)}, "3 biases"),
        ({"W0": np.ones((2, 3)), "b0": np.ones(2), "W1": np.ones((1, 3)), "b1": np.ones(1)}, "layer 1"),
        ({"b0": np.ones(3)}, "no weight"),
        ({"mean": np.ones(3), "spread": np.ones(3)}, "mean"),
        ({"W0": np.array([["a", "b"]]), "b0": np.ones(1)}, "real numbers"),
        ({"W0": np.ones((2, 2), dtype=complex), "b0": np.ones(2)}, "complex128"),
    ],
    ids=["nothing", "three axes", "empty", "biases", "sizes", "no weight", "other names", "text", "complex"],
)
def test_arrays_that_are_no_network(arrays: dict[str, np.ndarray], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "net.npz", **arrays)
    assert words in refused_everywhere(tmp_path / "net.npz")


class Bomb:
    """Leaves a marker behind if it is ever unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where a bomb would leave its mark, shown to go off when unpickled."""
    path = tmp_path / "exploded"
    pickle.loads(pickle.dumps(Bomb(path)))
    assert path.is_dir()
    path.rmdir()
    return path


def test_pickled_objects_in_npz_are_not_run(marker: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "net.npz", W0=np.array([[Bomb(marker)]], dtype=object), b0=np.zeros(1))
    refused_everywhere(tmp_path / "net.npz")
    assert not marker.exists()


def test_a_pickle_called_npz_is_not_run(marker: Path, tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    path.write_bytes(pickle.dumps(Bomb(marker)))
    refused_everywhere(path)
    assert not marker.exists()


@pytest.mark.parametrize("layout", ["zip", "legacy", "plain pickle"])
def test_a_pt_file_that_holds_more_than_weights_is_not_run(layout: str, marker: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "net.pt"
    if layout == "plain pickle":
        path.write_bytes(pickle.dumps({"0.weight": Bomb(marker)}))
    else:
        torch.save({"0.weight": Bomb(marker)}, path, _use_new_zipfile_serialization=layout == "zip")
    assert "plain weights" in python_refusal(lambda: al.network(path))
    assert "plain weights" in refusal("inspect", path)
    assert not marker.exists()


def test_a_pickled_module_is_refused_with_the_fix(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "net.pt")
    assert "state_dict()" in python_refusal(lambda: al.network(tmp_path / "net.pt"))


@pytest.mark.parametrize("content", ["tensor", "numbers", "nested"])
def test_a_pt_file_without_a_state_dictionary(content: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    stored = {
        "tensor": torch.zeros(2),
        "numbers": {"0.weight": 3},
        "nested": {"model": {"layers": {"0.weight": torch.zeros(2, 2)}}},
    }
    torch.save(stored[content], tmp_path / "net.pt")
    assert "state_dict()" in python_refusal(lambda: al.network(tmp_path / "net.pt"))


@pytest.mark.parametrize(
    "model", [None, 3, {"W0": 1}, [], [1, 2], [([[1.0]], [0.0], 3)], [([[1.0], [1.0, 2.0]], None)]], ids=repr
)
def test_objects_that_are_no_model(model: Any) -> None:
    python_refusal(lambda: al.network(model))


# Domains


def box_refused(model: Path, box: tuple[str, str], make: Callable[[], object]) -> str:
    sentence = refusal("count", model, "--box", *box)
    assert python_refusal(make) == sentence
    return sentence


def test_box_with_low_above_high(model: Path) -> None:
    assert "input 0" in box_refused(model, ("1", "-1"), lambda: al.Box(1, -1, dim=2))
    assert "input 1" in box_refused(model, ("0,2", "1,1"), lambda: al.Box([0, 2], [1, 1]))


def test_box_without_interior(model: Path) -> None:
    assert "single point" in box_refused(model, ("0.5", "0.5"), lambda: al.Box(0.5, 0.5, dim=2))


@pytest.mark.parametrize("bound", ["inf", "nan", "1e999"])
def test_box_without_finite_bounds(bound: str, model: Path) -> None:
    assert "input 1" in box_refused(model, ("0,0", f"1,{bound}"), lambda: al.Box([0, 0], [1, float(bound)]))


def test_box_with_bounds_of_different_lengths(model: Path) -> None:
    box_refused(model, ("0,0,0", "1,1"), lambda: al.Box([0, 0, 0], [1, 1]))


def test_box_without_a_number_of_inputs() -> None:
    assert "dim=" in python_refusal(lambda: al.Box(-1, 1))


@pytest.mark.parametrize("text", ["a", "", "1,", "1;2", "0x10", "1,,2"])
def test_box_that_is_not_numbers(text: str, model: Path) -> None:
    assert repr(text) in refusal("count", model, "--box", text, "1")


def test_box_with_one_bound(model: Path) -> None:
    assert "--box" in refusal("count", model, "--box", "1")


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_no_domain(command: str, model: Path) -> None:
    sentence = refusal(command, model)
    assert "--box" in sentence
    assert "--domain" in sentence


def test_two_domains(model: Path, tmp_path: Path) -> None:
    domain = write_domain(tmp_path / "domain.npz", [[1, 0], [0, 1], [-1, -1]], [0, 0, 1])
    for command in ("inspect", "count", "enumerate"):
        assert "given by --box and by --domain; keep one" in refusal(command, model, "--box", -1, 1, "--domain", domain)


@pytest.mark.parametrize("domain", [None, 3, [[-1, 1], [-1, 1]], "box"], ids=repr)
def test_objects_that_are_no_domain(domain: Any, model: Path) -> None:
    assert "Box" in python_refusal(lambda: al.count(model, domain))


def test_domain_of_other_inputs(model: Path, tmp_path: Path) -> None:
    sentence = refusal("count", model, "--box", "0,0,0", "1,1,1")
    assert python_refusal(lambda: al.count(model, al.Box(0, 1, dim=3))) == sentence
    assert python_refusal(lambda: al.enumerate(model, al.Box(0, 1, dim=3))) == sentence
    assert {"2", "3"} <= set(re.findall(r"\d+", sentence))
    domain = write_domain(tmp_path / "domain.npz", [[1], [-1]], [1, 1])
    assert {"2", "1"} <= set(re.findall(r"\d+", refusal("count", model, "--domain", domain)))


POLYTOPES = {
    "empty": ([[1, 0], [-1, 0], [0, 1], [0, -1]], [-2, 1, 1, 1], r"empty: constraints 0 and 1\b"),
    "empty by three": (
        [[1, 0], [0, 1], [-1, -1], [-1, 0], [0, -1]],
        [-1, -1, 1, 5, 5],
        r"empty: constraints 0, 1 and 2\b",
    ),
    "never true": ([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]], [1, 1, 1, 1, -1], r"constraint 4\b"),
    "unbounded": ([[1, 0], [0, 1], [0, -1]], [0, 1, 1], r"unbounded: .*input 0 from above"),
    "all of space": ([[0, 0]], [1], r"unbounded: .*input 0"),
    "flat": ([[1, 1], [-1, -1], [0, 1], [0, -1]], [0, 0, 1, 1], r"flat: constraints 0 and 1\b"),
    "one point": ([[1, 0], [0, 1], [-1, -1]], [0, 0, 0], r"single point"),
    "NaN": ([[1, np.nan], [0, 1], [-1, -1]], [0, 0, 1], r"W contains NaN"),
    "infinity": ([[1, 0], [0, 1], [-1, -1]], [0, 0, np.inf], r"b contains NaN or infinity"),
    "b too long": ([[1, 0], [0, 1], [-1, -1]], [0, 0, 1, 1], r"b must hold one number a row"),
    "no matrix": ([1, 0], [0], r"W must be a matrix"),
}


@pytest.mark.parametrize("name", POLYTOPES)
def test_polytope_without_a_bounded_interior(name: str, model: Path, tmp_path: Path) -> None:
    weight, offset, words = POLYTOPES[name]
    path = write_domain(tmp_path / "domain.npz", weight, offset)
    with pytest.raises(al.AffineLensError, match=words) as caught:
        al.Polytope(weight, offset)
    assert refusal("count", model, "--domain", path) == f"{path}: {caught.value.worded(on_command_line)}"


@pytest.mark.parametrize("kind", ["missing", "folder", "garbage", "other arrays", "objects"])
def test_domain_file_that_cannot_be_read(kind: str, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "domain.npz"
    if kind == "folder":
        path.mkdir()
    elif kind == "garbage":
        path.write_bytes(b"garbage")
    elif kind == "other arrays":
        np.savez(path, A=np.eye(2), c=np.ones(2))
    elif kind == "objects":
        np.savez(path, W=np.array([[None]]), b=np.zeros(1))
    assert refusal("count", model, "--domain", path).startswith(f"{path}: ")


# Options


@pytest.mark.parametrize("command", ["inspect", "count", "enumerate"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--workers", "0"),
        ("--workers", "-2"),
        ("--workers", "two"),
        ("--max-regions", "0"),
        ("--max-regions", "-1"),
        ("--max-regions", "1.5"),
        ("--time-limit", "0"),
        ("--time-limit", "-1"),
        ("--time-limit", "nan"),
        ("--time-limit", "inf"),
        ("--time-limit", "soon"),
        ("--engine", "steam"),
    ],
)
def test_bad_option(option: str, value: str, command: str, model: Path) -> None:
    sentence = refusal(command, model, "--box", -1, 1, option, value)
    assert value.split(".")[0] in sentence


@pytest.mark.parametrize(
    "options",
    [
        {"workers": 0},
        {"workers": -2},
        {"workers": "two"},
        {"workers": 1.5},
        {"workers": True},
        {"max_regions": 0},
        {"max_regions": -1},
        {"time_limit": 0},
        {"time_limit": -1.0},
        {"time_limit": float("nan")},
        {"time_limit": "soon"},
        {"engine": "steam"},
        {"engine": None},
        {"engine": ["auto"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("function", [al.count, al.enumerate])
def test_bad_option_from_python(
    function: Callable[..., Any], options: dict[str, Any], model: Path, square: al.Box
) -> None:
    sentence = python_refusal(lambda: function(model, square, **options))
    (name,) = options
    assert name in sentence


@pytest.mark.parametrize(
    "arguments", [["nothing"], ["count"], ["count", "--unknown"], ["count", "a", "b"], ["demo", "extra"]], ids=" ".join
)
def test_wrong_arguments(arguments: list[str]) -> None:
    refusal(*arguments)


# Outputs


def output_refused(model: Path, output: Path) -> str:
    """Refused before any work, in the same words by every way of saving but for its option, and without a trace."""
    regions = al.enumerate(model, al.Box(-1, 1, dim=2), workers=1)
    before = _tree(model.parent)
    sentence = refusal("enumerate", model, "--box", -1, 1, "-o", output)
    in_python = sentence.replace("--overwrite", "overwrite=True")
    assert python_refusal(lambda: al.enumerate(model, al.Box(-1, 1, dim=2), run=output)) == in_python
    assert python_refusal(lambda: regions.save(output)) == in_python
    assert _tree(model.parent) == before
    return sentence


def _tree(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_output_that_holds_something_else(model: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
    assert "something other than a run" in output_refused(model, tmp_path / "thesis")
    assert "something other than a run" in refusal(
        "enumerate", model, "--box", -1, 1, "-o", tmp_path / "thesis", "--overwrite"
    )


def test_output_that_is_a_file(model: Path) -> None:
    assert "is a file" in output_refused(model, model)


def test_output_in_a_folder_that_does_not_exist(model: Path, tmp_path: Path) -> None:
    assert "does not exist" in output_refused(model, tmp_path / "missing" / "run")


def test_output_that_already_holds_a_run(model: Path, tmp_path: Path) -> None:
    al.enumerate(model, al.Box(0, 1, dim=2), run=tmp_path / "run")
    assert "--overwrite" in output_refused(model, tmp_path / "run")


@pytest.mark.skipif(ROOT, reason="root writes everywhere")
def test_output_in_a_folder_without_permission(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert "cannot write" in output_refused(model, folder / "run")


def test_output_that_is_an_empty_name(model: Path) -> None:
    refusal("enumerate", model, "--box", -1, 1, "-o", "")
