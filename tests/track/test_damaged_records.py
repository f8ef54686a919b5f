"""Training records with damage: each is refused in a sentence, or its table, picture and snapshots can be asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import affinelens as al
from affinelens.track.record_directory import RECORD
from support.json_files import json_reader, json_samples
from support.mutation import escapes

LAYERS = [([[1.0]], [0.5]), ([[1.0]], [0.0])]


def test_damaged_records_are_refused_or_answer(tmp_path: Path) -> None:
    found = escapes(json_samples(tmp_path), json_reader(tmp_path), count=400, seed=1)
    assert [(number, repr(error)) for number, _, error in found] == []


@pytest.mark.parametrize(("column", "value"), [("layer_1", "many"), ("status", 3), ("seconds", True), ("regions", [1])])
def test_columns_hold_what_the_table_says(tmp_path: Path, column: str, value: object) -> None:
    tracker = al.track(al.Box(-1, 1, dim=1))
    tracker(LAYERS, 0)
    file = tracker.save(tmp_path / "record") / RECORD
    data = json.loads(file.read_text())
    data["rows"][0][column] = value
    file.write_text(json.dumps(data))
    with pytest.raises(al.AffineLensError, match=f"in the column '{column}'"):
        al.load_record(tmp_path / "record")


def test_metrics_may_begin_as_layers_do_but_take_no_column_of_the_table() -> None:
    record = al.track(al.Box(-1, 1, dim=1), metrics={"layer_norm": len, "layer_": len})
    record(LAYERS, 0)
    assert record.columns == ["epoch", "regions", "layer_1", "layer_norm", "layer_", "status", "seconds", "problem"]
    assert record.plot().get_xlabel() == "epoch"
    for name in ("regions", "layer_1", "epoch", "problem"):
        with pytest.raises(al.AffineLensError, match="of its own"):
            al.track(al.Box(-1, 1, dim=1), metrics={name: len})
