"""How long measuring takes: columns of a million 3-D regions, and the metrics of a classifier on the plane."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import affinelens as al
from benchmarks.networks import kaiming_uniform

MILLION = (3, 128, 84, 1)
CLASSIFIER = (2, 64, 64, 64, 64, 2)
COLUMNS = ("volume", "centroid", "inradius", "jacobian_norm", "crossed", "border_distance", "volume_error")


def table() -> None:
    """Seconds a column, each after those before it, which some of them build on."""
    few = al.enumerate(kaiming_uniform((2, 4, 1), 0), al.Box(-1, 1, dim=2))
    for name in COLUMNS:  # kernels are loaded before any time is taken
        few.column(name)
    for sizes in (MILLION, CLASSIFIER):
        domain = al.Box(-1, 1, dim=sizes[0])
        regions = al.enumerate(kaiming_uniform(sizes, 0), domain)
        found = [f"vertices (found again) {_seconds(regions.vertices):.2f} s"]
        found += [f"{name} {_seconds(partial(regions.column, name)):.2f} s" for name in COLUMNS]
        found.append(f"then metrics {_seconds(regions.metrics):.2f} s")
        off = abs(float(regions.volumes().sum()) - 2.0**domain.dim)
        print(
            f"{'-'.join(map(str, sizes))}, {len(regions)} regions: {', '.join(found)}; volumes sum to within {off:.0e}"
        )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    table()
