"""An audit proves what is right, and finds a run with one region removed, repeated or altered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import affinelens as al
from affinelens.measure.audit import facet_lists
from affinelens.measure.audit.audit_report import AuditReport, Finding
from affinelens.regions.store.manifest import checksum
from support.command_line import run as command
from support.random_networks import dense_network, pooled_network, random_layers, small_box, wide_layers

Rows = list[dict[str, Any]]
PROVED = ("points", "patterns", "facets", "facet lists", "neighbors", "complete")


def edit_run(run: Path, change: Callable[[Rows], None]) -> None:
    """Change the regions of a run and make its manifest agree."""
    manifest = json.loads((run / "manifest.json").read_text())
    (shard,) = manifest["shards"]
    file = run / shard["file"]
    table = pq.read_table(file)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), file)
    shard["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    shard["rows"] = manifest["regions"] = manifest["layer_counts"][-1] = manifest["chunks"][0][2] = len(rows)
    manifest["checksum"] = checksum(manifest)
    (run / "manifest.json").write_text(json.dumps(manifest))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rs = al.enumerate(random_layers([2, 6, 5, 1], seed=3), al.Box(-1, 1, dim=2))
    return rs.save(tmp_path / "run")


def audited(run: Path, change: Callable[[Rows], None]) -> AuditReport:
    """The report on a changed run; at least one check fails, and completeness is not claimed."""
    assert al.load(run).audit().proves_complete
    edit_run(run, change)
    report = al.load(run).audit()
    assert not report.passed
    assert not report.proves_complete
    assert "FAILED" in str(report)
    return report


def assert_proved(rs: al.RegionSet) -> AuditReport:
    report = rs.audit(samples=200)
    assert report.passed, str(report)
    assert [name for name in PROVED if report[name].finding is not Finding.PROVED] == [], str(report)
    assert report["random points"].finding is Finding.SAMPLED
    assert report["points"].count == report["patterns"].count == len(rs)
    return report


@pytest.mark.parametrize("seed", range(8))
def test_networks_of_all_kinds_are_proved(seed: int) -> None:
    generator = np.random.default_rng(seed)
    report = assert_proved(al.enumerate(dense_network(generator, 2), small_box(generator, 2)))
    assert report["volumes"].finding is Finding.MEASURED


@pytest.mark.parametrize("engine", ["vertex", "linear_program"])
@pytest.mark.parametrize("bias", [0.5, 0.0])
def test_either_engine_and_ties(engine: str, bias: float) -> None:
    assert_proved(al.enumerate(random_layers([3, 6, 1], 0, bias=bias), al.Box(-1, 1, dim=3), engine=engine))


def test_polytopes() -> None:
    triangle = al.Polytope([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, 1.0, 1.0])
    assert_proved(al.enumerate(random_layers([2, 6, 1], 1), triangle))


@pytest.mark.parametrize("seed", range(3))
def test_slices_of_pooling_networks_with_ties(seed: int) -> None:
    generator = np.random.default_rng(seed)
    image = np.where(generator.random((1, 6, 6)) < 0.6, 0.0, generator.random((1, 6, 6)))
    plane = al.Slice.axes(image, [(0, 2, 2), (0, 2, 4)], 0.0, 1.0)
    assert_proved(al.enumerate(pooled_network(generator, bias=False), plane))


def test_networks_whose_units_mostly_stay(tmp_path: Path) -> None:
    """Of these only the pieces of units that can switch are stored; the others are looked at all the same."""
    rs = al.enumerate(wide_layers(seed=0, bias=6), al.Box(-0.02, 0.02, dim=2))
    assert rs.outcome.switching is not None
    run = rs.save(tmp_path / "run")
    assert_proved(al.load(run))
    with np.load(run / "switching.npz") as stored:
        arrays = dict(stored)
    steady = np.setdiff1d(np.arange(len(arrays["pattern"])), arrays["choices"])[0]
    arrays["pattern"][steady] ^= 1
    np.savez(run / "switching.npz", **arrays)
    assert "cannot switch" in al.load(run).audit()["points"].detail


def test_a_network_without_units() -> None:
    rs = al.enumerate([(np.ones((1, 2)), np.zeros(1))], al.Box(-1, 1, dim=2))
    assert_proved(rs)


def test_points_that_are_only_rational() -> None:
    """Breaks at 1/3 and its float64 rounding: no float64 lies between them."""
    layers = [(np.array([[3.0], [1.0]]), np.array([-1.0, -1 / 3])), (np.ones((1, 2)), np.zeros(1))]
    rs = al.enumerate(layers, al.Box(-1, 1, dim=1))
    assert rs.outcome.exact_points
    assert_proved(rs)


def test_high_dimension_has_no_volumes_and_says_what_is_open() -> None:
    rs = al.enumerate(random_layers([30, 4, 1], 0), al.Box(-1, 1, dim=30), engine="linear_program")
    report = rs.audit(samples=50)
    assert report.passed
    assert not report.proves_complete
    assert report["neighbors"].finding is Finding.PROVED
    assert report["facet lists"].finding is Finding.OPEN
    assert report["volumes"].finding is Finding.OPEN
    assert "dimension 30" in report["volumes"].detail


def test_where_facets_are_too_many_a_sample_of_regions_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rs = al.enumerate(random_layers([2, 8, 1], 0), al.Box(-1, 1, dim=2))
    monkeypatch.setattr(facet_lists, "_MOST_OPERATIONS", 1000)
    report = rs.audit()
    assert report.passed
    assert not report.proves_complete
    assert report["facet lists"].finding is report["complete"].finding is Finding.SAMPLED
    assert 0 < report["facet lists"].count < len(rs)


def test_completeness_of_an_incomplete_run_is_not_claimed() -> None:
    rs = al.enumerate(random_layers([2, 8, 8, 1], 0), al.Box(-1, 1, dim=2), max_regions=10)
    report = rs.audit()
    assert report.passed
    assert report["points"].finding is report["facet lists"].finding is Finding.PROVED
    assert report["complete"].finding is Finding.OPEN
    assert "limit of regions" in report["complete"].detail
    assert "of 1,000 lie in exactly one region" in report["random points"].detail


def test_without_facets_completeness_is_not_claimed() -> None:
    report = al.enumerate(random_layers([2, 5, 1], 0), al.Box(-1, 1, dim=2), facets=False).audit()
    assert report.passed
    assert not report.proves_complete
    assert report["volumes"].finding is Finding.MEASURED
    assert "without facets" in report["neighbors"].detail


def test_a_region_removed(run: Path) -> None:
    report = audited(run, lambda rows: rows.pop(7))
    assert report["neighbors"].finding is Finding.FAILED
    assert "lead out of the run" in report["neighbors"].detail


def test_a_region_removed_with_all_that_names_it(run: Path) -> None:
    """Nothing leads to the region any more; its neighbors have one facet fewer."""
    removed = 7
    neighbors = [list(region.neighbors) for region in al.load(run)]

    def change(rows: Rows) -> None:
        for row, beyond in zip(rows, neighbors, strict=True):
            for name in ("facets", "facet_signs"):
                row[name] = [value for value, other in zip(row[name], beyond, strict=True) if other != removed]
        rows.pop(removed)

    report = audited(run, change)
    assert report["facet lists"].finding is Finding.FAILED
    assert "is also bounded by" in report["facet lists"].detail


def test_a_region_repeated(run: Path) -> None:
    report = audited(run, lambda rows: rows.append(dict(rows[3])))
    assert report["patterns"].finding is Finding.FAILED
    assert "regions 3 and" in report["patterns"].detail


def test_a_point_moved_into_the_next_region(run: Path) -> None:
    other = next(n for n in al.load(run)[4].neighbors if n is not None)

    def change(rows: Rows) -> None:
        rows[4]["point"] = rows[other]["point"]

    report = audited(run, change)
    assert report["points"].finding is Finding.FAILED
    assert "region 4: its point is on the other side of" in report["points"].detail


def test_a_point_moved_onto_the_border_of_the_domain(run: Path) -> None:
    report = audited(run, lambda rows: rows[4].update(point=[1.0, 0.0]))
    assert "not strictly inside the domain" in report["points"].detail


@pytest.mark.parametrize("choice", range(11))
def test_a_pattern_altered(run: Path, choice: int) -> None:
    def change(rows: Rows) -> None:
        pattern = bytearray(rows[2]["pattern_bits"])
        pattern[choice // 8] ^= 1 << choice % 8
        rows[2]["pattern_bits"] = bytes(pattern)

    assert audited(run, change)["points"].finding is Finding.FAILED


@pytest.mark.parametrize("region", range(6))
def test_a_facet_altered_in_any_way(run: Path, region: int) -> None:
    """Any one facet replaced by any other hyperplane, or turned round, or left out."""
    rs = al.load(run)
    facets, signs = rs[region].facet_numbers.tolist(), rs[region].facet_signs.tolist()
    hyperplanes = rs.domain.frame.rows.shape[0] + rs.network.break_offsets[-1]
    original = (run / "manifest.json").read_bytes()
    (shard,) = json.loads(original)["shards"]
    stored = (run / shard["file"]).read_bytes()
    altered = [([*facets[:1], *facets[2:]], [*signs[:1], *signs[2:]])]
    altered += [
        (facets, [-sign if k == place else sign for k, sign in enumerate(signs)]) for place in range(len(signs))
    ]
    for number in set(range(hyperplanes)) - {facets[0]}:
        altered += [([number, *facets[1:]], [side, *signs[1:]]) for side in (-1, 1)]
    for changed_facets, changed_signs in altered:
        edit_run(run, lambda rows: rows[region].update(facets=changed_facets, facet_signs=changed_signs))  # noqa: B023
        report = al.load(run).audit(samples=0)
        assert not report.passed, (changed_facets, changed_signs)
        (run / "manifest.json").write_bytes(original)
        (run / shard["file"]).write_bytes(stored)


def test_a_vertex_moved(tmp_path: Path) -> None:
    rs = al.enumerate(random_layers([2, 6, 1], 0), al.Box(-1, 1, dim=2), vertices=True)
    run = rs.save(tmp_path / "run")

    def change(rows: Rows) -> None:
        rows[1]["vertices"][0] = [0.0, 1.0]

    assert audited(run, change)["volumes"].finding is Finding.FAILED


def test_the_command_says_what_was_proved_and_fails_on_a_damaged_run(run: Path) -> None:
    done = command("audit", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no region is missing" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("audit passed")
    edit_run(run, lambda rows: rows.pop(0))
    done = command("audit", run, "--json", "--samples", 10)
    assert (done.returncode, done.stderr) == (1, "")
    report = json.loads(done.stdout)
    assert report["passed"] is report["proves_complete"] is False
    assert {check["name"] for check in report["checks"] if check["finding"] == "FAILED"} == {"neighbors"}


def test_the_command_refuses_what_is_not_a_run(tmp_path: Path) -> None:
    done = command("audit", tmp_path)
    assert done.returncode == 2
    assert "not a run directory" in done.stderr


@pytest.mark.parametrize("samples", [-1, 10**9])
def test_an_odd_number_of_samples_is_refused(samples: int) -> None:
    rs = al.enumerate(random_layers([1, 2, 1], 0), al.Box(-1, 1, dim=1))
    with pytest.raises(al.AffineLensError, match="random points"):
        rs.audit(samples=samples)


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e200, 1e300])
def test_a_box_whose_volume_float64_cannot_hold_is_proved(size: float) -> None:
    first, *rest = random_layers([3, 5, 2], seed=1)
    weight, offset = first
    if size < 1:  # on a small box nothing else would switch
        weight = weight / size
    report = assert_proved(al.enumerate([(weight, offset), *rest], al.Box(-size, size, dim=3)))
    assert report["volumes"].finding is Finding.MEASURED
    assert "nan" not in str(report)
    assert "inf" not in str(report)
