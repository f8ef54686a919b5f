"""Tracking a training: counts as of a full compile at every epoch, nothing disturbed, and records that last."""

from __future__ import annotations

import csv
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import affinelens as al
from affinelens.track import measuring_process
from affinelens.track.measurement import Measurement

BOX = al.Box(-1, 1, dim=2)


def classifier(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.LeakyReLU(0.1), nn.Linear(8, 2)
    )


def layers(bend: float) -> list[tuple[list[list[float]], list[float]]]:
    """On [-1, 1], two regions and a third where ``bend`` is between 0 and 1."""
    return [([[1.0], [1.0]], [0.0, -bend]), ([[1.0, 1.0]], [0.0])]


def trained(module: nn.Module, epochs: int, after_epoch: Any) -> list[torch.Tensor]:
    """The parameters after some epochs of training that draws random batches and drops nothing."""
    generator = torch.Generator().manual_seed(1)
    points = torch.rand(64, 2, generator=generator) * 2 - 1
    labels = (points.norm(dim=1) < 0.7).long()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    torch.manual_seed(2)
    for epoch in range(epochs):
        for batch in torch.randperm(64).split(16):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(points[batch]), labels[batch]).backward()
            optimizer.step()
        after_epoch(module, epoch)
    return [parameter.detach().clone() for parameter in module.parameters()]


def test_counts_are_those_of_compiling_in_full_at_every_epoch() -> None:
    tracker = al.track(BOX)
    expected = []

    def after_epoch(module: nn.Module, epoch: int) -> None:
        tracker(module, epoch)
        regions = al.enumerate(module, BOX)
        expected.append((epoch, len(regions), *regions.layer_counts))

    trained(classifier(), 4, after_epoch)
    found = [(row["epoch"], row["regions"], row["layer_1"], row["layer_2"]) for row in tracker.table]
    assert found == expected
    assert len({regions for _, regions, *_ in expected}) > 1
    assert [len(snapshot.regions()) for snapshot in tracker.snapshots] == [regions for _, regions, *_ in expected]
    assert all(row["status"] == "COMPLETE" and row["problem"] == "" for row in tracker.table)


def test_counts_are_the_same_from_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring_process, "_FIRST_MEASURED_HERE", 0)
    module = classifier()
    tracker = al.track(BOX)
    for epoch in (0, 1):
        tracker(module, epoch)
    tracker.wait()
    while not tracker._process.is_ready:
        time.sleep(0.05)
    with monkeypatch.context() as patch:
        patch.setattr(Measurement, "row", None)  # here nothing is measured from now on
        digests = [al.network(module).digest]
        trained(
            module, 3, lambda module, epoch: (tracker(module, epoch + 2), digests.append(al.network(module).digest))
        )
        rows = tracker.table
    assert [snapshot.network.digest for snapshot in tracker.snapshots] == [digests[0], *digests]
    expected = [snapshot.regions().layer_counts for snapshot in tracker.snapshots]
    assert [(row["layer_1"], row["layer_2"]) for row in rows] == expected
    assert [row["regions"] for row in rows] == [counts[-1] for counts in expected]
    assert len(set(expected)) > 1


def test_training_is_the_same_with_and_without() -> None:
    tracker = al.track(BOX, every=2)
    with_tracker = trained(classifier(), 5, tracker)
    without = trained(classifier(), 5, lambda module, epoch: None)
    assert all(torch.equal(a, b) for a, b in zip(with_tracker, without, strict=True))
    assert [row["epoch"] for row in tracker.table] == [0, 2, 4]


def test_snapshots_keep_the_model_of_their_step() -> None:
    module = classifier()
    tracker = al.track(BOX, unit="step", keep=(10, 30))
    digests = {}
    for step in (0, 10, 20, 30):
        tracker(module, step)
        digests[step] = al.network(module).digest
        with torch.no_grad():
            module[0].weight.add_(0.3)
    assert [(snapshot.step, snapshot.label) for snapshot in tracker.snapshots] == [(10, "step 10"), (30, "step 30")]
    assert [snapshot.network.digest for snapshot in tracker.snapshots] == [digests[10], digests[30]]
    assert [snapshot.regions().network.digest for snapshot in tracker.snapshots] == [digests[10], digests[30]]


def test_which_steps_are_measured() -> None:
    every, chosen = al.track(al.Box(-1, 1, dim=1), every=3), al.track(al.Box(-1, 1, dim=1), every={1, 5})
    for tracker in (every, chosen):
        for step in range(7):
            tracker(layers(0.5), np.int64(step))
    assert [row["epoch"] for row in every.table] == [0, 3, 6]
    assert [row["epoch"] for row in chosen.table] == [1, 5]
    every(layers(2.0), 3)
    assert [(row["epoch"], row["regions"]) for row in every.table] == [(0, 3), (3, 2), (6, 3)]


