"""A walk on a Dask cluster, one of whose two hosts is cut off in the middle.

The client, the scheduler and both workers are each in a network namespace of its own, which takes Linux, root and the
``ip`` command: ``PYTHONPATH=tests python -m support.cut_off``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import affinelens as al
from support.random_networks import random_layers

SIZES = [3, 110, 110, 2]
PATIENCE = 300.0
_HOSTS = ("client", "scheduler", "one", "other")
_PORT = 8786
_WALK = """
import sys
from pathlib import Path
from distributed import Client
import affinelens as al
from affinelens.engine.executors import coordinator
from support.cut_off import asked
address, place, patience = sys.argv[1:]
if patience:
    coordinator._PATIENCE = coordinator._PATIENCE_IN_BUDGETS = float(patience)
for name in ("_SHORT", "_LONG", "_LONGEST"):
    setattr(coordinator, name, 0.3)
told = []
def tell(progress):
    if progress.regions > 20_000 and not told:
        told.append(print("walking", flush=True))
with Client(address, timeout=60) as client:
    client.wait_for_workers(2, timeout=120)
    asked(executor=client, run=place or None, progress=tell)
    print("ended", flush=True)
"""


def asked(**options: object) -> al.RegionSet:
    """A walk of some seconds."""
    return al.enumerate(random_layers(SIZES, 1), al.Box(-1, 1, dim=SIZES[0]), **options)


class Ended(NamedTuple):
    """How many seconds the walk went on after the cut, and whether it ended with all regions, and nothing else."""

    seconds: float
    is_same: bool


class Hosts:
    """Hosts on one wire."""

    def __init__(self) -> None:
        self._mark = f"al{os.getpid()}"
        self._wire = f"{self._mark}w"

    def __enter__(self) -> Hosts:
        try:
            _ip("netns", "add", self._wire)
            _ip("-n", self._wire, "link", "add", "wire", "type", "bridge")
            _ip("-n", self._wire, "link", "set", "wire", "up")
            for number, host in enumerate(_HOSTS):
                own = self._name(host)
                _ip("netns", "add", own)
                _ip(
                    "-n", own, "link", "add", "eth0", "type", "veth", "peer", "name", f"to{number}", "netns", self._wire
                )
                _ip("-n", self._wire, "link", "set", f"to{number}", "master", "wire", "up")
                _ip("-n", own, "address", "add", f"{address(host)}/24", "dev", "eth0")
                _ip("-n", own, "link", "set", "eth0", "up")
                _ip("-n", own, "link", "set", "lo", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for name in [*(self._name(host) for host in _HOSTS), self._wire]:
            with suppress(OSError, subprocess.CalledProcessError):
                _ip("netns", "delete", name)

    def cut_off(self, host: str) -> None:
        """From here on nothing that a host sends arrives anywhere, and nobody is told."""
        _ip("-n", self._wire, "link", "set", f"to{_HOSTS.index(host)}", "nomaster")

    @contextmanager
    def running(self, host: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        """A Python process on a host."""
        command = ["ip", "netns", "exec", self._name(host), sys.executable, *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def _name(self, host: str) -> str:
        return f"{self._mark}{_HOSTS.index(host)}"


def address(host: str) -> str:
    """Where a host is."""
    return f"10.213.0.{_HOSTS.index(host) + 1}"


def can_be_made() -> bool:
    """Whether this is a machine with such namespaces, and ours to make some."""
    try:
        with Hosts():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def walk_and_cut(place: Path | None, patience: float | None = None) -> Ended:
    """Have a cluster walk, into a run directory that all reach or streamed to the client, and cut one host off.

    ``patience`` is how many seconds a silent job is waited for, if not as long as usual.
    """
    scheduler = f"tcp://{address('scheduler')}:{_PORT}"
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        hosts = running.enter_context(Hosts())
        run = Path(folder) / "run" if place is None else place
        start = ("-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--host", address("scheduler"))
        running.enter_context(hosts.running("scheduler", *start, "--port", str(_PORT)))
        for host in ("one", "other"):
            options = ("--no-dashboard", "--no-nanny", "--nthreads", "1", "--host", address(host))
            running.enter_context(hosts.running(host, "-m", "distributed.cli.dask_worker", scheduler, *options))
        given = ("-c", _WALK, scheduler, str(run), "" if patience is None else str(patience))
        client = running.enter_context(hosts.running("client", *given))
        assert client.stdout is not None
        if client.stdout.readline() != "walking\n":
            raise AssertionError("the walk did not begin")
        hosts.cut_off("other")
        cut = time.monotonic()
        if client.stdout.readline() != "ended\n":
            raise AssertionError("the walk did not end")
        return Ended(time.monotonic() - cut, _is_same(run))


def _is_same(run: Path) -> bool:
    found, alone = al.load(run), asked(workers=2)
    names = ("points", "patterns", "facet_values", "facet_signs", "facet_offsets")
    return found.status is al.Status.COMPLETE and all(
        getattr(found, name).tobytes() == getattr(alone, name).tobytes() for name in names
    )


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


def main() -> None:
    """Walk and cut so many times, and say how long it took to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--patience", type=float, help="seconds that a silent job is waited for (default: as always)")
    options = parser.parse_args()
    wrong = 0
    for _ in range(options.times):
        ended = walk_and_cut(None, options.patience)
        wrong += not ended.is_same
        print(f"ended {ended.seconds:.1f} s after the cut, same: {ended.is_same}", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
