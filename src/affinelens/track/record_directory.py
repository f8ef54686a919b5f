"""Training records on disk: the table as JSON and CSV, and a run directory a snapshot.

As with a run, a record is written beside its destination and moved there in one step, and reading one trusts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from affinelens.api import load
from affinelens.domain import domain_from_json
from affinelens.errors import AffineLensError
from affinelens.files.given_path import given_path
from affinelens.files.saved_directory import naming_damage, read_description, require_place, written_whole
from affinelens.region_set import RegionSet
from affinelens.track.training_record import WORDS, Row, Snapshot, TrainingRecord
from affinelens.version import __version__

RECORD = "record.json"
TABLE = "table.csv"
_FORMAT = "affinelens training record"
_FORMAT_VERSION = 1
_LARGEST_RECORD = 64 * 2**20
_FLOAT_BITS = 1024


def save(record: TrainingRecord, path: Path, *, overwrite: bool = False) -> Path:
    """Write a record, whole or not at all."""
    require_place(path, overwrite=overwrite, marker=RECORD, content="a training record")
    data = {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "affinelens": __version__,
        "domain": record.domain.to_json(),
        "unit": record.unit,
        "rows": record.table,
        "snapshots": [snapshot.step for snapshot in record.snapshots],
    }
    with written_whole(path) as folder:
        (folder / TABLE).write_text(record.as_csv(), encoding="utf-8")
        (folder / RECORD).write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
        for snapshot in record.snapshots:
            snapshot.regions().save(folder / _run_name(snapshot.step))
    return path


def _run_name(step: int) -> str:
    return f"step-{step}"


def load_record(path: str | Path) -> TrainingRecord:
    """Read the record of a training, as :meth:`Tracker.save` wrote it; its snapshots are read when they are used.

    Parameters
    ----------
    path
        The directory.

    Returns
    -------
    TrainingRecord
        As it was saved.

    Raises
    ------
    AffineLensError
        If the directory holds no record, or one that is damaged or of another format version.

    Examples
    --------
    >>> import affinelens as al
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> tracker = al.track(al.Box(-1, 1, dim=1))
    >>> tracker([([[1.0]], [0.5]), ([[1.0]], [0.0])], 0)
    >>> with TemporaryDirectory() as folder:
    ...     al.load_record(tracker.save(Path(folder) / "training"))
    TrainingRecord(1 rows, 1 snapshots, Box([-1], [1]))
    """
    folder = given_path(path, "a training record")
    if not (folder / RECORD).is_file():
        raise AffineLensError(
            f"{folder}: not a training record (it has no {RECORD}); give a directory that a tracker's save() wrote"
        )
    with naming_damage(folder, "training record"):
        return _read(folder)


def _read(folder: Path) -> TrainingRecord:
    data = read_description(folder, RECORD, _FORMAT, _FORMAT_VERSION, _LARGEST_RECORD)
    unit = data["unit"]
    if not isinstance(unit, str) or not unit.isidentifier():
        raise AffineLensError(f"its steps are called {unit!r:.40}")
    rows = {_step(row.get(unit)): {unit: row.get(unit), **row} for row in map(_row, data["rows"])}
    snapshots = {step: Snapshot(step, unit, _regions_at(folder, step)) for step in map(_step, data["snapshots"])}
    return TrainingRecord(domain_from_json(data["domain"]), unit, rows, snapshots)


def _regions_at(folder: Path, step: int) -> Callable[[], RegionSet]:
    run = folder / _run_name(step)
    if run.is_symlink() or not run.is_dir():
        raise AffineLensError(f"it has no run {run.name}, though its {RECORD} names it")
    return partial(load, run)


def _row(data: Any) -> Row:
    """A row whose columns hold what `TrainingRecord.table` says, so that nothing fails on it later."""
    if not isinstance(data, dict):
        raise AffineLensError("its table holds something other than rows")
    for name, value in data.items():
        if not (isinstance(value, str) if name in WORDS else value is None or _is_number(value)):
            raise AffineLensError(f"its table has {value!r:.40} in the column {name!r:.40}")
    return data


def _is_number(value: Any) -> bool:
    """Whether it is a float or an integer that has one near it."""
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and value.bit_length() < _FLOAT_BITS)


def _step(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise AffineLensError(f"it has {value!r:.40} where a step belongs")
    return value
