"""Shards that jobs write themselves: the same regions, and nothing is left of those that nobody told of."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import affinelens as al
from affinelens.engine.executors import coordinator, job_run
from affinelens.errors import AffineLensError
from affinelens.regions.store import run_writer, shared_run
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.shared_run import WORD, reached, share, share_no_longer, told_shards
from affinelens.walk import Limits, SharedPlace
from support.random_networks import random_layers

BOX = al.Box(-1, 1, dim=3)
COLUMNS = ("points", "patterns", "facet_values", "facet_signs", "facet_offsets")


@pytest.fixture(autouse=True)
def short_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of hundredths of a second, which keep what they find even if it is little."""
    for name in ("_SHORT", "_LONG", "_LONGEST"):
        monkeypatch.setattr(coordinator, name, 0.02)
    monkeypatch.setattr(job_run, "_LITTLE", 0)


@pytest.fixture(scope="module")
def network() -> al.Network:
    return al.network(random_layers([3, 56, 56, 2], 1))


@pytest.fixture(scope="module")
def alone(network: al.Network) -> al.RegionSet:
    return al.enumerate(network, BOX, vertices=True)


def require_same(one: al.RegionSet, other: al.RegionSet) -> None:
    assert one.status is other.status is al.Status.COMPLETE
    for name in COLUMNS:
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def named(run: Path) -> set[str]:
    """The shards in a manifest."""
    return {shard["file"] for shard in json.loads((run / "manifest.json").read_text())["shards"]}


def there(run: Path) -> set[str]:
    return {file.name for file in run.glob("regions-*")}


def walked_on_threads(network: al.Network, run: Path, **limits: Any) -> al.RegionSet:
    with ThreadPoolExecutor(2) as executor:
        return al.enumerate(network, BOX, vertices=True, executor=executor, run=run, **limits)


def of_jobs(names: set[str]) -> set[str]:
    return {name for name in names if len(name) > 40}


def test_jobs_write_shards(network: al.Network, alone: al.RegionSet, tmp_path: Path) -> None:
    require_same(walked_on_threads(network, tmp_path / "run"), alone)
    require_same(al.load(tmp_path / "run"), alone)
    assert there(tmp_path / "run") == named(tmp_path / "run") == of_jobs(there(tmp_path / "run"))
    assert not (tmp_path / "run" / WORD).exists()


