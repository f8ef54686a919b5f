"""Regions that go straight into a run directory and are read from there: rates, bytes and peak memory.

A process of its own. ``python -m benchmarks.into_directory 100000000 FOLDER`` walks 5-64x2 into a folder there, as far
as so many regions, with all cores, and says the same of that; the folder is removed again.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LARGE = (5, 64, 64, 1)
POINTS = 1000


def main() -> None:
    if len(sys.argv) > 1:
        found = measured(LARGE, None, int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
        print("\n".join(f"{name}: {value}" for name, value in found.items()))
    else:
        print(json.dumps(measured(json.load(sys.stdin), 1)))


def measured(sizes: Any, workers: int | None, most: int | None = None, parent: str | None = None) -> dict[str, Any]:
    """Seconds to walk, to open the run and to locate points, bytes a region, and peak memory until then."""
    import numpy as np

    import affinelens as al
    from benchmarks.networks import kaiming_uniform

    domain = al.Box(-1, 1, dim=sizes[0])
    al.count(kaiming_uniform((2, 2, 1), 0), al.Box(-1, 1, dim=2))
    points = np.random.default_rng(0).uniform(-1, 1, (POINTS, sizes[0]))
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        run = Path(folder) / "run"
        started = time.perf_counter()
        regions = al.enumerate(
            kaiming_uniform(sizes, 0), domain, workers=workers, facets=False, run=run, max_regions=most
        )
        found = {"regions": len(regions), "seconds": time.perf_counter() - started, "peak": _peak_memory()}
        found["bytes"] = sum(file.stat().st_size for file in run.iterdir()) / len(regions)
        started = time.perf_counter()
        loaded = al.load(run)
        found["open"] = time.perf_counter() - started
        for name in ("first_locate", "locate"):  # the first looks at the network and, once, compiles
            started = time.perf_counter()
            loaded.locate(points)
            found[name] = time.perf_counter() - started
        started = time.perf_counter()
        scanned = sum(batch.num_rows for batch in loaded.to_batches())
        found["scan"] = time.perf_counter() - started
        assert scanned == len(regions)
        found["reading_peak"] = _peak_memory()
    return found


def _peak_memory() -> int:
    """Bytes. What ``getrusage`` says of a process that was started by a larger one is that one's size, on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(next(line for line in status.read_text().splitlines() if "VmHWM" in line).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
