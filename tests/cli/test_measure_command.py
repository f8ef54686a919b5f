"""``affinelens measure``."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

import affinelens as al
from support.command_line import run, write_network
from support.measured import random_set


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return random_set(2, 6, 5, 2, seed=0).save(tmp_path / "run")


def test_metrics_are_printed(saved: Path) -> None:
    shown = dict(line.split() for line in run("measure", saved).stdout.splitlines())
    assert int(shown["regions"].replace(",", "")) == len(al.load(saved))
    assert float(shown["volume_total"]) == pytest.approx(4.0)


def test_json_has_all_metrics(saved: Path) -> None:
    assert json.loads(run("measure", saved, "--json").stdout)["metrics"] == al.load(saved).metrics()


def test_columns_are_written_and_their_spread_shown(saved: Path, tmp_path: Path) -> None:
    done = run("measure", saved, "--columns", "volume,center", "-o", tmp_path / "table.csv")
    table = pyarrow.csv.read_csv(tmp_path / "table.csv")
    assert table.column_names == ["region", "x0", "x1", "volume", "center_0", "center_1"]
    assert sum(table.column("volume").to_pylist()) == pytest.approx(4.0)
    assert [line.split()[0] for line in done.stdout.splitlines()[:4]] == ["column", "volume", "center_0", "center_1"]


def test_parquet_without_names_has_the_usual_columns(saved: Path, tmp_path: Path) -> None:
    assert run("measure", saved, "-o", tmp_path / "table.parquet").returncode == 0
    table = pyarrow.parquet.read_table(tmp_path / "table.parquet")
    assert {"volume", "inradius", "class"} <= set(table.column_names)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--columns", "volum"], "did you mean 'volume'"),
        (["-o", "table.txt"], "written to .csv and .parquet files"),
        (["-o", "missing/folder/table.csv"], "does not exist; create it first"),
    ],
)
def test_bad_options_get_one_sentence(saved: Path, tmp_path: Path, arguments: list[str], sentence: str) -> None:
    failed = run("measure", saved, *arguments, cwd=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert sentence in failed.stderr
    assert len(failed.stderr.splitlines()) == 1


def test_what_is_not_a_run_is_refused(tmp_path: Path) -> None:
    write_network(tmp_path / "net.npz", 2, 3, 1, seed=0)
    failed = run("measure", tmp_path)
    assert failed.returncode == 2
    assert "not a run directory" in failed.stderr
