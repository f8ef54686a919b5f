"""Regions a second and peak memory when regions go straight into a run directory; a process of its own."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    import affinelens as al
    from benchmarks.networks import kaiming_uniform

    sizes = json.load(sys.stdin)
    domain = al.Box(-1, 1, dim=sizes[0])
    al.count(kaiming_uniform((2, 2, 1), 0), al.Box(-1, 1, dim=2))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        regions = al.enumerate(kaiming_uniform(sizes, 0), domain, workers=1, facets=False, run=Path(folder) / "run")
        seconds = time.perf_counter() - started
        found = len(regions)
    print(json.dumps({"regions": found, "seconds": seconds, "peak": _peak_memory()}))


def _peak_memory() -> int:
    """Bytes. What ``getrusage`` says of a process that was started by a larger one is that one's size, on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(next(line for line in status.read_text().splitlines() if "VmHWM" in line).split()[1])
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
