"""A run that is read where it is looked at says the same as one in memory, in memory that does not grow."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import affinelens as al
from affinelens.measure.summary.export import write_columns
from affinelens.regions.store import run_directory, stored_regions
from affinelens.regions.store.manifest import checksum
from affinelens.walk import ColumnView
from support.large_runs import cell_of, grid_network, write_grid
from support.random_networks import random_layers

TESTS = Path(__file__).parents[2]
LAYERS = random_layers([2, 8, 8, 2], seed=0)
# Breakpoints 1/3 and its float64 rounding: nothing that float64 can express lies between them.
THIN = [([[3.0], [1.0]], [-1.0, -1 / 3]), ([[1.0, 1.0]], [0.0])]
SETS: dict[str, Callable[[], al.RegionSet]] = {
    "box": lambda: al.enumerate(LAYERS, al.Box(-1, 1, dim=2), workers=1),
    "no facets": lambda: al.enumerate(LAYERS, al.Box(-1, 1, dim=2), facets=False, workers=1),
    "vertices": lambda: al.enumerate(LAYERS, al.Box(-0.3, 0.5, dim=2), vertices=True, workers=1),
    "slice": lambda: al.enumerate(LAYERS, al.Slice.through([0, 0], [1, 1]), workers=1),
    "fixed input": lambda: al.enumerate(LAYERS, al.Box([-1, 0.25], [1, 0.25]), workers=1),
    "thin": lambda: al.enumerate(THIN, al.Box(0, 1, dim=1), workers=1),
    "stopped": lambda: al.enumerate(LAYERS, al.Box(-1, 1, dim=2), max_regions=20, workers=1),
    "one region": lambda: al.enumerate([([[1.0, 2.0]], [0.0])], al.Box(-1, 1, dim=2), workers=1),
    "switching": lambda: al.enumerate(LAYERS, al.Box(-0.05, 0.05, dim=2), engine="linear_program", workers=1),
}


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """All runs count as large; they are written and read a few rows at a time."""
    monkeypatch.setattr(stored_regions, "LARGE_RUN", 0)
    monkeypatch.setattr(stored_regions, "_ROWS_AT_ONCE", 7)
    monkeypatch.setattr(stored_regions, "_KEPT_BYTES", 2000)
    monkeypatch.setattr(run_directory, "_CHUNK_ROWS", 20)


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(al.AffineLensError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def column_or_refusal(regions: al.RegionSet, name: str) -> Any:
    try:
        return regions.column(name)
    except al.AffineLensError as error:
        return str(error)


def stays_on_disk(regions: al.RegionSet) -> bool:
    return regions.outcome.source is not None


# The same answers


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("case", SETS)
def test_arrays_regions_and_places_are_the_same(case: str, tmp_path: Path) -> None:
    saved = SETS[case]()
    found = al.load(saved.save(tmp_path / "run"))
    assert (len(found), found.status, found.layer_counts) == (len(saved), saved.status, saved.layer_counts)
    for name in ("points", "patterns", "switching_patterns", "local.points"):
        column, expected = found, saved
        for part in name.split("."):
            column, expected = getattr(column, part), getattr(expected, part)
        assert isinstance(column, ColumnView)
        assert (column.shape, column.dtype) == (np.shape(expected), np.asarray(expected).dtype)
        np.testing.assert_array_equal(column, expected)
        np.testing.assert_array_equal(column[3:17], expected[3:17])
    np.testing.assert_array_equal(found.locate(saved.points), saved.locate(saved.points))
    for mine, other in zip(found, saved, strict=True):
        assert repr(mine) == repr(other)
        assert mine.exact_point == other.exact_point
        assert mine.pattern.tolist() == other.pattern.tolist()
        if saved.outcome.has_facets:
            assert mine.facets == other.facets
            np.testing.assert_array_equal(mine.vertices, other.vertices)
    assert found.to_arrow().equals(saved.to_arrow())
    assert pa.Table.from_batches(found.to_batches()).equals(saved.to_arrow())
    pd.testing.assert_frame_equal(found.to_pandas(["class"]), saved.to_pandas(["class"]))
    assert stays_on_disk(found)


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("case", SETS)
def test_columns_and_metrics_are_the_same(case: str, tmp_path: Path) -> None:
    saved = SETS[case]()
    found = al.load(saved.save(tmp_path / "run"))
    for name in saved.columns:
        mine, other = (column_or_refusal(each, name) for each in (found, saved))
        np.testing.assert_array_equal(mine, other, err_msg=name)
    assert stays_on_disk(found)
    if saved.outcome.has_facets:
        assert found.metrics() == saved.metrics()
        np.testing.assert_array_equal(found.neighbor_values, saved.neighbor_values)
        assert found.audit(samples=20).passed == saved.audit(samples=20).passed


@pytest.mark.usefixtures("on_disk")
@pytest.mark.parametrize("largest_in_memory", [0, 1000])
@pytest.mark.parametrize("case", ["box", "vertices", "thin", "slice"])
def test_selections_are_the_same(
    case: str, largest_in_memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affinelens.regions.subset._PARTS_IN_MEMORY", largest_in_memory)
    saved = SETS[case]()
    found = al.load(saved.save(tmp_path / "run"))
    shuffled = np.random.default_rng(3).permutation(len(saved))[: len(saved) // 2 + 1]
    mask = np.asarray(saved.points)[:, 0] > 0.1
    middle = float(np.median(saved.volumes()))
    for mine, other in [
        (found[::-2], saved[::-2]),
        (found[shuffled], saved[shuffled]),
        (found[mask], saved[mask]),
        (found.filter("volume", at_least=middle), saved.filter("volume", at_least=middle)),
        (found[[]], saved[[]]),
    ]:
        assert (len(mine), mine.status, mine.layer_counts) == (len(other), other.status, other.layer_counts)
        np.testing.assert_array_equal(mine.points, other.points)
        np.testing.assert_array_equal(mine.locate(saved.points), other.locate(saved.points))
        assert [region.exact_point for region in mine] == [region.exact_point for region in other]
        assert mine.to_arrow().equals(other.to_arrow())
        np.testing.assert_array_equal(mine.column("class"), other.column("class"))
    assert stays_on_disk(found)


@pytest.mark.usefixtures("on_disk")
def test_a_set_on_disk_is_saved_again_and_its_columns_are_written(tmp_path: Path) -> None:
    saved = SETS["vertices"]()
    found = al.load(saved.save(tmp_path / "run"))
    again = al.load(found.save(tmp_path / "again"))
    assert again.to_arrow().equals(saved.to_arrow())
    for ending in ("csv", "parquet"):
        mine, other = tmp_path / f"mine.{ending}", tmp_path / f"other.{ending}"
        write_columns(found, ["class", "volume"], mine)
        write_columns(saved, ["class", "volume"], other)
        if ending == "csv":
            assert mine.read_bytes() == other.read_bytes()
        else:
            assert pq.read_table(mine).equals(pq.read_table(other))
    assert stays_on_disk(found)


@pytest.mark.usefixtures("on_disk")
def test_a_walk_into_a_run_directory_is_read_from_there(tmp_path: Path) -> None:
    saved = SETS["box"]()
    found = al.enumerate(LAYERS, al.Box(-1, 1, dim=2), workers=2, run=tmp_path / "run")
    assert stays_on_disk(found)
    assert found.to_arrow().equals(saved.to_arrow())


@pytest.mark.usefixtures("on_disk")
def test_runs_of_earlier_versions_are_read_from_their_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = sorted(folder.parent for folder in (Path(__file__).parent / "earlier_runs").rglob("manifest.json"))
    assert folders
    for folder in folders:
        found = al.load(folder)
        with monkeypatch.context() as small:
            small.setattr(stored_regions, "LARGE_RUN", 1 << 60)
            expected = al.load(folder)
        assert stays_on_disk(found)
        assert found.to_arrow().equals(expected.to_arrow())
        np.testing.assert_array_equal(found.locate(expected.points), np.arange(len(expected)))


# Files


@pytest.fixture
def grid(tmp_path: Path, on_disk: None) -> Path:
    """A run of 6 561 regions whose row groups are not in order, with a row group that its manifest does not name."""
    write_grid(tmp_path / "grid", 4, 9, rows=500)
    return tmp_path / "grid"


@pytest.mark.parametrize("index", ["kept", "left out", "damaged", "of another width"])
def test_places_are_found_with_and_without_what_is_known_of_row_groups(index: str, grid: Path) -> None:
    shard = grid / "regions-00000.parquet"
    if index != "kept":
        table = [pq.read_table(shard)]
        with pq.ParquetFile(shard) as file:
            table = [file.read_row_group(i) for i in range(file.metadata.num_row_groups)]
            known = (file.schema_arrow.metadata or {}) | file.metadata.metadata
        value = known[b"affinelens.constant_bits"]
        changed = {"damaged": value[:40] + b"AAAA" + value[44:], "of another width": value[:80]}
        with pq.ParquetWriter(shard, table[0].schema) as writer:
            for group in table:
                writer.write_table(group, row_group_size=len(group))
            if index in changed:
                writer.add_key_value_metadata({b"affinelens.constant_bits": changed[index]})
        restate(grid)
    points = np.random.default_rng(1).uniform(0, 9, (300, 4))
    np.testing.assert_array_equal(al.load(grid).locate(points), cell_of(points, 9))


def test_one_point_is_found_in_few_row_groups(grid: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    regions = al.load(grid)
    regions.locate([0.5, 0.5, 0.5, 0.5])
    read: list[Any] = []
    whole = stored_regions.StoredRegions._group
    monkeypatch.setattr(
        stored_regions.StoredRegions, "_group", lambda *given, **options: read.append(0) or whole(*given, **options)
    )
    assert regions.locate([4.5, 4.5, 4.5, 4.5]) == cell_of(np.full((1, 4), 4.5), 9)[0]
    assert 1 <= len(read) <= 3


def test_what_is_read_is_the_readers_own(grid: Path) -> None:
    regions = al.load(grid)
    regions.local.points[:5][:] = -1
    regions.switching_patterns[:5][:] = 9
    np.testing.assert_array_equal(regions.points[:2], [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 1.5]])
    assert regions[0].pattern.max() == 0


def test_a_set_on_disk_travels_to_another_process(grid: Path) -> None:
    regions = al.load(grid)
    outcome = pickle.loads(pickle.dumps(regions[:: len(regions) // 50].outcome))
    assert pickle.loads(pickle.dumps(regions)).to_arrow().equals(regions.to_arrow())
    assert len(pickle.loads(pickle.dumps(regions.outcome)).table) == len(regions) > outcome.regions


def restate(run: Path) -> None:
    """Let a manifest agree with changed files, which have no checksums of pages any more."""
    manifest = json.loads((run / "manifest.json").read_text())
    for shard in manifest["shards"]:
        shard["sha256"] = hashlib.sha256((run / shard["file"]).read_bytes()).hexdigest()
        shard["checks_pages"] = False
    manifest["checksum"] = checksum(manifest)
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_a_dataset_scans_the_regions_in_their_order(grid: Path) -> None:
    regions = al.load(grid)
    dataset = regions.dataset()
    assert isinstance(dataset, ds.FileSystemDataset)
    assert dataset.count_rows() == len(regions)
    assert dataset.count_rows(filter=ds.field("exact_coordinates").is_valid()) == 0
    assert dataset.to_table(columns=[]).num_rows == len(regions)
    points = np.concatenate([np.stack(b.column("point").to_numpy(zero_copy_only=False)) for b in dataset.to_batches()])
    np.testing.assert_array_equal(points, regions.points)
    physical = pq.read_table(grid / "regions-00000.parquet", columns=["point"])
    assert not np.array_equal(np.stack(physical["point"].to_numpy()), points)
    bits = np.frombuffer(b"".join(dataset.to_table()["pattern_bits"].to_pylist()), dtype=np.uint8).reshape(
        len(points), -1
    )
    np.testing.assert_array_equal(np.unpackbits(bits, axis=1, count=32, bitorder="little"), regions.patterns)


def test_a_dataset_has_only_what_the_manifest_names(grid: Path) -> None:
    manifest = json.loads((grid / "manifest.json").read_text())
    dropped = manifest["chunks"].pop(4)
    manifest["regions"] -= dropped[2]
    manifest["layer_counts"] = [manifest["regions"]]
    manifest["checksum"] = checksum(manifest)
    (grid / "manifest.json").write_text(json.dumps(manifest))
    regions = al.load(grid)
    assert len(regions) == 9**4 - 500
    assert regions.dataset().count_rows() == len(regions)
    assert regions.locate(regions.points[1990:2010]).tolist() == list(range(1990, 2010))


def test_a_set_in_memory_is_a_dataset_too() -> None:
    regions = SETS["box"]()
    assert regions.dataset().to_table().num_rows == len(regions)


def test_damage_is_noticed_where_it_is_read_and_names_the_file(grid: Path) -> None:
    shard = grid / "regions-00000.parquet"
    with pq.ParquetFile(shard) as file:
        column = file.metadata.row_group(3).column(0)
    data = bytearray(shard.read_bytes())
    data[column.data_page_offset + column.total_compressed_size - 5] ^= 4
    shard.write_bytes(data)
    regions = al.load(grid)
    assert "regions-00000.parquet" in refusal(lambda: regions.points.sum())
    assert "regions-00000.parquet" in refusal(lambda: regions.to_arrow())
    assert np.isfinite(regions.points[:500]).all()


def test_damage_of_a_file_without_checksums_of_pages_is_noticed_when_it_is_first_read(grid: Path) -> None:
    restate(grid)
    shard = grid / "regions-00000.parquet"
    data = bytearray(shard.read_bytes())
    data[1000] ^= 1
    shard.write_bytes(data)
    regions = al.load(grid)
    said = refusal(lambda: regions.points[0])
    assert "regions-00000.parquet" in said
    assert "hash" in said


@pytest.mark.parametrize("damage", ["cut", "removed", "replaced"])
def test_files_that_change_after_loading_are_refused(damage: str, grid: Path) -> None:
    regions = al.load(grid)
    first = regions.points[0]
    shard = grid / "regions-00000.parquet"
    if damage == "cut":
        shard.write_bytes(shard.read_bytes()[:5000])
    elif damage == "removed":
        shard.unlink()
    else:
        other = grid.parent / "other"
        write_grid(other, 4, 9, rows=500)
        shutil.copy(other / shard.name, shard)
    assert len(first) == 4
    assert shard.name in refusal(lambda: regions.points[3000])
    assert shard.name in refusal(lambda: regions.locate([5.5, 5.5, 5.5, 5.5]))


def test_chunks_that_files_do_not_have_are_refused(grid: Path) -> None:
    manifest = json.loads((grid / "manifest.json").read_text())
    for shard, group in [(0, 99), (7, 0)]:
        manifest["chunks"][2][3:] = [shard, group]
        manifest["checksum"] = checksum(manifest)
        (grid / "manifest.json").write_text(json.dumps(manifest))
        (grid / "manifest.previous.json").unlink(missing_ok=True)
        assert "damaged run" in refusal(lambda: np.asarray(al.load(grid).points))


# Memory

_MEMORY = """
import sys, json, resource
from pathlib import Path
import numpy as np
import affinelens as al
from affinelens.regions.store import stored_regions
from support.large_runs import cell_of

