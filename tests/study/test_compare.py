"""Comparing networks on one domain: the table holds each network's own numbers, and bad input changes nothing."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import torch
from torch import nn

import affinelens as al
from affinelens.study import compare
from support.command_line import run, write_network
from support.random_networks import random_layers

BOX = al.Box(-1, 1, dim=2)
SMALL = random_layers([2, 3, 1], seed=0)
FILES = {"comparison.md", "comparison.csv", "comparison.parquet", "comparison.png", "comparison.svg"}


def test_the_table_holds_what_each_network_has_by_itself(tmp_path: Path) -> None:
    models = {"wide": random_layers([2, 12, 2], seed=0), "deep": random_layers([2, 6, 6, 6, 2], seed=1)}
    found = compare(models, BOX, tmp_path / "out")
    assert {file.name for file in (tmp_path / "out").iterdir()} == FILES
    table = pyarrow.parquet.read_table(tmp_path / "out" / "comparison.parquet").to_pylist()
    for (name, model), row in zip(models.items(), table, strict=True):
        alone = al.enumerate(model, BOX)
        boundary = alone.decision_boundary()
        assert (row["model"], row["regions"], row["units"]) == (name, len(alone), alone.network.units)
        stages = [row[f"cells_stage_{stage}"] for stage in range(1, len(alone.layer_counts) + 1)]
        assert tuple(stages) == alone.layer_counts
        assert row["volume_total"] == pytest.approx(4)
        assert row["lipschitz_l2"] == alone.lipschitz_constant()
        assert (row["boundary"], row["boundary_pieces"]) == (pytest.approx(boundary.measure), len(boundary))
        assert row["grid_order"] == pytest.approx(alone.regularity().grid_order)
        assert found.regions[name].layer_counts == alone.layer_counts
    assert table[0]["cells_stage_3"] is None
    with (tmp_path / "out" / "comparison.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["regions"]) for row in rows] == [row["regions"] for row in table]
    report = (tmp_path / "out" / "comparison.md").read_text()
    assert "| cells after stage 3 |  | " in report
    assert f"| regions | {table[0]['regions']:,} | {table[1]['regions']:,} |" in report


def test_other_dimensions_are_compared_without_partitions(tmp_path: Path) -> None:
    models = [random_layers(sizes, seed=0) for sizes in ([3, 5, 1], [3, 4, 4, 1])]
    found = compare(models, al.Box(-1, 1, dim=3), tmp_path / "out")
    assert list(found.regions) == ["model 0", "model 1"]
    assert "grid_order" not in found.table[0]
    assert {file.name for file in (tmp_path / "out").iterdir()} == FILES


def test_torch_modules_are_compared(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 5), nn.ReLU(), nn.Linear(5, 2))
    found = compare({"module": module, "layers": random_layers([2, 5, 2], seed=0)}, BOX, tmp_path / "out")
    assert len(found.regions["module"]) == al.count(module, BOX)


def test_a_network_that_was_stopped_is_incomplete_in_the_report(tmp_path: Path) -> None:
    models = {"cut": random_layers([2, 12, 2], seed=0), "small": random_layers([2, 1, 2], seed=0)}
    compare(models, BOX, tmp_path / "out", max_regions=5)
    report = (tmp_path / "out" / "comparison.md").read_text()
    assert "**cut** is incomplete" in report
    assert "**small** is incomplete" not in report


def test_a_comparison_is_replaced_only_if_asked(tmp_path: Path) -> None:
    models = [SMALL, random_layers([2, 4, 1], seed=0)]
    compare(models, BOX, tmp_path / "out")
    with pytest.raises(al.AffineLensError, match="already holds a comparison"):
        compare(models, BOX, tmp_path / "out")
    compare(models, BOX, tmp_path / "out", overwrite=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "report.md").touch()
    with pytest.raises(al.AffineLensError, match="something other"):
        compare(models, BOX, tmp_path / "other", overwrite=True)
    assert (tmp_path / "other" / "report.md").exists()


@pytest.mark.parametrize(
    ("models", "words"),
    [
        ([SMALL], "two models or more"),
        ("a.onnx", "a list of models"),
        (["a.npz", "a.npz"], "given twice"),
        ({"good": SMALL, "other": random_layers([3, 3, 1], seed=0)}, "other: the network takes 3 inputs"),
        ({"good": SMALL, "bad": 7}, "bad: cannot read a network from int"),
        ({"good": SMALL, "bad": "none.npz"}, "^bad: none.npz: no such file"),
        ([SMALL, "none.npz"], "^none.npz: no such file"),
        ([SMALL, "some/none.npz"], "^some/none.npz: no such file"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_written(tmp_path: Path, models: Any, words: str) -> None:
    with pytest.raises(al.AffineLensError, match=words):
        compare(models, BOX, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_command_compares_files(tmp_path: Path) -> None:
    first, second = (
        write_network(tmp_path / "a.npz", 2, 6, 2, seed=0),
        write_network(tmp_path / "b.npz", 2, 4, 4, 2, seed=1),
    )
    done = run("study", "compare", first, second, "--box", -1, 1, "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    table = json.loads(done.stdout)["table"]
    assert [row["regions"] for row in table] == [al.count(str(file), BOX) for file in (first, second)]
    assert [row["model"] for row in table] == ["a.npz", "b.npz"]
    for arguments, words in (
        ((first, second), "no domain is given"),
        ((first, tmp_path / "no.npz", "--box", -1, 1), "no such file"),
        ((first, "--box", -1, 1), "two models or more"),
    ):
        refused = run("study", "compare", *arguments, "-o", tmp_path / "new")
        assert refused.returncode == 2
        assert words in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert not (tmp_path / "new").exists()
