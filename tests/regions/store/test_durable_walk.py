"""A walk that was stopped or killed goes on from its run directory, and its regions are those of one that was not."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import affinelens as al
from affinelens.engine import choice, vertex
from affinelens.regions.store import shards as shard_files
from affinelens.restrict import subdivision
from support.piecewise_walk import NAME, Piecewise
from support.random_networks import random_layers

LAYERS = random_layers([2, 7, 6, 2], seed=3)
FEW = random_layers([2, 5, 3, 2], seed=3)
BOX = al.Box(-1, 1, dim=2)
ASKED = {"engine": NAME, "workers": 1}


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> Piecewise:
    found = Piecewise()
    monkeypatch.setattr(choice, "ENGINES", (found, *choice.ENGINES))
    monkeypatch.setattr(choice, "ENGINE_NAMES", (*choice.ENGINE_NAMES, NAME))
    return found


@pytest.fixture(autouse=True)
def quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def killed_at(step: int) -> Callable[[int], None]:
    def kill(now: int) -> None:
        if now == step:
            raise Killed

    return kill


def walk_and_die(engine: Piecewise, step: int, run: Path, layers: Any = LAYERS, **options: Any) -> None:
    engine.before_step = killed_at(step)
    with pytest.raises(Killed):
        al.enumerate(layers, BOX, run=run, **(ASKED | options))
    engine.before_step = lambda step: None


def columns(rs: al.RegionSet) -> dict[str, bytes]:
    found = {
        "points": rs.points, "patterns": rs.patterns, "facets": rs.facet_values, "signs": rs.facet_signs,
        "offsets": rs.facet_offsets,
    }  # fmt: skip
    return {name: values.tobytes() for name, values in found.items()}


@pytest.fixture(scope="module")
def whole() -> al.RegionSet:
    return al.enumerate(LAYERS, BOX, engine="vertex", workers=1)


def files(run: Path) -> set[str]:
    return {file.name for file in run.iterdir()}


def manifest(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "manifest.json").read_text())
    return found


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(al.AffineLensError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


# There and on


def test_a_run_that_was_not_disturbed_is_the_walk(whole: al.RegionSet, tmp_path: Path) -> None:
    rs = al.enumerate(LAYERS, BOX, run=tmp_path / "run", **ASKED)
    assert columns(rs) == columns(al.load(tmp_path / "run")) == columns(whole)
    assert manifest(tmp_path / "run")["status"] == "COMPLETE"
    assert manifest(tmp_path / "run")["open_work"] == []
    assert "writing.lock" not in files(tmp_path / "run")
    assert {file.name for file in tmp_path.iterdir()} == {"run"}


@pytest.mark.parametrize("step", range(12))
def test_a_killed_walk_is_what_its_last_checkpoint_says_and_goes_on(
    step: int, whole: al.RegionSet, engine: Piecewise, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, step, run)
    found = al.load(run)
    assert found.status is al.Status.UNFINISHED
    assert len(found) == manifest(run)["regions"]
    assert (len(found) > 0) == (step >= 2)
    assert found.share == pytest.approx(len(found) / len(whole))
    assert columns(al.resume(run)) == columns(al.load(run)) == columns(whole)
    again = al.load(run)
    assert (again.status, again.layer_counts[-1], again.certificate.decisions) == (
        al.Status.COMPLETE, len(whole), len(whole),
    )  # fmt: skip


def test_a_walk_killed_again_and_again_ends_complete(
    whole: al.RegionSet, engine: Piecewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_files, "SHARD_ROWS", 5)
    run, sittings = tmp_path / "run", 0
    generator = np.random.default_rng(0)
    while True:
        sittings += 1
        engine.before_step = killed_at(int(generator.integers(2, 6)))
        try:
            rs = al.enumerate(LAYERS, BOX, run=run, resume=True, **ASKED)
        except Killed:
            continue
        break
    assert sittings > 3
    assert columns(rs) == columns(whole)
    assert files(run) == {"manifest.json", "manifest.previous.json", "network.npz"} | {
        shard["file"] for shard in manifest(run)["shards"]
    }
    assert all(shard["rows"] <= 5 + 2 for shard in manifest(run)["shards"])


def test_a_run_holds_what_it_takes_to_go_on_from_its_first_moment(engine: Piecewise, tmp_path: Path) -> None:
    walk_and_die(engine, 0, tmp_path / "run")
    assert manifest(tmp_path / "run")["open_work"] == [{"engine": "", "place": [], "state": None}]
    found = al.load(tmp_path / "run")
    assert (len(found), found.share, found.status) == (0, 0.0, al.Status.UNFINISHED)
    assert found.points.shape == (0, 2)


def test_limits_are_of_all_sittings_or_of_one(whole: al.RegionSet, tmp_path: Path) -> None:
    run = tmp_path / "run"
    rs = al.enumerate(LAYERS, BOX, run=run, max_regions=7, **ASKED)
    assert (len(rs), rs.status) == (7, al.Status.REGION_LIMIT)
    rs = al.resume(run, max_regions=20)
    assert isinstance(rs, al.RegionSet)
    assert (len(rs), rs.status, rs.options["max_regions"]) == (20, al.Status.REGION_LIMIT, 20)
    before = manifest(run)
    rs = al.resume(run, max_regions=20)
    assert (len(rs), rs.status) == (20, al.Status.REGION_LIMIT)
    assert manifest(run) == before
    rs = al.enumerate(LAYERS, BOX, run=run, resume=True, workers=2, time_limit=100, engine=NAME)
    assert columns(rs) == columns(whole)
    assert rs.seconds >= 1.5


def test_a_complete_run_is_returned(tmp_path: Path, engine: Piecewise) -> None:
    rs = al.enumerate(LAYERS, BOX, run=tmp_path / "run", **ASKED)
    before = manifest(tmp_path / "run")
    engine.before_step = killed_at(0)
    for again in (al.resume(tmp_path / "run"), al.enumerate(LAYERS, BOX, run=tmp_path / "run", resume=True, **ASKED)):
        assert isinstance(again, al.RegionSet)
        assert columns(again) == columns(rs)
    assert manifest(tmp_path / "run") == before


def test_progress_is_of_all_sittings(tmp_path: Path, engine: Piecewise) -> None:
    walk_and_die(engine, 4, tmp_path / "run")
    seen: list[al.Progress] = []
    before = manifest(tmp_path / "run")["regions"]

    class Telling(Piecewise):
        def walk(self, request: Any, *rest: Any) -> Any:
            request.progress(al.Progress(5, (5, 5), 1.0, share=0.25))
            request.progress(al.Progress(0, (), 1.0, "compiling"))
            return super().walk(request, *rest)

    engine.__class__ = Telling
    al.resume(tmp_path / "run", progress=seen.append)
    assert (seen[0].regions, seen[0].seconds) == (before + 5, 1.5)
    assert seen[0].share is not None
    assert seen[0].share > 0.25
    assert seen[1].note == "compiling"


@pytest.mark.parametrize("vertices", [False, True])
@pytest.mark.parametrize("domain", [BOX, al.Slice([0, 0], [[1, 1]], al.Box(-1, 1, dim=1))], ids=["box", "slice"])
def test_domains_and_geometry_are_taken_up_again(
    domain: al.Domain, vertices: bool, engine: Piecewise, tmp_path: Path
) -> None:
    options = {"vertices": vertices, "facets": vertices, "cut_outputs": True}
    alone = al.enumerate(LAYERS, domain, engine="vertex", workers=1, **options)
    engine.before_step = killed_at(2)
    with pytest.raises(Killed):
        al.enumerate(LAYERS, domain, run=tmp_path / "run", **ASKED, **options)
    engine.before_step = lambda step: None
    rs = al.resume(tmp_path / "run")
    assert isinstance(rs, al.RegionSet)
    assert rs.patterns.tobytes() == alone.patterns.tobytes()
    if vertices:
        assert rs.vertex_values.tobytes() == alone.vertex_values.tobytes()
        assert rs.facet_values.tobytes() == alone.facet_values.tobytes()


@pytest.mark.parametrize("kind", ["restricted", "subdomains"])
def test_a_restricted_network_is_walked_on_as_it_was(
    kind: str, engine: Piecewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)
    if kind == "subdomains":
        monkeypatch.setattr(subdivision, "_MANY_SWITCHING", 4)
    layers, box = random_layers([2, 20, 16, 2], seed=3), al.Box(0.1, 0.6, dim=2)
    alone = al.enumerate(layers, box, engine="vertex", workers=1)
    assert len(alone.switching) < alone.patterns.shape[1]
    engine.before_step = killed_at(2)
    with pytest.raises(Killed):
        al.enumerate(layers, box, run=tmp_path / "run", **ASKED)
    engine.before_step = lambda step: None
    monkeypatch.setattr(choice, "restrict", lambda *_: pytest.fail("it was restricted again"))
    assert 0 < len(al.load(tmp_path / "run")) < len(alone)
    rs = al.resume(tmp_path / "run")
    assert columns(rs) == columns(alone)
    np.testing.assert_array_equal(rs.switching, alone.switching)


def test_counts_go_on(whole: al.RegionSet, engine: Piecewise, tmp_path: Path) -> None:
    run = tmp_path / "run"
    engine.before_step = killed_at(5)
    with pytest.raises(Killed):
        al.count(LAYERS, BOX, run=run, **ASKED)
    engine.before_step = lambda step: None
    found = manifest(run)["regions"]
    assert 0 < found < 20
    assert f"holds a count and no regions: at least {found} of them, incomplete" in refused(lambda: al.load(run))
    with pytest.raises(al.IncompleteError, match="go on with: affinelens resume") as stopped:
        al.resume(run, max_regions=20)
    assert stopped.value.regions == 20
    assert al.count(LAYERS, BOX, run=run, resume=True, **ASKED) == len(whole)
    assert al.resume(run) == len(whole)
    assert f"no regions: {len(whole)} of them, complete" in refused(lambda: al.load(run))
    assert not list(run.glob("*.parquet"))


def test_a_count_that_went_beyond_its_limit_goes_on_from_its_last_checkpoint(
    whole: al.RegionSet, engine: Piecewise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Piecewise.walk
    monkeypatch.setattr(
        Piecewise, "walk", lambda self, *asked: replace(plain(self, *asked), open_work=None, share=None)
    )
    with pytest.raises(al.IncompleteError) as stopped:
        al.count(LAYERS, BOX, run=tmp_path / "run", max_regions=20, **ASKED)
    assert stopped.value.regions == 20
    monkeypatch.setattr(Piecewise, "walk", plain)
    assert al.resume(tmp_path / "run") == len(whole)


# Refused


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": random_layers([2, 7, 6, 2], seed=4)}, "another model"),
        ({"domain": al.Box(-1, 2, dim=2)}, "another domain: Box"),
        ({"facets": False}, "begun with facets=True"),
        ({"vertices": True}, "begun without vertices=True"),
        ({"cut_outputs": True}, "begun without cut_outputs=True"),
        ({"engine": "vertex"}, "begun with engine='piecewise', not engine='vertex'"),
        ({"engine": "auto"}, "begun with engine='piecewise', not engine='auto'"),
    ],
)
def test_other_options_are_refused_by_name(
    change: dict[str, Any], words: str, engine: Piecewise, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, 4, run)
    before = {file: (run / file).read_bytes() for file in files(run)}
    given = {"model": LAYERS, "domain": BOX, **ASKED} | change
    model, domain = given.pop("model"), given.pop("domain")
    assert words in refused(lambda: al.enumerate(model, domain, run=run, resume=True, **given))
    assert {file: (run / file).read_bytes() for file in files(run)} | {"writing.lock": b""} == before | {
        "writing.lock": b""
    }


def test_a_count_and_regions_do_not_go_on_with_each_other(engine: Piecewise, tmp_path: Path) -> None:
    walk_and_die(engine, 4, tmp_path / "run")
    sentence = refused(lambda: al.count(LAYERS, BOX, run=tmp_path / "run", resume=True, **ASKED))
    assert "it holds regions, and a count cannot go on with it" in sentence


def test_what_a_run_chosen_freely_was_walked_by_may_be_named(tmp_path: Path) -> None:
    rs = al.enumerate(LAYERS, BOX, run=tmp_path / "run")
    assert len(al.enumerate(LAYERS, BOX, run=tmp_path / "run", resume=True, engine="vertex")) == len(rs)


def test_options_that_make_no_sense_together(tmp_path: Path) -> None:
    assert "give one of them" in refused(lambda: al.enumerate(LAYERS, BOX, run=tmp_path, resume=True, overwrite=True))
    assert "resume=True is about a run directory" in refused(lambda: al.enumerate(LAYERS, BOX, resume=True))
    assert "overwrite=True is about a run directory" in refused(lambda: al.count(LAYERS, BOX, overwrite=True))
    assert "there is no run to go on with" in refused(lambda: al.resume(tmp_path / "none"))


def test_runs_that_do_not_say_what_is_left_are_not_gone_on_with(tmp_path: Path) -> None:
    al.enumerate(LAYERS, BOX, max_regions=7, workers=1).save(tmp_path / "run")
    assert "does not say what is left to do" in refused(lambda: al.resume(tmp_path / "run"))


def test_what_is_refused_leaves_everything_as_it_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    refused(lambda: al.enumerate(LAYERS, BOX, engine="linear_program", vertices=True, run=run))
    assert not run.exists()
    al.enumerate(LAYERS, BOX, run=run, **ASKED)
    before = manifest(run)
    refused(lambda: al.enumerate(LAYERS, BOX, engine="linear_program", vertices=True, run=run, overwrite=True))
    assert manifest(run) == before
    assert {file.name for file in tmp_path.iterdir()} == {"run"}


# Two at once


def test_a_second_writer_is_refused(engine: Piecewise, tmp_path: Path) -> None:
    run = tmp_path / "run"
    sentences = []

    def others(step: int) -> None:
        if step == 3:
            tries: list[Callable[[], object]] = [
                lambda: al.resume(run),
                lambda: al.enumerate(LAYERS, BOX, run=run, resume=True, **ASKED),
                lambda: al.enumerate(LAYERS, BOX, run=run, overwrite=True, **ASKED),
                lambda: al.count(LAYERS, BOX, run=run, overwrite=True, **ASKED),
                lambda: al.enumerate(LAYERS, BOX, engine="vertex").save(run, overwrite=True),
            ]
            sentences.extend(map(refused, tries))
            assert al.load(run).status is al.Status.UNFINISHED

    engine.before_step = others
    rs = al.enumerate(LAYERS, BOX, run=run, **ASKED)
    assert rs.status is al.Status.COMPLETE
    assert len(sentences) == 5
    assert all("another process is writing there" in sentence for sentence in sentences)


# Damage


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def alter(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def empty(file: Path) -> None:
    file.write_bytes(b"")


def remove(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize("target", ["manifest", "shard"])
@pytest.mark.parametrize("damage", [shorten, alter, empty, remove])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    target: str, damage: Callable[[Path], None], whole: al.RegionSet, engine: Piecewise, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, 6, run)
    last = run / manifest(run)["shards"][-1]["file"]
    before = json.loads((run / "manifest.previous.json").read_text())["regions"]
    damage(run / "manifest.json" if target == "manifest" else last)
    with pytest.warns(al.AffineLensWarning, match="the last checkpoint is damaged .* the one before it was read"):
        found = al.load(run)
    assert (len(found), found.status) == (before, al.Status.UNFINISHED)
    assert "last checkpoint is damaged" in found.summary()["note"]
    assert found[2:4].note == found.note
    with pytest.warns(al.AffineLensWarning, match="the one before it was read"):
        rs = al.resume(run)
    assert columns(rs) == columns(al.load(run)) == columns(whole)
    assert al.load(run).note == ""


def test_a_fallback_survives_being_killed_at_once(whole: al.RegionSet, engine: Piecewise, tmp_path: Path) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, 6, run)
    empty(run / "manifest.json")
    engine.before_step = killed_at(0)
    with pytest.raises(Killed), pytest.warns(al.AffineLensWarning):
        al.resume(run)
    engine.before_step = lambda step: None
    empty(run / "manifest.json")
    with pytest.warns(al.AffineLensWarning, match="the one before"):
        assert columns(al.resume(run)) == columns(whole)


@pytest.mark.parametrize("damage", [shorten, alter, empty, remove])
def test_damage_that_both_checkpoints_have_is_refused(
    damage: Callable[[Path], None], engine: Piecewise, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, 6, run)
    damage(run / manifest(run)["shards"][0]["file"])
    assert "damaged run" in refused(lambda: al.load(run))
    assert "damaged run" in refused(lambda: al.resume(run))


def test_a_run_of_a_later_version_is_not_read_as_it_was_before(engine: Piecewise, tmp_path: Path) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, 6, run)
    (run / "manifest.json").write_text(json.dumps(manifest(run) | {"format_version": 3}))
    assert "format version 3" in refused(lambda: al.load(run))
    assert "format version 3" in refused(lambda: al.resume(run))


def test_files_that_no_checkpoint_names_go_when_the_walk_goes_on(engine: Piecewise, tmp_path: Path) -> None:
    run = tmp_path / "run"
    walk_and_die(engine, 4, run)
    (run / "regions-00077.parquet").write_bytes(b"half of something")
    al.load(run)
    assert (run / "regions-00077.parquet").exists()
    al.resume(run)
    assert not (run / "regions-00077.parquet").exists()


# A full disk


class FullDisk:
    """The given number of writes succeed, then the disk is full."""

    def __init__(self, patch: pytest.MonkeyPatch, writes: int) -> None:
        self.left = writes
        for owner, name in (
            (os, "fsync"), (os, "replace"), (os, "link"), (pq.ParquetWriter, "write_table"), (np, "savez"),
            (pq.ParquetWriter, "close"), (Path, "write_bytes"), (Path, "rename"), (Path, "replace"), (Path, "chmod"),
        ):  # fmt: skip
            patch.setattr(owner, name, self._limited(getattr(owner, name)))

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def write(*arguments: Any, **options: Any) -> Any:
            if self.left <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self.left -= 1
            return function(*arguments, **options)

        return write


def whether_full(walk: Callable[[], object], writes: int, words: str) -> bool:
    """Whether the disk is full after so many writes of a walk, which says so then in a sentence with these words."""
    with pytest.MonkeyPatch.context() as patch:
        disk = FullDisk(patch, writes)
        try:
            walk()
        except al.AffineLensError as error:
            sentence = str(error)
        else:
            return disk.left == 0
    assert "No space left" in sentence
    assert words in sentence
    assert "\n" not in sentence
    return True


def test_a_disk_that_fills_up_at_any_moment_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    alone = al.enumerate(FEW, BOX, engine="vertex", workers=1)
    expected = columns(alone)
    writes, run = 0, tmp_path / "run"
    while whether_full(lambda: al.enumerate(FEW, BOX, run=run, **ASKED), writes, "free some space"):
        writes += 1
        if run.exists():
            found = al.load(run)
            assert "writing.lock" not in files(run)
            assert len(found) <= len(alone)
            assert columns(al.resume(run)) == expected
            shutil.rmtree(run)
        assert not list(tmp_path.iterdir())
    assert writes > 50


def test_a_disk_that_fills_up_when_going_on(engine: Piecewise, tmp_path: Path) -> None:
    expected = columns(al.enumerate(FEW, BOX, engine="vertex", workers=1))
    writes, run = 0, tmp_path / "run"
    walk_and_die(engine, 4, run, FEW)
    before = manifest(run)["regions"]
    while whether_full(lambda: al.resume(run), writes, "are kept: free some space, then go on with: affinelens resume"):
        writes += 1
        assert before <= len(al.load(run))
        assert columns(al.resume(run)) == expected
        shutil.rmtree(run)
        walk_and_die(engine, 4, run, FEW)
    assert writes > 20


def test_replacing_a_run_when_the_disk_is_full_keeps_one_of_them(tmp_path: Path) -> None:
    alone = al.enumerate(FEW, BOX, engine="vertex")
    small = al.enumerate([([[1.0, 1.0]], [0.0]), ([[1.0]], [0.0])], BOX, engine="vertex")
    writes, run = 0, tmp_path / "run"
    small.save(run)
    while whether_full(lambda: al.enumerate(FEW, BOX, run=run, overwrite=True, **ASKED), writes, "free some space"):
        writes += 1
        (found,) = [file.parent for file in tmp_path.rglob("manifest.json")]  # not even renaming works any more
        assert len(al.load(found)) in (2, len(alone)) or al.load(found).status is al.Status.UNFINISHED
        for folder in tmp_path.iterdir():
            shutil.rmtree(folder)
        small.save(run)
    assert writes > 20