def test_metrics_by_name_and_by_function(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"regions": 3, "largest": 0.5, "smallest": 0.25}
    monkeypatch.setattr(al.RegionSet, "metrics", lambda regions: known, raising=False)
    box = al.Box(-1, 1, dim=1)
    rows = []
    for metrics in (True, ["smallest"], {"points": lambda regions: np.float64(len(regions.points))}):
        tracker = al.track(box, metrics=metrics)
        tracker(layers(0.5), 0)
        rows += tracker.table
    assert (rows[0]["largest"], rows[0]["smallest"]) == (0.5, 0.25)
    assert (rows[1]["smallest"], "largest" in rows[1]) == (0.25, False)
    assert rows[2]["points"] == 3.0
    with pytest.raises(al.AffineLensError, match="no metric 'size'; there are regions, largest, smallest"):
        al.track(box, metrics=["size"])(layers(0.5), 0)


def test_what_is_wrong_is_said_before_training() -> None:
    with pytest.raises(al.AffineLensError, match="must be a Box, a Polytope or a Slice"):
        al.track([(-1, 1)])  # type: ignore[arg-type]
    tracker = al.track(al.Box(-1, 1, dim=3), every=100)
    with pytest.raises(al.AffineLensError, match="takes 2 inputs but the domain has 3"):
        tracker(classifier(), 1)
    curved = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2))
    with pytest.raises(al.AffineLensError, match="not piecewise affine"):
        al.track(BOX)(curved, 0)
    with pytest.raises(al.AffineLensError, match="metric 'one' returned 'x'; it must return a number"):
        al.track(BOX, metrics={"one": lambda regions: "x"})(classifier(), 0)  # type: ignore[dict-item, return-value]
    with pytest.raises(al.AffineLensError, match=r"metric 'one' failed \(ZeroDivisionError"):
        al.track(BOX, metrics={"one": lambda regions: 1 / 0})(classifier(), 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"every": 0}, "every must be a whole number of at least 1"),
        ({"every": True}, "every must be a whole number of at least 1"),
        ({"every": [1, -1]}, "every must be a whole number of at least 1"),
        ({"keep": 2.5}, "keep must be a whole number of at least 1"),
        ({"metrics": "volume"}, "metrics must be True, a list of names"),
        ({"metrics": {"volume": 3}}, "metrics must be True, a list of names"),
        ({"unit": "two words"}, "unit must be a word"),
        ({"engine": "fast"}, "there is no engine 'fast'"),
        ({"time_limit": -1}, "time_limit must be"),
    ],
)
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(al.AffineLensError, match=message):
        al.track(BOX, **options)


def test_steps_are_checked() -> None:
    with pytest.raises(al.AffineLensError, match=r"step must be a whole number of at least 0, but got 1\.5"):
        al.track(BOX)(classifier(), 1.5)  # type: ignore[arg-type]


def test_a_later_problem_is_a_row_and_training_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    module = classifier()
    tracker = al.track(BOX, max_regions=500)
    tracker(module, 0)
    saved = module[0].bias.detach().clone()
    with torch.no_grad():
        module[0].bias[0] = torch.nan
    with caplog.at_level(logging.WARNING, logger="affinelens"):
        tracker(module, 1)
    with torch.no_grad():
        module[0].bias.copy_(saved)
    tracker(module, 2)
    good, bad, mended = tracker.table
    assert good["regions"] == mended["regions"] == al.count(module, BOX)
    assert (bad["regions"], bad["status"]) == (None, "FAILED")
    assert "0.bias contains NaN" in bad["problem"]
    assert "epoch 1 could not be measured" in caplog.text


def test_a_partial_count_is_no_count() -> None:
    tracker = al.track(al.Box(-1, 1, dim=1), max_regions=2)
    tracker(layers(2.0), 0)
    tracker(layers(0.5), 1)
    first, second = tracker.table
    assert (first["regions"], first["status"]) == (2, "COMPLETE")
    assert (second["regions"], second["status"]) == (None, "REGION_LIMIT")
    assert "at least 2 regions exist" in second["problem"]
    with pytest.raises(al.AffineLensError, match="stopped at the limit of regions"):
        al.track(al.Box(-1, 1, dim=1), max_regions=2)(layers(0.5), 0)


