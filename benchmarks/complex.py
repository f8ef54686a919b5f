"""What is found from regions once they are there: adjacency, linear regions, and the audit of a saved run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import affinelens as al
from benchmarks.networks import kaiming_uniform, name_of

MILLION = (3, 108, 108, 1)
SMALLER = (3, 64, 64, 1)
TLL_DOMAIN = al.Box(-2, 2, dim=2)


def complex_of_regions(*, quick: bool) -> None:
    """Seconds for about a million regions; kernels are compiled before."""
    sizes = SMALLER if quick else MILLION
    al.enumerate(kaiming_uniform((3, 4, 1), 0), al.Box(-1, 1, dim=3)).audit()
    found = al.enumerate(kaiming_uniform(sizes, 0), al.Box(-1, 1, dim=3))
    with tempfile.TemporaryDirectory() as folder:
        rs = al.load(found.save(Path(folder) / "run"))
    started = time.perf_counter()
    pairs = len(rs.adjacency().pairs)
    adjacency = time.perf_counter()
    linear = rs.linear_regions()
    joined = time.perf_counter()
    print(
        f"{name_of(sizes)}, {len(rs)} regions: adjacency {adjacency - started:.1f} s ({pairs} pairs), linear regions "
        f"{joined - adjacency:.1f} s ({len(linear)} of them)",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        report = al.load(found.save(Path(folder) / "run")).audit()
    assert report.proves_complete
    print(f"{name_of(sizes)}, audit {report.seconds:.1f} s: passed, complete by proof", flush=True)


def linear_regions_of(models: Sequence[str]) -> None:
    """Regions and affine maps of two-level-lattice networks."""
    for model in models:
        rs = al.enumerate(model, TLL_DOMAIN)
        started = time.perf_counter()
        linear = rs.linear_regions()
        seconds = time.perf_counter() - started
        print(
            f"{Path(model).name}: {len(rs)} regions, {len(linear)} linear regions, {linear.distinct_maps} affine maps, "
            f"{seconds:.1f} s",
            flush=True,
        )
