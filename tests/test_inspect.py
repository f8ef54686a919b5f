"""``affinelens inspect``: the network as the user knows it, and what it foretells of a walk."""

from __future__ import annotations

import gzip
import json
from math import log10
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.measure.summary.forecast import forecast
from affinelens.restrict import restrict
from affinelens.walk import shown_counts
from command_line import COLUMNS, run, write_network
from onnx_models import model, node, save

FLOAT = 1


def weights(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape).astype(np.float32)


@pytest.fixture
def residual(tmp_path: Path) -> Path:
    """Nineteen stages with long names: a stem and nine residual blocks, then a max pool's worth of classes."""
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    constants = {"w": weights(rng, 2, 1, 3, 3), "v": weights(rng, 2, 2, 3, 3) / 4, "last": weights(rng, 8, 3)}
    norm = {"gain": np.ones(2), "shift": np.ones(2), "mean": np.zeros(2), "variance": np.ones(2)}
    constants |= {name: values.astype(np.float32) for name, values in norm.items()}
    nodes, tensor = [node("Conv", "x w", "c", pads=[1] * 4), node("Relu", "c", "stem")], "stem"
    for block in range(9):
        name = f"encoder/block{block}/branch"
        nodes += [
            node("Conv", f"{tensor} v", f"{name}/a", pads=[1] * 4),
            node("BatchNormalization", f"{name}/a gain shift mean variance", f"{name}/b"),
            node("Relu", f"{name}/b", f"{name}/c"),
            node("Conv", f"{name}/c v", f"{name}/d", pads=[1] * 4),
            node("Add", f"{tensor} {name}/d", f"{name}/e"),
            node("Relu", f"{name}/e", f"{name}/f"),
        ]
        tensor = f"{name}/f"
    nodes += [
        node("AveragePool", tensor, "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "p", "q"),
        node("MatMul", "q last", "y"),
    ]
    return save(model(nodes, constants, [1, 1, 4, 4], kind=FLOAT), tmp_path)


def report(*arguments: object) -> dict[str, Any]:
    done = run("inspect", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_deep_network_fits_a_terminal(residual: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.full((1, 4, 4), 0.5))
    slice_options = ("--slice-axes", "0,5", "--at", tmp_path / "image.npy", "--window", 0, 1)
    for options in ((), slice_options):
        done = run("inspect", residual, *options)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= COLUMNS
        assert [line.split()[0] for line in lines if line[:5].strip().isdigit()] == [str(n) for n in range(1, 20)]
        assert "and 8 more: batch norm" in " ".join(done.stdout.split())
    assert "dimension 2" in " ".join(done.stdout.split())


def test_layers_are_named_as_in_the_model(residual: Path) -> None:
    found = report(residual)
    assert (found["input_shape"], found["output_shape"]) == ([1, 4, 4], [3])
    first, second, third = found["stages"][:3]
    assert first["operations"] == ["Conv 3x3", "Relu"]
    assert second["name"] == "the_Relu_encoder/block0/branch/c"
    assert second["operations"] == ["Conv 3x3", "BatchNormalization", "Relu"]
    assert (third["operations"], third["sources"]) == (["Conv 3x3", "Add", "Relu"], [1, 2])
    assert third["shape"] == [2, 4, 4]
    assert found["switching"] is None


def test_torch_layers_are_named_by_their_classes() -> None:
    torch = pytest.importorskip("torch")
    layers = [torch.nn.Conv2d(1, 2, 3, stride=2), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
    network = al.network(torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(2, 3)), input_shape=(1, 5, 5))
    assert [stage.kind for stage in network.stages] == ["ReLU", "MaxPool2d 2x2 stride 2"]
    assert network.stages[0].linear.operations == ("Conv2d 3x3 stride 2", "BatchNorm2d")
    assert [stage.shape for stage in network.stages] == [(2, 2, 2), (2, 1, 1)]
    assert (network.output.operations, network.output_shape) == (("Linear",), (3,))


def test_names_and_shapes_are_saved_with_a_run(residual: Path, tmp_path: Path) -> None:
    al.enumerate(residual, al.Slice.axes(np.zeros(16), 3, 0, 1), run=tmp_path / "run")
    network, loaded = al.network(residual), al.load(tmp_path / "run").network
    assert [(s.kind, s.shape) for s in loaded.stages] == [(s.kind, s.shape) for s in network.stages]
    assert loaded.stages[2].linear.operations == network.stages[2].linear.operations
    assert loaded.output_shape == network.output_shape


def test_what_switches_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    np.savez(path, W0=np.eye(2), b0=[0.0, 5.0], W1=[[1.0, 1.0]], b1=[0.0])
    found = report(path, "--box", -1, 1)
    assert found["switching"] == {"units": 1, "hyperplanes": 1}
    assert found["stages"][0]["switching"] == 1
    assert found["regions_log10"]["at_most"] == pytest.approx(log10(2))
    assert found["engines"][0]["name"] == "vertex"


@pytest.mark.parametrize("sizes", [(1, 16, 16, 1), (2, 32, 32, 1), (3, 24, 12, 1), (4, 20, 1)])
def test_the_forecast_has_the_right_order_of_magnitude(sizes: tuple[int, ...], tmp_path: Path) -> None:
    network = al.network(write_network(tmp_path / "net.npz", *sizes, seed=3))
    for domain in (al.Box(-1, 1, dim=sizes[0]), al.Box(-0.25, 0.5, dim=sizes[0])):
        expected = forecast(network, domain.frame, restrict(network, domain.frame))
        regions = al.count(network, domain, workers=1)
        assert abs(expected.regions - log10(regions)) < 1
        assert expected.bound is None or log10(regions) <= expected.bound + 1e-9


def test_a_model_can_be_cut_packed_and_left_open(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    rng = np.random.default_rng(1)
    constants = {"w": weights(rng, 2, 6), "v": weights(rng, 6, 2)}
    nodes = [node("MatMul", "x w", "a"), node("Relu", "a", "b"), node("Exp", "b", "c"), node("MatMul", "c v", "y")]
    plain = save(model(nodes, constants, [1, "width"], kind=FLOAT), tmp_path)
    packed = tmp_path / "net.onnx.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    expected = al.count(al.network(plain, until="b", input_shape=(2,)), al.Box(-1, 1, dim=2))
    for path in (plain, packed):
        for command in ("count", "enumerate"):
            options = ("--until", "the_Relu_b", "--input-shape", "2", "--box", -1, 1, "--json")
            assert json.loads(run(command, path, *options).stdout)["regions"] == expected
    refused = run("count", plain, "--input-shape", 2, "--box", -1, 1)
    assert refused.returncode == 2
    assert "--until 'b' cuts the model before it" in refused.stderr
    assert "pass --input-shape without the batch axis" in run("inspect", plain).stderr
    with pytest.raises(al.AffineLensError, match=r"an option of affinelens\.network"):
        al.count(plain, al.Box(-1, 1, dim=2))


def test_an_input_can_be_fixed(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    proto = model([node("Sub", "x m", "a"), node("Abs", "a", "y")], {}, [1, 2], kind=FLOAT)
    proto.graph.input.append(onnx.helper.make_tensor_value_info("m", FLOAT, [1, 2]))
    path = save(proto, tmp_path)
    np.save(tmp_path / "m.npy", np.array([[0.5, 7.0]], dtype=np.float32))
    done = run("count", path, "--fixed", f"m={tmp_path / 'm.npy'}", "--box", -1, 1, "--json")
    assert json.loads(done.stdout)["regions"] == 2
    assert "--fixed m=FILE leaves the first" in run("inspect", path).stderr
    wrong = run("inspect", path, "--fixed", "m")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "NAME=FILE" in wrong.stderr


@pytest.mark.parametrize("option", [("--until", "b"), ("--input-shape", "2"), ("--input-shape", "two")])
def test_options_that_do_not_fit_are_one_sentence(option: tuple[str, str], tmp_path: Path) -> None:
    done = run("inspect", write_network(tmp_path / "net.npz", 2, 3, 1), *option)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert option[0] in done.stderr


@pytest.mark.parametrize("room", [4, 10, 20, 40, 80, 400])
def test_counts_by_stage_fit_their_room(room: int) -> None:
    counts = [7**k for k in range(19)]
    shown = shown_counts(counts, room)
    assert len(shown) <= room
    if room >= 40:
        assert shown.endswith(f"{counts[-1]:,}")
    if room == 400:
        assert shown.count(" -> ") == 18
