"""A walk on a Dask cluster of two processes finds the same, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.cli.dask_option import connected
from affinelens.engine.executors import coordinator
from affinelens.errors import AffineLensError
from support.command_line import run as run_command
from support.random_networks import random_layers

distributed = pytest.importorskip("distributed", reason="needs the dask extra")
BOX = al.Box(-1, 1, dim=3)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def short_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_SHORT", "_LONG", "_LONGEST"):
        monkeypatch.setattr(coordinator, name, 0.1)


@pytest.fixture(scope="module")
def network() -> al.Network:
    return al.network(random_layers([3, 60, 60, 2], 1))


def same(one: al.RegionSet, other: al.RegionSet) -> bool:
    """Whether all columns are the same, byte by byte."""
    names = ("points", "patterns", "facet_values", "facet_signs", "facet_offsets")
    return all(getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in names)


@pytest.mark.usefixtures("short_jobs")
def test_a_worker_is_killed_and_nothing_is_missing_or_there_twice(
    client: Any, network: al.Network, tmp_path: Path
) -> None:
    alone = al.enumerate(network, BOX, workers=2)
    found = al.enumerate(network, BOX, executor=client)
    assert same(found, alone)

    def kill_one() -> None:
        time.sleep(0.3)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    walks = 0
    while walks == 0 or killer.is_alive():
        found = al.enumerate(network, BOX, executor=client, run=tmp_path / str(walks))
        assert found.status is al.Status.COMPLETE
        assert same(found, alone)
        walks += 1
    killer.join()
    found = al.enumerate(network, BOX, executor=client)
    assert same(found, alone)


@pytest.mark.usefixtures("short_jobs")
def test_a_count_and_a_limit(client: Any, network: al.Network) -> None:
    assert al.count(network, BOX, executor=client) == al.count(network, BOX)
    assert len(al.enumerate(network, BOX, executor=client, max_regions=5000)) == 5000


@pytest.mark.usefixtures("short_jobs")
def test_saved_columns_are_those_of_an_uninterrupted_run(client: Any, network: al.Network, tmp_path: Path) -> None:
    """Byte by byte, in the order of regions; files and their row groups are others."""
    from affinelens.regions.store.manifest import MANIFEST, read_manifest

    stopped = al.enumerate(network, BOX, executor=client, run=tmp_path / "there", max_regions=30_000)
    assert stopped.status is al.Status.REGION_LIMIT
    al.resume(tmp_path / "there", executor=client)
    al.enumerate(network, BOX, workers=2, run=tmp_path / "here")
    there, here = (al.load(tmp_path / name) for name in ("there", "here"))
    assert same(there, here)
    shards = read_manifest(tmp_path / "there", MANIFEST)["shards"]
    assert any(len(shard["file"]) > 40 for shard in shards)  # some were written by the workers


def test_nothing_stays_on_the_cluster(client: Any, network: al.Network) -> None:
    al.count(network, BOX, executor=client)
    for _ in range(50):
        left = [key for keys in client.has_what().values() for key in keys]
        if not left:
            break
        time.sleep(0.1)
    assert not left


def test_the_command_line_walks_on_a_cluster(cluster: Any, tmp_path: Path) -> None:
    (weight, bias), (last, offset) = random_layers([2, 12, 1], 1)
    model = tmp_path / "net.npz"
    np.savez(model, **{"0.weight": weight, "0.bias": bias, "2.weight": last, "2.bias": offset})
    asked = ("count", str(model), "--box", -1, 1, "--dask", cluster.scheduler_address)
    result = run_command(*asked)
    assert result.returncode == 0
    assert str(al.count(str(model), al.Box(-1, 1, dim=2))) in result.stdout


def test_an_address_at_which_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from affinelens.cli import dask_option

    monkeypatch.setattr(dask_option, "_PATIENCE", 1)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
    for given in (address, "nonsense://x", ""):
        with pytest.raises(AffineLensError, match="no Dask scheduler answers"):
            connected(given)


def test_an_asynchronous_client_is_refused(cluster: Any, network: al.Network) -> None:
    class Asynchronous:
        asynchronous = True
        submit = scatter = scheduler_info = nthreads = staticmethod(lambda: None)

    with pytest.raises(AffineLensError, match="asynchronous=False"):
        al.count(network, BOX, executor=Asynchronous())
