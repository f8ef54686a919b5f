"""``affinelens inspect``: the network as the user knows it, and what it foretells of a walk."""

from __future__ import annotations

from math import log10
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from support.command_line import COLUMNS, report, run
from support.onnx_models import drawn, model, node, save

FLOAT = 1


@pytest.fixture
def residual(tmp_path: Path) -> Path:
    """Nineteen stages with long names: a stem and nine residual blocks, then a max pool's worth of classes."""
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    constants = {"w": drawn(rng, 2, 1, 3, 3), "v": drawn(rng, 2, 2, 3, 3) / 4, "last": drawn(rng, 8, 3)}
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
    found = report("inspect", residual)
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
    found = report("inspect", path, "--box", -1, 1)
    assert found["switching"] == {"units": 1, "hyperplanes": 1}
    assert found["stages"][0]["switching"] == 1
    assert found["regions_log10"]["at_most"] == pytest.approx(log10(2))
    assert found["engines"][0]["name"] == "vertex"


def test_inspect_shows_the_network_and_the_domain(tent: Path) -> None:
    done = run("inspect", tent, "--box", -1, 1)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "2 units" in done.stdout
    assert "dimension 1" in done.stdout


def test_inspect_needs_no_domain(tent: Path) -> None:
    found = report("inspect", tent)
    assert found["regions"] is None
    assert (found["inputs"], found["units"]) == (1, 2)
    assert found["dimension"] is None
