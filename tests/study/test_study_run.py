"""Studies from beginning to end, shrunk: every promised file, the same again, stopped and gone on with."""

from __future__ import annotations

import csv
import errno
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

import affinelens as al
from affinelens.study import names, side_by_side, study_directory
from affinelens.study.study_run import STUDIES, StudyProgress, find
from support.studies import SMALL, rows, run

FIGURES = {"activation": ("activation", "activation_surfaces")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of the width that was finished; to be read only."""
    place = tmp_path_factory.mktemp("studies") / "width"
    run("width", place)
    return place


@pytest.fixture
def finished(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(whole, tmp_path / "s"))


def test_every_study_is_shrunk_here_or_has_tests_of_its_own() -> None:
    assert set(SMALL) <= set(names()) == set(STUDIES)


@pytest.mark.parametrize("name", SMALL)
def test_a_study_leaves_every_promised_file(name: str, tmp_path: Path) -> None:
    place = tmp_path / name
    report = run(name, place)
    assert report == place / "report.md"
    configurations = al.study.setup.changed(find(name)(), SMALL[name]).configurations(None)
    table = rows(place)
    epochs = json.loads((place / "config.json").read_text())["setup"]["epochs"]
    assert len(table) == len(configurations) * 2 * len(epochs)
    with (place / "table.csv").open() as stream:
        assert [int(row["regions"]) for row in csv.DictReader(stream)] == [row["regions"] for row in table]
    assert len(list(place.glob("runs/*/epoch-*.safetensors"))) == len(table)
    text = report.read_text()
    for figure in FIGURES.get(name, (name,)):
        assert (place / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (place / f"{figure}.svg").read_text()
        assert f"({figure}.png)" in text
    assert find(name).source in text
    assert "This is not the full study; otherwise than there: epochs" in text
    assert "olds**" in text or "hold**" in text


def test_counts_are_those_of_the_saved_networks(whole: Path) -> None:
    for row in rows(whole):
        folder = f"dimension-{row['dimension']}_width-{row['width']}_seed-{row['seed']}"
        snapshot = whole / "runs" / folder / "epoch-2.safetensors"
        assert al.count(snapshot, al.Box(-1, 1, dim=row["dimension"])) == row["regions"]


def test_the_same_again_and_in_several_processes(tmp_path: Path) -> None:
    told: list[StudyProgress] = []
    run("layers", tmp_path / "one")
    run("layers", tmp_path / "two", workers=2, progress=told.append)
    assert rows(tmp_path / "one") == rows(tmp_path / "two")
    assert (told[-1].runs, told[-1].epochs) == (told[-1].all_runs, told[-1].all_epochs) == (4, 8)
    assert len({json.dumps(row["loss"]) for row in rows(tmp_path / "one")}) == 8


def test_the_same_on_an_executor(whole: Path, tmp_path: Path) -> None:
    """Also in threads of one process, which share their random state."""
    told: list[StudyProgress] = []
    with ThreadPoolExecutor(3) as executor:
        run("width", tmp_path / "elsewhere", executor=executor, progress=told.append)
    assert rows(tmp_path / "elsewhere") == rows(whole)
    assert told[-1].runs == told[-1].all_runs


def test_a_stopped_study_goes_on_and_ends_the_same(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def perform(task, after_epoch) -> None:
        if len(done) == 2:
            raise KeyboardInterrupt
        genuine(task, after_epoch)
        done.append(task)

    genuine = side_by_side.perform
    monkeypatch.setattr(side_by_side, "perform", perform)
    with pytest.raises(KeyboardInterrupt):
        run("width", tmp_path / "parts")
    restricted = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("runs/*/rows.json")}
    assert len(restricted) == 4
    monkeypatch.setattr(side_by_side, "perform", genuine)
    run("width", tmp_path / "parts", resume=True)
    assert rows(tmp_path / "parts") == rows(whole)
    assert {path: path.stat().st_mtime_ns for path in restricted} == restricted
    assert len(list((tmp_path / "parts" / "runs").iterdir())) == 8


def test_a_full_disk_loses_nothing(finished: Path) -> None:
    place, before = finished, rows(finished)
    for path in place.glob("runs/dimension-3_*"):
        shutil.rmtree(path)
    with pytest.MonkeyPatch.context() as full:
        full.setattr(study_directory.tempfile, "mkdtemp", _full_disk)
        with pytest.raises(al.AffineLensError, match=r"No space left on device.*--resume"):
            run("width", place, resume=True)
    run("width", place, resume=True)
    assert rows(place) == before


def _full_disk(**options: object) -> str:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_going_on_with_other_options_names_the_difference(finished: Path) -> None:
    for options, difference in (
        ({"epochs": 3}, "was begun with epochs 2, but now epochs is 3"),
        ({"seeds": 3}, "was begun with seeds 2, but now seeds is 3"),
        ({"shuffle": False}, "was begun with shuffle yes, but now shuffle is no"),
        ({"model": _own_network}, "but now model is .*_own_network"),
    ):
        with pytest.raises(al.AffineLensError, match=difference):
            run("width", finished, resume=True, **options)
    with pytest.raises(al.AffineLensError, match="was begun with study width, but now study is layers"):
        run("layers", finished, resume=True)
    with pytest.raises(al.AffineLensError, match="already holds a study; go on with it"):
        run("width", finished)


def _own_network(configuration) -> torch.nn.Module:
    size = configuration.labels["dimension"]
    return torch.nn.Sequential(torch.nn.Linear(size, 3), torch.nn.Hardtanh(), torch.nn.Linear(3, 2))


def test_a_network_of_ones_own(tmp_path: Path) -> None:
    run("width", tmp_path / "s", model=_own_network)
    table = rows(tmp_path / "s")
    in_plane = [row["regions"] for row in table if row["dimension"] == 2]
    assert all(1 <= count <= 22 for count in in_plane)  # six lines make at most 1 + 6 + 15 regions
    assert "_own_network" in (tmp_path / "s" / "config.json").read_text()
    assert "_own_network" in (tmp_path / "s" / "report.md").read_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"seeds": 0}, "seeds must be a whole number of at least 1"),
        ({"workers": 0}, "workers must be a whole number of at least 1"),
        ({"data": "images"}, "makes its own data; leave data"),
        ({"model": lambda configuration: torch.nn.ReLU()}, "without parameters"),
        ({"model": lambda configuration: torch.nn.Linear(7, 2)}, r"cannot take inputs of shape \(3,\) \(.*7"),
        (
            {"model": lambda configuration: torch.nn.LazyLinear(1)},
            r"2 inputs have shape \(2, 1\).*\(2, 2\)",
        ),
        ({"model": lambda configuration: 3}, "width-4: model must return a torch.nn.Module, but returned int"),
        ({"model": lambda configuration: 3, "workers": 2}, "cannot be sent to other processes"),
        ({"learning_rate": 1e30}, "dimension-3_width-4: .*(not finite|nan|inf|number)"),
    ],
)
def test_bad_input_is_a_sentence(options: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(al.AffineLensError, match=sentence):
        run("width", tmp_path / "s", **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"samples": 33}, "leave a batch of one, which batch norm cannot take; choose another batch_size"),
        ({"batch_size": 1}, "leave a batch of one"),
        ({"samples": 3}, "two moons need at least 4 samples, but got 3"),
    ],
)
def test_too_few_samples(options: dict[str, object], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(al.AffineLensError, match=sentence):
        run("residual", tmp_path / "s", **options)


def test_an_unknown_study() -> None:
    with pytest.raises(al.AffineLensError, match="there is no study 'wdith'; take one of width, depth"):
        al.study.run("wdith", "nowhere")


def test_a_directory_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(al.AffineLensError, match="holds something other than a study"):
        run("width", tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", '[{"regions": "many"}]', "[{}]", '{"regions": 3}'])
def test_a_damaged_run_is_named(text: str, finished: Path) -> None:
    damaged = finished / "runs" / "dimension-2_width-4_seed-1"
    (damaged / "rows.json").write_text(text)
    with pytest.raises(al.AffineLensError, match="dimension-2_width-4_seed-1: damaged; remove that folder"):
        run("width", finished, resume=True)


def test_without_torch_the_fix_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("affinelens.study.study_run.find_spec", lambda package: None)
    with pytest.raises(al.MissingExtraError, match=r"needs torch.*pip install 'affinelens\[study\]'"):
        run("width", tmp_path / "s")
