"""A run directory gives back exactly what was saved, is written whole or not at all, and is read without trust."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import affinelens as al
from affinelens.regions.store import shards
from affinelens.regions.store.manifest import checksum
from support.random_networks import random_layers

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
SHARD = "regions-00000.parquet"
COLUMNS = ["points", "patterns", "facet_values", "facet_offsets"]
PIERCED = [
    ([[1.0, 0.5], [-1.0, 1.0], [0.25, 1.0]], [0.1, 0.2, -0.3]),
    ([[1.0, -2.0, 1.0], [1.0, 1.0, 1.0]], [0.0, -0.5]),
    ([[1.0, 1.0]], None),
]
# Breakpoints 1/3 and its float64 rounding: nothing that float64 can express lies between them.
THIN = [([[3.0], [1.0]], [-1.0, -1 / 3]), ([[1.0, 1.0]], [0.0])]


@pytest.fixture
def regions() -> al.RegionSet:
    return al.enumerate(PIERCED, al.Box(-1, 1, dim=2), workers=1)


@pytest.fixture
def run(regions: al.RegionSet, tmp_path: Path) -> Path:
    return regions.save(tmp_path / "run")


def assert_same(found: al.RegionSet, saved: al.RegionSet) -> None:
    for name in COLUMNS:
        column, expected = getattr(found, name), getattr(saved, name)
        assert column.dtype == expected.dtype, name
        np.testing.assert_array_equal(column, expected, err_msg=name)
    assert len(found) == len(saved)
    np.testing.assert_array_equal(found.facet_signs, saved.facet_signs)
    assert [region.exact_point for region in found] == [region.exact_point for region in saved]
    assert [region.facets for region in found] == [region.facets for region in saved]
    assert (found.status, found.certificate, found.layer_counts) == (
        saved.status,
        saved.certificate,
        saved.layer_counts,
    )
    assert (found.engine, found.seconds, found.options) == (saved.engine, saved.seconds, saved.options)
    assert found.network.digest == saved.network.digest
    assert found.domain.to_json() == saved.domain.to_json()
    assert found.to_arrow().equals(saved.to_arrow())


def tree(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(al.AffineLensError) as caught:
        call()
    sentence = str(caught.value)
    assert sentence
    assert "\n" not in sentence
    return sentence


# There and back


CASES: dict[str, Callable[[], al.RegionSet]] = {
    "box": lambda: al.enumerate(PIERCED, al.Box(-1, 1, dim=2), workers=1),
    "fixed input": lambda: al.enumerate(PIERCED, al.Box([-1, 0.25], [1, 0.25]), workers=1),
    "polytope": lambda: al.enumerate(
        PIERCED, al.Polytope([[1, 0], [0, 1], [-3, -1], [-1, -1]], [0.1, 0.2, 1, 5]), workers=1
    ),
    "irrational in float64": lambda: al.enumerate(
        PIERCED, al.Polytope([[3, 0], [-3, 0], [0, 1], [0, -7]], [-1, 1, 1, 1]), workers=1
    ),
    "thin": lambda: al.enumerate(THIN, al.Box(0, 1, dim=1), workers=1),
    "one region": lambda: al.enumerate([([[1.0, 2.0]], [0.0])], al.Box(-1, 1, dim=2), workers=1),
    "stopped": lambda: al.enumerate(PIERCED, al.Box(-1, 1, dim=2), workers=1, max_regions=3),
    "cut outputs": lambda: al.enumerate(PIERCED, al.Box(-1, 1, dim=2), workers=1, cut_outputs=True),
}


@pytest.mark.parametrize("case", CASES)
def test_load_gives_back_what_was_saved(case: str, tmp_path: Path) -> None:
    saved = CASES[case]()
    saved.save(tmp_path / "run")
    assert_same(al.load(tmp_path / "run"), saved)


def test_an_empty_set_is_saved_too(tmp_path: Path) -> None:
    layers = random_layers([3, 48, 48, 1], seed=0, bias=1)
    saved = al.enumerate(layers, al.Box(-1, 1, dim=3), engine="linear_program", workers=1, time_limit=1e-9)
    assert len(saved) == 0
    saved.save(tmp_path / "run")
    found = al.load(tmp_path / "run")
    assert_same(found, saved)
    assert found.locate([0, 0, 0]) == -1


def test_a_region_too_thin_for_float64_keeps_its_rational_point(tmp_path: Path) -> None:
    al.enumerate(THIN, al.Box(0, 1, dim=1), workers=1, run=tmp_path / "run")
    found = al.load(tmp_path / "run")
    assert len(found) == 3
    between = [region.exact_point[0] for region in found if Fraction(1 / 3) < region.exact_point[0] < Fraction(1, 3)]
    assert len(between) == 1
    assert Fraction(float(between[0])) != between[0]


def test_a_loaded_set_answers_like_the_saved_one(regions: al.RegionSet, run: Path) -> None:
    found = al.load(run)
    points = np.random.default_rng(1).uniform(-1.2, 1.2, size=(200, 2))
    np.testing.assert_array_equal(found.locate(points), regions.locate(points))
    for mine, theirs in zip(found, regions, strict=True):
        np.testing.assert_array_equal(mine.affine[0], theirs.affine[0])
        np.testing.assert_array_equal(mine.halfspaces[0], theirs.halfspaces[0])


def test_many_shards(regions: al.RegionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_ROWS", 4)
    regions.save(tmp_path / "run")
    assert len(list((tmp_path / "run").glob("*.parquet"))) == -(-len(regions) // 4) > 1
    assert_same(al.load(tmp_path / "run"), regions)


def test_a_run_can_be_moved_and_saved_again(regions: al.RegionSet, run: Path, tmp_path: Path) -> None:
    moved = run.rename(tmp_path / "elsewhere")
    assert_same(al.load(al.load(moved).save(tmp_path / "again")), regions)


def test_manifest_says_what_was_done(regions: al.RegionSet, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["model_sha256"] == al.network(PIERCED).digest
    assert len(manifest["model_sha256"]) == 64
    assert manifest["domain"] == {"kind": "box", "lower": [-1.0, -1.0], "upper": [1.0, 1.0]}
    options = {"engine": "auto", "workers": 1, "max_regions": None, "time_limit": None, "cut_outputs": False}
    assert options.items() <= manifest["options"].items()
    assert {"affinelens", "python", "numpy", "highspy", "python-flint", "pyarrow"} <= set(manifest["versions"])
    assert manifest["versions"]["affinelens"] == al.__version__
    assert (manifest["regions"], manifest["status"]) == (len(regions), "COMPLETE")


def test_nothing_is_pickled(run: Path) -> None:
    names = {path.name for path in run.iterdir()}
    assert names == {"manifest.json", "network.npz", SHARD}
    with np.load(run / "network.npz", allow_pickle=False) as archive:
        assert all(archive[name].dtype.kind in "fiu" for name in archive.files)
    for path in run.iterdir():
        content = path.read_bytes()
        assert not any(content.startswith(bytes([0x80, protocol])) for protocol in range(2, 6))
        assert b"numpy.core.multiarray" not in content
        assert b"pandas" not in content


def test_options_given_as_numpy_numbers_can_be_saved(tmp_path: Path) -> None:
    options = {"workers": np.int64(1), "max_regions": np.int32(3), "time_limit": np.float32(100)}
    saved = al.enumerate(PIERCED, al.Box(-1, 1, dim=2), run=tmp_path / "run", **options)
    assert len(al.load(tmp_path / "run")) == len(saved) == 3


# Whole or not at all


def fail_to_write(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("step", ["shard", "network", "manifest", "move"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_full_disk_leaves_everything_as_it_was(
    step: str, overwrite: bool, regions: al.RegionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if overwrite:
        al.enumerate(THIN, al.Box(0, 1, dim=1), workers=1, run=tmp_path / "run")
    before = tree(tmp_path)
    target, name = {
        "shard": (pq.ParquetWriter, "write_table"),
        "network": (np, "savez"),
        "manifest": (Path, "write_bytes"),
        "move": (Path, "rename"),
    }[step]
    with monkeypatch.context() as patch:
        patch.setattr(target, name, fail_to_write)
        sentence = refusal(lambda: regions.save(tmp_path / "run", overwrite=overwrite))
    assert sentence.startswith(f"{tmp_path / 'run'}: ")
    assert "No space left" in sentence
    assert tree(tmp_path) == before


def test_a_full_disk_while_replacing_a_run_puts_the_old_one_back(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(tmp_path)
    other = al.enumerate(THIN, al.Box(0, 1, dim=1), workers=1)
    rename, calls = Path.rename, []

    def second_fails(self: Path, target: Path) -> Path:
        calls.append(target)
        return fail_to_write() if len(calls) == 2 else rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", second_fails)
        refusal(lambda: other.save(run, overwrite=True))
    assert tree(tmp_path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="limits file sizes as Linux does")
def test_a_real_limit_on_file_size(tmp_path: Path) -> None:
    script = f"""