stored_regions.LARGE_RUN = 0

def peak():
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(next(l for l in status.read_text().splitlines() if "VmHWM" in l).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

cells = int(sys.argv[2])
regions = al.load(sys.argv[1])
points = np.random.default_rng(0).uniform(0, cells, (200, 4))
assert np.array_equal(regions.locate(points), cell_of(points, cells))
sum(batch.num_rows for batch in regions.to_batches())
assert sum(len(regions.points[i : i + 1000]) for i in range(0, len(regions), 1000)) == len(regions)
assert sum(float(region.point[0]) for region, _ in zip(regions, range(1000))) > 0
assert len(regions[:: len(regions) // 100]) >= 100
print(peak())
"""


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peaks = []
    for cells in (28, 38):
        write_grid(tmp_path / str(cells), 4, cells)
        command = [sys.executable, "-c", _MEMORY, str(tmp_path / str(cells)), str(cells)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=TESTS)
        assert not done.returncode, done.stderr
        peaks.append(int(done.stdout))
    more = (38**4 - 28**4) * (4 * 37 + 4 * 8)  # bytes of its patterns and points
    assert peaks[1] - peaks[0] < more / 2


def test_the_grid_that_these_tests_write_is_what_a_walk_finds(tmp_path: Path) -> None:
    write_grid(tmp_path / "grid", 2, 6)
    written, walked = al.load(tmp_path / "grid"), al.enumerate(grid_network(2, 6), al.Box(0, 6, dim=2), workers=1)
    assert {bytes(row) for row in written.patterns} == {bytes(row) for row in walked.patterns}
    assert written.audit(samples=50).passed
