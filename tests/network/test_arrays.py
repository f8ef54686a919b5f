"""Plain arrays: the same network from a list, an .npz, a safetensors or a .pt file; anything doubtful is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from affinelens import network
from affinelens.errors import AffineLensError, AffineLensWarning
from support.random_networks import random_layers

LAYERS = random_layers([2, 4, 3, 1], seed=0, bias=1)
EXPECTED = network(LAYERS)


def named(form: str) -> dict[str, np.ndarray]:
    weight, bias = {
        "short": ("W{}", "b{}"),
        "torch": ("layers.{}.weight", "layers.{}.bias"),
        "sequential": ("{}.weight", "{}.bias"),
    }[form]
    found = {}
    for i, (w, b) in enumerate(LAYERS):
        found[weight.format(2 * i)] = w
        found[bias.format(2 * i)] = b
    return found


def test_a_list_is_a_relu_network_without_activation_at_the_end() -> None:
    x = np.array([0.3, -1.2])
    value = x
    for i, (w, b) in enumerate(LAYERS):
        value = w @ value + b
        if i < len(LAYERS) - 1:
            value = np.maximum(value, 0)
    assert np.allclose(EXPECTED(x), value)
    assert [stage.activation.size_in for stage in EXPECTED.stages] == [4, 3]


def test_nested_lists_tuples_and_small_floats_are_the_same_numbers() -> None:
    halves = [(np.array([[0.5, -1.25]]), np.array([2.0])), (np.array([[3.0]]), np.array([-0.5]))]
    expected = network(halves).digest
    assert network([(w.tolist(), b.tolist()) for w, b in halves]).digest == expected
    assert network(tuple([w, b] for w, b in halves)).digest == expected
    for kind in (np.float32, np.float16):
        assert network([(w.astype(kind), b.astype(kind)) for w, b in halves]).digest == expected


def test_a_bias_may_be_missing() -> None:
    assert network([([[2.0]], None)])([3.0]).tolist() == [6.0]


def test_float32_weights_are_not_rounded_again() -> None:
    weight = np.array([[0.1]], dtype=np.float32)
    assert network([(weight, [0.0])]).evaluate_exact([1.0]) == [float(weight[0, 0])]


@pytest.mark.parametrize("form", ["short", "torch", "sequential"])
def test_npz_by_name(tmp_path: Path, form: str) -> None:
    path = tmp_path / "net.npz"
    np.savez(path, **dict(reversed(named(form).items())))
    assert network(path).digest == EXPECTED.digest
    assert network(str(path)).digest == EXPECTED.digest


def test_npz_by_order(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    np.savez(path, *[array for layer in LAYERS for array in layer])
    assert network(path).digest == EXPECTED.digest


def test_layer_ten_follows_layer_nine(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    layers = random_layers([2] * 13, seed=1)
    np.savez(
        path,
        **{f"{letter}{i}": array for i, layer in enumerate(layers) for letter, array in zip("Wb", layer, strict=True)},
    )
    with pytest.warns(AffineLensWarning, match=r"taken as \(out, in\)"):
        assert network(path).digest == network(layers).digest


@pytest.mark.parametrize("form", ["short", "torch"])
def test_safetensors(tmp_path: Path, form: str) -> None:
    path = tmp_path / "net.safetensors"
    save_file(named(form), path)
    assert network(path).digest == EXPECTED.digest


def test_state_dictionary(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    path = tmp_path / "net.pt"
    state = {name: torch.from_numpy(array.copy()) for name, array in named("sequential").items()}
    torch.save(state, path)
    assert network(path).digest == EXPECTED.digest
    optimizer = {"state": {0: {"step": torch.zeros(1)}}, "param_groups": [{"lr": 0.1}]}
    for key in ("state_dict", "model_state_dict"):
        torch.save({key: state, "optimizer": optimizer, "epoch": 3, "mean": torch.zeros(2)}, path)
        assert network(path).digest == EXPECTED.digest
    for stored in ({"model": state, "ema": state}, {"epoch": 3}, [state], {"model": {}}):
        torch.save(stored, path)
        with pytest.raises(
            AffineLensError, match=r"net.pt: holds \w+.* state dictionar.*; save model.state_dict\(\) alone"
        ):
            network(path)


def test_a_state_dictionary_that_is_no_file() -> None:
    torch = pytest.importorskip("torch")
    assert network(named("torch")).digest == EXPECTED.digest
    state = {name: torch.from_numpy(array.copy()) for name, array in named("sequential").items()}
    assert network(state).digest == EXPECTED.digest
    with pytest.raises(AffineLensError, match=r"the state dictionary: .* several orders"):
        network({"out.weight": torch.zeros(2, 6), "inp.weight": torch.zeros(6, 2)})
    with pytest.raises(AffineLensError, match="the entry 'weights' is a dictionary itself"):
        network({"epoch": np.zeros(1), "weights": state})


def test_state_dictionaries_of_other_layers_ask_for_the_module() -> None:
    torch = pytest.importorskip("torch")
    last = {"4.weight": torch.zeros(2, 4), "4.bias": torch.zeros(2)}
    norm = {f"1.{name}": torch.ones(4) for name in ("weight", "bias", "running_mean", "running_var")}
    for state in ({"0.weight": torch.zeros(4, 1, 3, 3), **last}, {"0.weight": torch.zeros(4, 2), **norm, **last}):
        with pytest.raises(AffineLensError, match="give the module itself or an ONNX file"):
            network(state)


class Trap:
    """Leaves a file behind if anyone unpickles it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_pickled_objects_are_refused_and_not_run(tmp_path: Path) -> None:
    sprung = tmp_path / "sprung"
    objects = np.array([[Trap(sprung)]], dtype=object)
    with (tmp_path / "net.npz").open("wb") as stream:
        np.savez(stream, W0=objects, b0=np.zeros(1))
    (tmp_path / "net.pt").write_bytes(pickle.dumps(Trap(sprung), protocol=2))
    for name in ("net.npz", "net.pt"):
        with pytest.raises(AffineLensError, match="plain"):
            network(tmp_path / name)
    assert not sprung.exists()


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([], "empty"),
        ([([[1.0, np.nan]], [0.0])], "NaN"),
        ([([[1.0]], [np.inf])], "infinity"),
        ([([[1.0, 2.0], [3.0]], [0.0, 0.0])], "rectangular"),
        ([([1.0, 2.0], [0.0])], "matrix"),
        ([(np.zeros((0, 2)), np.zeros(0))], "matrix"),
        ([(np.zeros((2, 0)), np.zeros(2))], "matrix"),
        ([([[1.0]], [0.0, 0.0])], "must match"),
        ([([[1.0]], [0.0]), ([[1.0, 2.0]], [0.0])], "transpose"),
        ([([["a"]], [0.0])], "real numbers"),
        ([(np.array([[object()]]), [0.0])], "real numbers"),
        ([([[1j]], [0.0])], "real numbers"),
        ([([[2**53 + 1]], [0.0])], "2\\*\\*53"),
        ([[[1.0]]], "pair"),
        ([1.0, 2.0], "pair"),
        (["ab", "cd"], "layer 0"),
    ],
)
def test_lists_that_are_no_network_are_refused(layers: Any, message: str) -> None:
    with pytest.raises(AffineLensError, match=message):
        network(layers)