def test_some_jobs_write_shards_and_some_send_regions(
    network: al.Network, alone: al.RegionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both kinds of shards are in one run then."""
    jobs = count()

    def share_with_some(folder: Path, domain: al.Domain) -> SharedPlace:
        place = share(folder, domain)
        return SharedPlace(lambda told, request: None if next(jobs) % 2 else place.opened(told, request), place.told)

    monkeypatch.setattr(run_writer, "share", share_with_some)
    run = tmp_path / "run"
    require_same(walked_on_threads(network, run), alone)
    require_same(al.load(run), alone)
    assert there(run) == named(run)
    assert 0 < len(of_jobs(named(run))) < len(named(run))


def test_a_place_that_is_out_of_reach_has_regions_sent(
    network: al.Network, alone: al.RegionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another directory at that path, which holds another word, or nothing at all."""
    (tmp_path / "elsewhere").mkdir()
    share(tmp_path / "elsewhere", BOX)
    for number, folder in enumerate((tmp_path / "elsewhere", tmp_path / "nowhere")):

        def told_wrong(own: Path, domain: al.Domain, folder: Path = folder) -> SharedPlace:
            place = share(own, domain)
            return SharedPlace(place.opened, place.told | {"folder": str(folder)})

        monkeypatch.setattr(run_writer, "share", told_wrong)
        require_same(walked_on_threads(network, tmp_path / str(number)), alone)
        assert not of_jobs(there(tmp_path / str(number)) | there(folder))


class Losing(ThreadPoolExecutor):
    """Threads whose every seventh answer is lost after the job was run."""

    def submit(self, function: Callable[..., Any], /, *given: Any, **options: Any) -> Future[Any]:
        self.sent = getattr(self, "sent", 0) + 1
        is_lost = self.sent % 7 == 3

        def perform() -> Any:
            result = function(*given, **options)
            if is_lost:
                raise ConnectionError("the worker is gone")
            return result

        return super().submit(perform)


def test_what_lost_workers_wrote_is_removed(network: al.Network, alone: al.RegionSet, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with Losing(2) as executor:
        require_same(al.enumerate(network, BOX, vertices=True, executor=executor, run=run), alone)
    assert there(run) == named(run)


def test_half_written_shards_are_removed_when_the_run_goes_on(
    network: al.Network, alone: al.RegionSet, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    first = walked_on_threads(network, run, max_regions=3000)
    assert (first.status, len(first)) == (al.Status.REGION_LIMIT, 3000)
    assert of_jobs(named(run))
    left = run / f"regions-{'0' * 32}.parquet"
    left.write_bytes(b"PAR1 and not much more")
    (run / WORD).write_text("{}")  # of a process that was killed
    with ThreadPoolExecutor(2) as executor:
        require_same(al.resume(run, executor=executor), alone)
    assert not left.exists()
    assert there(run) == named(run)


def test_a_shard_that_is_not_there_is_sent_for_again(
    network: al.Network, alone: al.RegionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where another machine's files show up late."""
    gone = []

    def removing(folder: Path, kept: dict[str, Any], regions: Any) -> Any:
        if not gone:
            gone.append(kept["shards"][0]["file"])
            (folder / gone[-1]).unlink()
        return told_shards(folder, kept, regions)

    monkeypatch.setattr(run_writer, "told_shards", removing)
    require_same(walked_on_threads(network, tmp_path / "run"), alone)
    assert len(gone) == 1
    require_same(al.load(tmp_path / "run"), alone)


@pytest.mark.parametrize("most", [1, 17, 1000])
def test_a_limit_of_regions_is_met_exactly(network: al.Network, tmp_path: Path, most: int) -> None:
    found = walked_on_threads(network, tmp_path / "run", max_regions=most)
    assert (found.status, len(found)) == (al.Status.REGION_LIMIT, most)
    assert len(al.load(tmp_path / "run")) == most


def _deposit(folder: Path, network: al.Network) -> tuple[Any, al.RegionSet]:
    found = al.enumerate(network, BOX, facets=False, max_regions=40)
    request = Asked(network, BOX, {}, facets=False).request(Limits())
    folder.mkdir(exist_ok=True)
    place = share(folder, BOX)
    return reached(json.loads(json.dumps(place.told)), request), found


def test_who_comes_after_the_walk_leaves_nothing(network: al.Network, tmp_path: Path) -> None:
    for end in (share_no_longer, lambda folder: share(folder, BOX)):
        deposit, found = _deposit(tmp_path / "run", network)
        deposit.write(found.outcome.table)
        end(tmp_path / "run")
        assert deposit.close() is None
        assert not there(tmp_path / "run")


def test_what_is_told_is_checked(network: al.Network, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    deposit, found = _deposit(folder, network)
    deposit.write(found.outcome.table[:30])
    deposit.write(found.outcome.table[30:])
    kept = json.loads(json.dumps(deposit.close()))
    shards, groups = told_shards(folder, kept, [30, 10])
    assert ([shard.rows for shard in shards], groups) == ([40], [(0, 0), (0, 1)])
    (shard,) = kept["shards"]
    outside = tmp_path / f"regions-{'1' * 32}.parquet"
    outside.write_bytes((folder / shard["file"]).read_bytes())
    for change in (
        {"shards": []}, {"shards": 3}, {"rows": [30, 11]}, {"rows": [40]}, {"groups": [[0, 0], [0, 0]]},
        {"groups": [[0, 0], [1, 1]]}, {"groups": [[0, 0], [-1, 1]]}, {"shards": [shard, shard]},
        {"shards": [shard | {"file": f"../{outside.name}"}]}, {"shards": [shard | {"file": outside.name}]},
        {"shards": [shard | {"bytes": shard["bytes"] + 1}]}, {"shards": [shard | {"rows": 41}]},
        {"shards": [shard | {"sha256": "0"}]}, {"shards": [{}]},
    ):  # fmt: skip
        with pytest.raises(AffineLensError):
            told_shards(folder, kept | change, [30, 10])
    with pytest.raises(AffineLensError):
        told_shards(folder, kept, [10, 30])


def test_a_disk_that_is_full_leaves_no_shard(
    network: al.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deposit, found = _deposit(tmp_path / "run", network)
    deposit.write(found.outcome.table)

    def full(_: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shared_run, "sync_folder", full)
    with pytest.raises(OSError, match="No space"):
        deposit.close()
    assert not there(tmp_path / "run")
