"""Two processes of a Dask cluster against two threads, in turn: ``python -m benchmarks.cluster``.

Regions go to a run directory that the workers reach, with their facets; a count only counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import affinelens as al
from benchmarks.networks import kaiming_uniform, name_of

ENUMERATED = (4, 80, 80, 1)
COUNTED = (4, 96, 96, 1)


def table(times: int = 3) -> None:
    """A row for each of both; the middle of so many pairs."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as client,
        tempfile.TemporaryDirectory() as folder,
    ):
        small, square = kaiming_uniform((2, 8, 1), 0), al.Box(-1, 1, dim=2)
        al.count(small, square)
        client.run(al.count, small, square)  # has the kernels loaded everywhere
        print(f"{'':>10} {'':>10} {'regions':>12} {'two threads':>12} {'Dask, two':>12}  share of the rate")
        for what, sizes, ask in (("enumerate", ENUMERATED, _enumerated(Path(folder))), ("count", COUNTED, al.count)):
            _row(what, sizes, ask, client, times)


def _row(what: str, sizes: tuple[int, ...], ask: Callable[..., Any], client: Any, times: int) -> None:
    model, domain = kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=sizes[0])
    pairs = []
    for turn in range(times):
        seconds, found = {}, set()
        for on_dask in (turn % 2 == 0, turn % 2 == 1):
            started = time.perf_counter()
            found.add(ask(model, domain, **({"executor": client} if on_dask else {"workers": 2})))
            seconds[on_dask] = time.perf_counter() - started
        (regions,) = found
        pairs.append((seconds[False] / seconds[True], seconds[False], seconds[True]))
    share, here, there = sorted(pairs)[len(pairs) // 2]
    print(
        f"{name_of(sizes):>10} {what:>10} {regions:>12,} {here:10.1f} s {there:10.1f} s  {share:.1%} "
        f"({', '.join(f'{pair[0]:.1%}' for pair in pairs)}; load {os.getloadavg()[0]:.1f})",
        flush=True,
    )


def _enumerated(folder: Path) -> Callable[..., int]:
    def ask(model: Any, domain: al.Domain, **options: Any) -> int:
        """How many regions are in a run directory that is gone then."""
        run = folder / "run"
        found = len(al.enumerate(model, domain, run=run, **options))
        shutil.rmtree(run)
        return found

    return ask


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="pairs of each")
    table(parser.parse_args().times)


if __name__ == "__main__":
    main()
