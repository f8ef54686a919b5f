"""Options that say how a model is read: cut, of a stated shape, with inputs that are fixed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from support.command_line import run, write_network
from support.onnx_models import drawn, model, node, save

FLOAT = 1


def test_a_model_can_be_cut_packed_and_left_open(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    rng = np.random.default_rng(1)
    constants = {"w": drawn(rng, 2, 6), "v": drawn(rng, 6, 2)}
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
    assert "--until b cuts the model before it" in refused.stderr
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
    done = run("inspect", write_network(tmp_path / "net.npz", 2, 3, 1, seed=0), *option)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert option[0] in done.stderr
