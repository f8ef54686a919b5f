"""A training record, as its bytes: what mutants of JSON are made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

import affinelens as al
from affinelens.track.record_directory import RECORD
from support.random_networks import random_layers


def json_samples(folder: Path) -> list[bytes]:
    """Write two records, whose JSON these are, in places where `json_reader` finds the rest of them."""
    domains = [al.Box(-1, 1, dim=2), al.Slice.through([0, 0], [1, 0.5], [0, 1])]
    written = []
    for number, domain in enumerate(domains):
        tracker = al.track(domain, keep=[0, 2])
        for step in range(3):
            tracker(random_layers([2, 4, 2], seed=step), step)
        written.append((tracker.save(folder / f"record-{number}") / RECORD).read_bytes())
    return written


def json_reader(folder: Path) -> Callable[[bytes], object]:
    """Read a record of the given description, and if that goes all that is in it."""
    path = folder / "record-0"

    def read(content: bytes) -> object:
        (path / RECORD).write_bytes(content)
        record = al.load_record(path)
        regions = [snapshot.regions for snapshot in record.snapshots]
        record.plot(Figure().subplots())
        return repr(record), record.table, record.as_csv(), record.domain.to_json(), regions

    return read
