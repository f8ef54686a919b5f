"""``python -m benchmarks.pictures``: how long it takes to draw 100 000 regions into a PNG file, from the regions on."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import affinelens as al
from affinelens.plot import save_picture
from benchmarks.networks import kaiming_uniform, name_of

SIZES = (2, 192, 192, 192, 2)
PICTURES: list[tuple[str, dict[str, Any]]] = [
    ("neighbors", {}),
    ("class, with the decision boundary", {"color": "class"}),
    ("volume", {"color": "volume"}),
    ("units' lines by stage", {"color": "class", "hyperplanes": True}),
    ("a window of a tenth", {"window": (0.0, 0.2, 0.0, 0.2)}),
]


def table() -> None:
    """Seconds for each picture; every one starts from a set whose geometry is not known yet."""
    model, domain = kaiming_uniform(SIZES, 0), al.Box(-1, 1, dim=2)
    al.enumerate(kaiming_uniform((2, 8, 2), 0), domain).plot(color="volume")
    with tempfile.TemporaryDirectory() as folder:
        for name, options in PICTURES:
            regions = al.enumerate(model, domain)
            started, worked = time.perf_counter(), time.process_time()
            path = save_picture(regions.plot(**options), Path(folder) / "picture.png")
            seconds, work = time.perf_counter() - started, time.process_time() - worked
            print(
                f"{name_of(SIZES)}, {len(regions)} regions, {name}: {seconds:.1f} s ({work:.1f} s of processor time) "
                f"into a PNG of {path.stat().st_size / 2**20:.1f} MiB",
                flush=True,
            )


if __name__ == "__main__":
    table()