def test_training_does_not_wait_for_a_measurement_and_the_table_does() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def slow(regions: al.RegionSet) -> float:
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            assert may_end.wait(30)
        return 1.0

    tracker = al.track(al.Box(-1, 1, dim=1), metrics={"slow": slow})
    tracker(layers(0.5), 0)
    tracker(layers(2.0), 1)
    assert begun.wait(30)
    threading.Timer(0.05, may_end.set).start()
    assert [(row["epoch"], row["regions"], row["slow"]) for row in tracker.table] == [(0, 3, 1.0), (1, 2, 1.0)]


def test_a_record_is_saved_and_read_again(tmp_path: Path) -> None:
    tracker = al.track(BOX, keep=[0, 2], unit="step")
    trained(classifier(), 3, tracker)
    place = tracker.save(tmp_path / "record")
    record = al.load_record(place)
    assert record.table == tracker.table
    assert (record.unit, repr(record.domain)) == ("step", repr(BOX))
    assert [snapshot.label for snapshot in record.snapshots] == ["step 0", "step 2"]
    for ours, theirs in zip(record.snapshots, tracker.snapshots, strict=True):
        assert ours.network.digest == theirs.network.digest
        assert np.array_equal(ours.regions().patterns, theirs.regions().patterns)
    with (place / "table.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [(int(row["step"]), int(row["regions"])) for row in rows] == [
        (row["step"], row["regions"]) for row in tracker.table
    ]
    assert tracker.to_pandas()["regions"].tolist() == [row["regions"] for row in tracker.table]
    assert len(al.load(place / "step-2")) == tracker.table[2]["regions"]
    with pytest.raises(al.AffineLensError, match="already holds a training record"):
        tracker.save(place)
    tracker.save(place, overwrite=True)
    assert not [path for path in tmp_path.iterdir() if path != place]


def test_a_record_is_drawn_over_its_steps(tmp_path: Path) -> None:
    tracker = al.track(BOX, metrics=["volume_max"], keep=False, unit="step")
    with pytest.raises(al.AffineLensError, match="nothing measured to draw; call the tracker with a model first"):
        tracker.plot()
    trained(classifier(), 3, tracker)
    record = al.load_record(tracker.save(tmp_path / "record"))
    for drawn in (tracker.plot(), record.plot()):
        assert drawn.get_xlabel() == "step"
        by_name = {line.get_label(): line.get_ydata().tolist() for line in drawn.lines}
        assert by_name["regions"] == [row["regions"] for row in tracker.table]
        assert by_name["after stage 1"] == [row["layer_1"] for row in tracker.table]
    [line] = record.plot(columns="volume_max").lines
    assert line.get_ydata().tolist() == [row["volume_max"] for row in tracker.table]
    with pytest.raises(al.AffineLensError, match="no column 'volume' with numbers; did you mean volume_max"):
        record.plot(columns=["seconds", "volume"])


def test_steps_that_could_not_be_measured_are_left_out_of_the_curves() -> None:
    tracker = al.track(al.Box(-1, 1, dim=1), max_regions=2)
    for step, bend in enumerate((2.0, -2.0, 0.5)):
        tracker(layers(bend), step)
    assert tracker.table[2]["regions"] is None
    assert tracker.plot().lines[-1].get_xdata().tolist() == [0, 1]


def test_a_record_never_replaces_something_else(tmp_path: Path) -> None:
    tracker = al.track(al.Box(-1, 1, dim=1))
    tracker(layers(0.5), 0)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("words")
    with pytest.raises(al.AffineLensError, match="something other than a training record"):
        tracker.save(tmp_path / "thesis", overwrite=True)
    with pytest.raises(al.AffineLensError, match="could not be written"):
        tracker.to_csv(tmp_path / "missing" / "table.csv")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "x"}, "not one that AffineLens"),
        ({"format_version": 9}, "format version 9"),
        ({"unit": "../x"}, "its steps are called"),
        ({"rows": [{"epoch": [1]}]}, "in the column"),
        ({"rows": [{"epoch": -1}]}, "-1 where a step belongs"),
        ({"snapshots": ["../../run"]}, "where a step belongs"),
        ({"snapshots": [7]}, "it has no run step-7"),
        ({"domain": {"kind": "cloud"}}, "kind 'cloud' is unknown"),
        ({"rows": None}, "of another kind"),
    ],
)
def test_damaged_records_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    tracker = al.track(al.Box(-1, 1, dim=1))
    tracker(layers(0.5), 0)
    file = tracker.save(tmp_path / "record") / "record.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    with pytest.raises(al.AffineLensError, match=f"record: damaged training record.*{message}"):
        al.load_record(tmp_path / "record")


def test_what_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(al.AffineLensError, match="not a training record"):
        al.load_record(tmp_path)
