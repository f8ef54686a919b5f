"""The convolution study in small: every file is made, planes are shared, and counts are those of the saved networks."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

import affinelens as al
from affinelens import study
from affinelens.errors import MissingExtraError
from affinelens.study.architectures import lenet, strided_cnn
from affinelens.study.convolution_study import ConvolutionStudy
from affinelens.study.data.image_sets import image_set
from affinelens.study.setup import Setup
from support.image_files import write_cifar10, write_mnist

SMALL: dict[str, Any] = {
    "seeds": 1, "workers": 1, "planes": 1, "epochs": (1,), "mnist_epochs": (2,), "cifar10_mlp": (8, 4),
    "cifar10_channels": (3, 4), "cifar10_hidden": 8, "mnist_mlp": (8, 4), "quick": True,
}  # fmt: skip


def table(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(folder / "table.parquet").to_pylist()
    return rows


def test_both_image_sets_are_studied_if_both_are_there(tmp_path: Path) -> None:
    data = tmp_path / "data"
    write_mnist(data / "mnist")
    write_cifar10(data / "cifar10", "binary")
    report = study.run("convolution", tmp_path / "out", data=data, **SMALL)
    rows = table(tmp_path / "out")
    assert {(row["data"], row["epoch"]) for row in rows} == {("CIFAR-10", 1), ("MNIST", 2)}
    assert len(rows) == 2 * 2 * SMALL["planes"]
    for title in ("CIFAR-10", "MNIST"):
        planes = [
            [
                (row["first_input"], row["second_input"])
                for row in rows
                if (row["data"], row["network"]) == (title, kind)
            ]
            for kind in ("MLP", "CNN")
        ]
        assert planes[0] == planes[1]
    text = report.read_text()
    assert "CIFAR-10: trained on 20 of its 50,000 images for 1 epochs, where the paper has 100." in text
    assert "MNIST: trained on 40 of its 60,000 images for 2 epochs, where the paper has 50." in text
    for stem in ("partitions-cifar10", "partitions-mnist", "grid-order"):
        assert f"({stem}.png)" in text
        assert all((tmp_path / "out" / f"{stem}.{ending}").is_file() for ending in ("png", "svg"))


def test_without_files_the_digits_stand_in_and_counts_are_those_of_the_saved_network(tmp_path: Path) -> None:
    text = study.run("convolution", tmp_path / "out", **SMALL).read_text()
    assert "No image files were given" in text
    rows = table(tmp_path / "out")
    assert {row["data"] for row in rows} == {"digits"}
    row = next(row for row in rows if row["network"] == "CNN")
    model = lenet((1, 8, 8), 3, 10, nn.LeakyReLU, Setup())
    run = next((tmp_path / "out" / "runs").glob("*CNN_seed-0"))
    model.load_state_dict(load_file(run / "epoch-1.safetensors"))
    plane = al.Slice.axes(np.full(64, 0.5), (row["first_input"], row["second_input"]), -1, 1)
    again = al.enumerate(al.network(model.eval(), input_shape=(1, 8, 8)), plane)
    assert len(again) == row["regions"]
    assert again.regularity().grid_order == pytest.approx(row["grid_order"])


def test_a_study_without_scikit_learn_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    image_set.cache_clear()
    with pytest.raises(MissingExtraError, match=r"scikit-learn .*pip install 'affinelens\[study\]'"):
        study.run("convolution", tmp_path / "out", **SMALL)
    assert not (tmp_path / "out").exists()


def test_damaged_images_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    data = write_mnist(tmp_path / "data", packed=False)
    (data / "train-images-idx3-ubyte").write_bytes(b"nonsense")
    with pytest.raises(al.AffineLensError, match="not an IDX file"):
        study.run("convolution", tmp_path / "out", data=data, **SMALL)
    assert not (tmp_path / "out").exists()


def test_far_pixels_make_a_perfect_grid_of_a_convolution() -> None:
    """No unit of the first two convolutions sees both corners of the image, so all their borders are axis-parallel."""
    torch.manual_seed(0)
    whole = strided_cnn((3, 16, 16), (4, 4), 8, 10, nn.ReLU, Setup())
    convolutions = nn.Sequential(*list(whole)[:6], nn.Flatten())
    corners = ((0, 0, 0), (2, 15, 15))
    plane = al.Slice.axes(np.full((3, 16, 16), 0.5), corners, -1, 1)
    found = al.enumerate(al.network(convolutions.eval(), input_shape=(3, 16, 16)), plane).regularity()
    assert found.grid_order == pytest.approx(1, abs=1e-12)
    assert found.quadrilaterals == 1


class _Found:
    """Results of a study with the given grid orders, planes of one seed after those of another."""

    def __init__(self, orders: dict[str, list[list[float]]]) -> None:
        self._orders = orders
        self.configurations = [SimpleNamespace(labels={"data": "MNIST", "network": kind}) for kind in orders]

    def samples(self, labels: dict[str, str], seed: int) -> Any:
        return SimpleNamespace(points=np.zeros((1, 1, 28, 28)))

    def select(self, data: str, network: str) -> list[dict[str, Any]]:
        others = {"grid_order_by_chance": 0.1, "quadrilaterals": 0.5, "area_variation": 1.0}
        inputs = {"first_input": 28 + 3, "second_input": 4 * 28 + 1}
        return [
            {"data": data, "seed": seed, "grid_order": order, **others, **inputs}
            for seed, of_seed in enumerate(self._orders[network])
            for order in of_seed
        ]


def test_the_claim_is_about_the_mean_of_every_seed_and_names_exceptions() -> None:
    (claim,) = ConvolutionStudy().claims(_Found({"MLP": [[0.2, 0.5], [0.1, 0.1]], "CNN": [[0.9, 0.4], [0.8, 0.8]]}))  # type: ignore[arg-type]
    assert claim.holds
    assert "3 of 4 planes (on the other the two pixels are 3 apart)" in claim.evidence
    (claim,) = ConvolutionStudy().claims(_Found({"MLP": [[0.2], [0.5]], "CNN": [[0.9], [0.4]]}))  # type: ignore[arg-type]
    assert not claim.holds