@pytest.mark.parametrize("model", [None, 3, {0: [[1.0]]}, object()])
def test_other_objects_are_refused(model: Any) -> None:
    with pytest.raises(AffineLensError, match="cannot read a network"):
        network(model)


@pytest.mark.parametrize("name", ["net.npz", "net.safetensors"])
def test_files_that_are_something_else_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for content in (b"", b"hello", b"PK\x03\x04 not a zip", bytes(range(256)) * 4):
        path.write_bytes(content)
        with pytest.raises(AffineLensError, match=name):
            network(path)


def test_missing_files_folders_and_unknown_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AffineLensError, match="no such file"):
        network(tmp_path / "none.npz")
    with pytest.raises(AffineLensError, match="not a file"):
        network(tmp_path)
    (tmp_path / "net.txt").write_text("1 2 3")
    with pytest.raises(AffineLensError, match="not read"):
        network(tmp_path / "net.txt")


def test_files_whose_arrays_do_not_pair_up_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.npz"
    np.savez(path, W0=np.eye(2), b0=np.zeros(2), b1=np.zeros(2))
    with pytest.raises(AffineLensError, match="no weight"):
        network(path)
    np.savez(path, first=np.eye(2), second=np.eye(2))
    with pytest.raises(AffineLensError, match="matrices and vectors"):
        network(path)
    np.savez(path)
    with pytest.raises(AffineLensError, match="no arrays"):
        network(path)
    np.savez(path, W0=np.eye(2), b0=np.zeros(2), W1=np.array([[np.nan, 0.0]]), b1=np.zeros(1))
    with pytest.raises(AffineLensError, match=r"net\.npz: the weight of layer 1 contains NaN"):
        network(path)
