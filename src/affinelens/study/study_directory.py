"""The directory of a study: its configuration, a folder a trained network, and what is made of them at the end.

::

    config.json                      what was asked for; a study goes on only with the same
    runs/NAME_seed-0/rows.json       what was measured of a network
    runs/NAME_seed-0/epoch-500.safetensors
    table.parquet, table.csv, report.md, *.png, *.svg

The folder of a run gets its name when it is whole, so that an interrupt or a full disk loses nothing that was done.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from affinelens.errors import AffineLensError
from affinelens.files.saved_directory import move_into_place, plain_file_inside, require_place
from affinelens.study.declaration import Row
from affinelens.study.setup import shown
from affinelens.study.table_files import write_table
from affinelens.version import __version__

CONFIG = "config.json"
TABLE = "table"
REPORT = "report.md"
_RUNS = "runs"
_ROWS = "rows.json"
_UNFINISHED = ".unfinished-"
_FORMAT = "affinelens study"
_FORMAT_VERSION = 1
# What every row says, beside the labels of its configuration.
NUMBERS = ("seed", "epoch", "regions", "loss", "accuracy", "training_seconds", "compiling_seconds", "counting_seconds")
_LARGEST_FILE = 16 * 2**20


class StudyDirectory:
    """Where a study keeps what it has done."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, asked: dict[str, Any], *, resume: bool) -> None:
        """Make the directory, or make sure that the study in it is the one that is asked for."""
        if resume and (self.path / CONFIG).is_file():
            self._require_same(asked)
            for leftover in (self.path / _RUNS).glob(f"{_UNFINISHED}*"):
                shutil.rmtree(leftover, ignore_errors=True)
            return
        if (self.path / CONFIG).is_file():
            raise AffineLensError(
                f"{self.path}: already holds a study; go on with it (resume=True, --resume) or choose another directory"
            )
        require_place(self.path, overwrite=False, marker=CONFIG, content="a study")
        data = {"format": _FORMAT, "format_version": _FORMAT_VERSION, "affinelens": __version__, **asked}
        with self.writing():
            (self.path / _RUNS).mkdir(parents=True, exist_ok=True)
            self.write_text(CONFIG, json.dumps(data, indent=1) + "\n")

    def has(self, run: str) -> bool:
        """Whether a run was finished."""
        return (self.path / _RUNS / run / _ROWS).is_file()

    @contextmanager
    def new_run(self, run: str) -> Iterator[Path]:
        """A folder for a run that is being made; it gets its name at the end, and is gone if something goes wrong."""
        with self.writing():
            folder = Path(tempfile.mkdtemp(dir=self.path / _RUNS, prefix=_UNFINISHED))
        try:
            yield folder
            with self.writing():
                folder.chmod(0o755)
                move_into_place(folder, self.path / _RUNS / run)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write_rows(self, new_run: Path, rows: Sequence[Row]) -> None:
        """Write what was measured, which makes a run whole."""
        with self.writing():
            (new_run / _ROWS).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")

    def write_snapshot(self, new_run: Path, epoch: int, tensors: dict[str, Any]) -> None:
        """Write a module's parameters and buffers."""
        from safetensors.torch import save

        stored = save({name: tensor.detach().clone() for name, tensor in tensors.items()})
        with self.writing():
            (new_run / _snapshot_name(epoch)).write_bytes(stored)

    def rows(self, run: str) -> list[Row]:
        """What was measured of a run."""
        try:
            rows = json.loads(_small_text(self.path / _RUNS / run, _ROWS))
        except (OSError, ValueError, RecursionError) as error:
            raise self._damaged(run) from error
        if not isinstance(rows, list) or not all(map(_is_row, rows)):
            raise self._damaged(run)
        return rows

    def snapshot(self, run: str, epoch: int) -> dict[str, Any]:
        """The parameters of a network after an epoch, as torch tensors."""
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return dict(load_file(plain_file_inside(self.path / _RUNS / run, _snapshot_name(epoch))))
        except (OSError, ValueError, KeyError, SafetensorError) as error:
            raise self._damaged(run) from error

    def write_table(self, rows: Sequence[Row]) -> None:
        """Write all rows, as Parquet and as CSV."""
        with self.writing():
            write_table(rows, self.path, TABLE)

    def write_text(self, name: str, text: str) -> None:
        """Write a small file."""
        with self.writing():
            (self.path / name).write_text(text, encoding="utf-8")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Say in a sentence what keeps the directory from being written."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise AffineLensError(
                f"{self.path}: cannot be written ({reason}); what was finished is kept, make room and go on with "
                f"resume (--resume)"
            ) from error

    def _require_same(self, asked: dict[str, Any]) -> None:
        try:
            begun = json.loads(_small_text(self.path, CONFIG))
        except (OSError, ValueError, RecursionError) as error:
            raise AffineLensError(f"{self.path}: its {CONFIG} cannot be read; choose another directory") from error
        if not isinstance(begun, dict) or (begun.get("format"), begun.get("format_version")) != (
            _FORMAT, _FORMAT_VERSION,
        ):  # fmt: skip
            raise AffineLensError(f"{self.path}: its {CONFIG} is not one that a study wrote; choose another directory")
        for name, before, now in _pairs(begun, json.loads(json.dumps(asked))):
            if before != now:
                raise AffineLensError(
                    f"{self.path}: was begun with {name} {shown(before)!s:.80}, but now {name} is {shown(now)!s:.80}; "
                    f"give the same options or choose another directory"
                )

    def _damaged(self, run: str) -> AffineLensError:
        return AffineLensError(
            f"{self.path / _RUNS / run}: damaged; remove that folder and go on with resume (--resume)"
        )


def _snapshot_name(epoch: int) -> str:
    return f"epoch-{epoch}.safetensors"


def _pairs(begun: dict[str, Any], asked: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """What was asked for then and now, choices of the set-up one by one."""
    for name, now in asked.items():
        before = begun.get(name)
        if isinstance(now, dict) and isinstance(before, dict):
            yield from ((inner, before.get(inner), now.get(inner)) for inner in {**before, **now})
        else:
            yield name, before, now


def _small_text(folder: Path, name: str) -> str:
    file = plain_file_inside(folder, name)
    if file.stat().st_size > _LARGEST_FILE:
        raise ValueError(f"{name} is larger than any that a study writes")
    return file.read_text(encoding="utf-8")


def _is_row(row: Any) -> bool:
    """Whether it is a row of plain values with those that every row has."""
    if not isinstance(row, dict) or not all(v is None or isinstance(v, str | int | float) for v in row.values()):
        return False
    return all(isinstance(row.get(name), int | float) for name in NUMBERS)