import resource, signal
import affinelens as al
regions = al.enumerate({PIERCED!r}, al.Box(-1, 1, dim=2), workers=1)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
try:
    regions.save({str(tmp_path / "run")!r})
except al.AffineLensError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr.removeprefix("compiling kernels, once\n") == ""
    assert done.stdout.startswith(f"{tmp_path / 'run'}: ")
    assert done.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_interrupted_while_saving(regions: al.RegionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetWriter, "write_table", interrupt)
        with pytest.raises(KeyboardInterrupt):
            regions.save(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(ROOT, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written(regions: al.RegionSet, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert "cannot write" in refusal(lambda: regions.save(folder / "run"))


def test_overwrite_replaces_a_run_and_nothing_else(regions: al.RegionSet, run: Path, tmp_path: Path) -> None:
    other = al.enumerate(THIN, al.Box(0, 1, dim=1), workers=1)
    assert "already holds a run" in refusal(lambda: other.save(run))
    assert_same(al.load(run), regions)
    other.save(run, overwrite=True)
    assert_same(al.load(run), other)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_empty_folder_is_a_place_for_a_run(regions: al.RegionSet, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    regions.save(tmp_path / "run")
    assert_same(al.load(tmp_path / "run"), regions)


# Damage


def damaged(run: Path) -> str:
    sentence = refusal(lambda: al.load(run))
    assert sentence.startswith(f"{run}: ")
    return sentence


def loaded_or_refused(run: Path) -> al.RegionSet | None:
    """The set if it loads; None if it is refused in one sentence. Any other exception passes through."""
    try:
        return al.load(run)
    except al.AffineLensError as error:
        sentence = str(error)
    assert "\n" not in sentence
    return None


@pytest.mark.parametrize("path", ["missing", "empty", "file"])
def test_not_a_run(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    assert "not a run directory" in damaged(tmp_path / path)


FILES = ["manifest.json", "network.npz", SHARD]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file(name: str, run: Path) -> None:
    (run / name).unlink()
    assert name in damaged(run)


@pytest.mark.parametrize("name", FILES)
def test_a_folder_in_place_of_a_file(name: str, run: Path) -> None:
    (run / name).unlink()
    (run / name).mkdir()
    damaged(run)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x04N.", bytes(4096), b"{}", b"[]", b"\xff\xfe"])
def test_garbage_in_place_of_a_file(name: str, content: bytes, run: Path) -> None:
    (run / name).write_bytes(content)
    damaged(run)


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file(name: str, run: Path) -> None:
    content = (run / name).read_bytes()
    for size in {1, len(content) // 10, len(content) // 2, len(content) - 3}:
        (run / name).write_bytes(content[:size])
        damaged(run)


@pytest.mark.parametrize("name", ["network.npz", SHARD])
def test_an_altered_byte_is_noticed_or_harmless(name: str, run: Path, regions: al.RegionSet) -> None:
    content = (run / name).read_bytes()
    for place in range(0, len(content), max(len(content) // 60, 1)):
        altered = bytearray(content)
        altered[place] ^= 0x41
        (run / name).write_bytes(altered)
        found = loaded_or_refused(run)
        if found is not None:  # a byte of the archive that carries no number
            assert_same(found, regions)


WRONG = [None, True, -1, 10**30, 1e300, 1.5, "text", "", [], {}, [None], ["a"], {"kind": "box"}, [[1]], 2**31]


def places(data: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value of a JSON structure."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [prefix, *(place for key, value in entries for place in places(value, (*prefix, key)))]


def replaced(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copy = data.copy()
    copy[place[0]] = replaced(data[place[0]], place[1:], value)
    return copy


def test_any_value_of_the_manifest_may_be_wrong(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    for number, place in enumerate(places(manifest)):
        for value in WRONG[number % 3 :: 3]:
            write_manifest(run, replaced(manifest, place, value))
            found = loaded_or_refused(run)
            if found is not None:
                assert found.summary(), (place, value)


@pytest.mark.parametrize(
    "key",
    [
        "regions",
        "status",
        "layer_counts",
        "certificate",
        "domain",
        "network",
        "shards",
        "model_sha256",
        "engine",
        "chunks",
        "holds",
        "facets",
        "vertices",
        "patterns_of",
    ],
)
def test_a_manifest_without_a_key(key: str, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    del manifest[key]
    write_manifest(run, manifest)
    damaged(run)


def edit(run: Path, **changes: Any) -> None:
    write_manifest(run, json.loads((run / "manifest.json").read_text()) | changes)


def write_manifest(run: Path, manifest: Any) -> None:
    """One that matches its own checksum, as somebody would write it who means harm."""
    if isinstance(manifest, dict):
        manifest = manifest | {"checksum": checksum(manifest)}
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_another_format_version(run: Path) -> None:
    edit(run, format_version=99)
    assert "format version 99" in damaged(run)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, '{"format": "affinelens run", "network": ' + "[" * 100_000, "1" * 10_000]
)
def test_json_that_is_nested_too_deeply_or_too_long(text: str, run: Path) -> None:
    (run / "manifest.json").write_text(text)
    damaged(run)


@pytest.mark.parametrize("depth", [10, 100, 1_000, 10_000])
def test_a_network_nested_deeply_is_read_or_refused(depth: int, regions: al.RegionSet, run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    inner = manifest["network"]["output"]["sources"][0]
    manifest["network"]["output"]["sources"][0] = [inner[0], "NESTED"]
    nested = '{"kind": "chain", "maps": [' * depth + json.dumps(inner[1]) + "]}" * depth
    text = json.dumps(manifest).replace('"NESTED"', nested)
    with suppress(RecursionError):
        manifest["checksum"] = checksum(json.loads(text))
        text = json.dumps(manifest).replace('"NESTED"', nested)
    (run / "manifest.json").write_text(text)
    found = loaded_or_refused(run)
    assert found is None or len(found) == len(regions)


def test_numbers_of_the_manifest_that_contradict_the_columns(regions: al.RegionSet, run: Path) -> None:
    edit(run, regions=len(regions) + 1)
    damaged(run)
    edit(run, regions=len(regions), layer_counts=[1, 2])
    damaged(run)


def test_a_complete_status_cannot_be_forged_onto_a_stopped_run(tmp_path: Path) -> None:
    al.enumerate(PIERCED, al.Box(-1, 1, dim=2), workers=1, max_regions=3).save(tmp_path / "run")
    edit(tmp_path / "run", status="COMPLETE")
    damaged(tmp_path / "run")


@pytest.mark.parametrize(
    "place", ["../outside.parquet", "/etc/passwd", "../../etc/passwd", "..", ".", "", "\0", "a" * 5000]
)
def test_a_shard_outside_the_directory_is_not_read(
    place: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.move(run / SHARD, tmp_path / "outside.parquet")
    manifest = json.loads((run / "manifest.json").read_text())
    edit(run, shards=[manifest["shards"][0] | {"file": place}])
    opened: list[Path] = []
    original = Path.open
    monkeypatch.setattr(
        Path, "open", lambda self, *args, **kwargs: opened.append(self) or original(self, *args, **kwargs)
    )
    damaged(run)
    assert all(path.resolve().is_relative_to(run) for path in opened if "\0" not in str(path))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@pytest.mark.parametrize("name", ["network.npz", SHARD])
def test_a_link_out_of_the_directory_is_not_followed(name: str, run: Path, tmp_path: Path) -> None:
    shutil.move(run / name, tmp_path / name)
    (run / name).symlink_to(tmp_path / name)
    damaged(run)


def rewrite(run: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the table and make the manifest agree, as somebody would who means harm."""
    pq.write_table(change(pq.read_table(run / SHARD)), run / SHARD)
    manifest = json.loads((run / "manifest.json").read_text())
    digest = hashlib.sha256((run / SHARD).read_bytes()).hexdigest()
    edit(run, shards=[manifest["shards"][0] | {"sha256": digest}])


def column_set(name: str, make: Callable[[pa.Table], Any]) -> Callable[[pa.Table], pa.Table]:
    return lambda table: table.set_column(table.column_names.index(name), name, make(table))


def lists(name: str, change: Callable[[list[Any]], list[Any]]) -> Callable[[pa.Table], pa.Table]:
    return column_set(
        name, lambda table: pa.array(change(table.column(name).to_pylist()), type=table.schema.field(name).type)
    )


FORGED: dict[str, Callable[[pa.Table], pa.Table]] = {
    "fewer rows": lambda table: table.slice(1),
    "no rows": lambda table: table.slice(0, 0),
    "no column": lambda table: table.drop_columns(["pattern_bits"]),
    "facet too large": lists("facets", lambda rows: [[10**6] * len(row) for row in rows]),
    "facet negative": lists("facets", lambda rows: [[-1] * len(row) for row in rows]),
    "facets moved to another row": lists("facets", lambda rows: [[*rows[0], *rows[1]], [], *rows[2:]]),
    "facets missing": lists("facets", lambda rows: [None, *rows[1:]]),
    "signs that are no signs": lists("facet_signs", lambda rows: [[7] * len(row) for row in rows]),
    "signs too few": lists("facet_signs", lambda rows: [row[1:] for row in rows]),
    "pattern too long": column_set("pattern_bits", lambda table: pa.array([b"xx"] * len(table), type=pa.binary(2))),
    "pattern missing": lists("pattern_bits", lambda rows: [None, *rows[1:]]),
    "pattern as text": column_set("pattern_bits", lambda table: pa.array(["x"] * len(table))),
    "pattern as float": column_set(
        "pattern_bits", lambda table: pa.array([[0.5] * 5] * len(table), type=pa.list_(pa.float64(), 5))
    ),
    "point of another dimension": column_set(
        "point", lambda table: pa.array([[0.0]] * len(table), type=pa.list_(pa.float64(), 1))
    ),
    "point NaN": lists("point", lambda rows: [[float("nan")] * len(row) for row in rows]),
    "point as text": column_set("point", lambda table: pa.array([["0", "0"]] * len(table))),
    "point as numbers": column_set("point", lambda table: pa.array([0.5] * len(table))),
    "exact point as garbage": lists("exact_coordinates", lambda rows: [["x", "y"]] * len(rows)),
    "exact point over zero": lists("exact_coordinates", lambda rows: [["1/0", "1"]] * len(rows)),
    "exact point of another dimension": lists("exact_coordinates", lambda rows: [["1/2"]] * len(rows)),
    "exact point null": lists("exact_coordinates", lambda rows: [[None, None]] * len(rows)),
    "exact point huge": lists("exact_coordinates", lambda rows: [["1e30000", "0"]] * len(rows)),
}


@pytest.mark.parametrize("name", FORGED)
def test_columns_that_do_not_fit(name: str, run: Path) -> None:
    rewrite(run, FORGED[name])
    damaged(run)
