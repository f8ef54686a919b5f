"""Model files from anywhere: whatever is in them, a network or one sentence comes out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import affinelens as al
from support.model_files import SAMPLES, reader
from support.mutation import escapes

torch = pytest.importorskip("torch")


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("ending", sorted(SAMPLES))
def test_damaged_files_give_a_network_or_one_sentence(tmp_path: Path, ending: str) -> None:
    found = [
        f"mutant {number}: {error!r}"
        for number, _, error in escapes(SAMPLES[ending](), reader(tmp_path, ending), count=400, seed=1)
    ]
    assert not found


UNUSABLE = {
    "meta": lambda: torch.zeros(3, 2, device="meta"),
    "sparse": lambda: torch.eye(3, 2).to_sparse(),
    "csr": lambda: torch.eye(3, 2).to_sparse_csr(),
    "expanded": lambda: torch.zeros(1, 1).expand(10**9, 10**9),
    "complex": lambda: torch.zeros(3, 2, dtype=torch.complex64),
    "nested": lambda: torch.nested.nested_tensor([torch.zeros(3), torch.zeros(2)]),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's own, of kinds of tensors that it calls new
@pytest.mark.parametrize("kind", UNUSABLE)
def test_tensors_that_are_no_dense_real_numbers_are_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "net.pt"
    torch.save({"0.weight": UNUSABLE[kind]()}, path)
    with pytest.raises(al.AffineLensError, match=r"net\.pt: ") as caught:
        al.network(path)
    assert caught.value.__cause__ is None


def test_small_float_kinds_are_the_same_numbers(tmp_path: Path) -> None:
    weight = torch.tensor([[0.5, -1.25]])
    expected = al.network([(weight.numpy(), [0.0])]).digest
    for kind in (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float64):
        torch.save({"weight": weight.to(kind), "bias": torch.zeros(1)}, tmp_path / "net.pt")
        assert al.network(tmp_path / "net.pt").digest == expected


def test_integers_that_float64_cannot_hold_are_not_rounded_silently(tmp_path: Path) -> None:
    torch.save({"weight": torch.tensor([[2**53 + 1]])}, tmp_path / "net.pt")
    with pytest.raises(al.AffineLensError, match="beyond 2"):
        al.network(tmp_path / "net.pt")


def test_names_with_long_or_foreign_numbers_are_read(tmp_path: Path) -> None:
    first, second = f"layer{'1' * 5000}.weight", f"layer{'2' * 5000}.weight"
    save_file({second: np.ones((1, 2)), first: np.ones((2, 1))}, tmp_path / "net.safetensors")
    assert al.network(tmp_path / "net.safetensors").input_size == 1
    save_file({"layer\u00b2.weight": np.ones((2, 1))}, tmp_path / "net.safetensors")
    assert al.network(tmp_path / "net.safetensors").input_size == 1


def test_where_neither_names_nor_shapes_tell_the_order_it_is_asked_for(tmp_path: Path) -> None:
    state = {"out.weight": torch.zeros(2, 6), "inp.weight": torch.zeros(6, 2)}
    torch.save(state, tmp_path / "net.pt")
    with pytest.raises(al.AffineLensError, match=r"several orders; number them .* or give a list of \(W, b\) pairs"):
        al.network(tmp_path / "net.pt")


def test_shapes_tell_the_order_of_layers_with_any_names(tmp_path: Path) -> None:
    layers = {"out": (1, 6), "hidden.1": (6, 6), "hidden.0": (6, 6), "inp": (6, 2)}
    generator = np.random.default_rng(3)
    arrays = {name: generator.normal(size=shape) for name, shape in layers.items()}
    torch.save({f"{name}.weight": torch.from_numpy(array) for name, array in arrays.items()}, tmp_path / "net.pt")
    expected = al.network([(arrays[name], None) for name in ("inp", "hidden.0", "hidden.1", "out")])
    assert al.network(tmp_path / "net.pt").digest == expected.digest
