"""``make bench``: how fast regions are found, one process against two, and against a peer where one is given.

``RELUCENT_PYTHON=path/to/python make bench`` adds relucent, from an environment of its own that has it installed,
on the same networks in the same run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import affinelens as al
from benchmarks.networks import Layers, kaiming_uniform

LOW_DIMENSION = [((3, 16, 16, 2), 0), ((3, 16, 16, 2), 1), ((2, 32, 32, 32, 1), 0), ((4, 12, 12, 2), 0)]
WITH_PEER = LOW_DIMENSION[:2]
HIGH_DIMENSION = (784, 32, 32, 10)
RADIUS = 0.0085


def main() -> None:
    columns = ("enumerate", "two workers", "count", "relucent")
    print(f"{'network':>16} {'regions':>8} {' '.join(f'{name:>12}' for name in columns)} {'ratio':>7}")
    for sizes, seed in LOW_DIMENSION:
        low_dimension(sizes, seed)
    high_dimension()


def low_dimension(sizes: tuple[int, ...], seed: int) -> None:
    layers = kaiming_uniform(sizes, seed)
    domain = al.Box(-1, 1, dim=sizes[0])
    regions, one = rate(layers, domain, workers=1)
    _, two = rate(layers, domain, workers=2)
    started = time.perf_counter()
    al.count(layers, domain, workers=1)
    counting = regions / (time.perf_counter() - started)
    peer = relucent_rate(layers, regions) if (sizes, seed) in WITH_PEER else None
    name = "-".join(map(str, sizes))
    ratio = f"{one / peer:6.1f}x" if peer else "-"
    shown = f"{peer:10.0f}/s" if peer else "-"
    print(f"{name:>16} {regions:>8} {one:10.0f}/s {two:10.0f}/s {counting:10.0f}/s {shown:>12} {ratio:>7}", flush=True)


def rate(model: Any, domain: al.Domain, *, workers: int) -> tuple[int, float]:
    started = time.perf_counter()
    regions = al.enumerate(model, domain, workers=workers)
    assert regions.status is al.Status.COMPLETE
    return len(regions), len(regions) / (time.perf_counter() - started)


def high_dimension() -> None:
    """An l-infinity ball in 784 dimensions."""
    layers = kaiming_uniform(HIGH_DIMENSION, 0)
    middle = np.full(HIGH_DIMENSION[0], 0.5)
    started = time.perf_counter()
    regions = al.enumerate(layers, al.Box(middle - RADIUS, middle + RADIUS))
    seconds = time.perf_counter() - started
    name = "-".join(map(str, HIGH_DIMENSION))
    print(f"{name:>16} {len(regions):>8} regions within {RADIUS:g} of the middle in {seconds:.0f} s: {regions.status}")


def relucent_rate(layers: Layers, regions: int) -> float | None:
    """Regions per second of relucent on the same network, or None if no interpreter that has it was given."""
    interpreter = os.environ.get("RELUCENT_PYTHON")
    if not interpreter:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layers.npz"
        arrays: dict[str, Any] = {
            f"{kind}{i}": a for i, pair in enumerate(layers) for kind, a in zip("Wb", pair, strict=True)
        }
        np.savez(path, **arrays)
        script = Path(__file__).with_name("relucent_rate.py")
        command = [interpreter, str(script), str(path)]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stderr.strip().splitlines()[-1], file=sys.stderr)
        return None
    found, per_second = result.stdout.split()[-2:]
    if int(found) != regions:
        print(f"relucent found {found} regions, not {regions}", file=sys.stderr)
    return float(per_second)


if __name__ == "__main__":
    main()
