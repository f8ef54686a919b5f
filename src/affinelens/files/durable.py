"""Files that are still there, and whole, after the machine loses power."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def sync_file(file: Path) -> None:
    """Wait until what was written to a file is on the disk."""
    with file.open("r+b") as stream:
        os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names of files in a folder are on the disk; some systems cannot say so, and need not be asked."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_npz(file: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name as an ``.npz`` file that is on the disk."""
    with file.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
    sync_file(file)


def replace_file(file: Path, content: bytes, *, keep_as: Path | None = None) -> None:
    """Give a file other content at one moment; what it had before is kept under another name, if one is given."""
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_bytes(content)
        sync_file(beside)
        if keep_as is not None and file.exists():
            _keep(file, keep_as)
        os.replace(beside, file)
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(file.parent)


def _keep(file: Path, name: Path) -> None:
    """A second name for a file, which then stays what it is; a copy where files cannot have two names."""
    beside = name.with_name(f"{name.name}.new")
    try:
        beside.unlink(missing_ok=True)
        try:
            os.link(file, beside)
        except OSError:
            shutil.copyfile(file, beside)
            sync_file(beside)
        os.replace(beside, name)
    finally:
        beside.unlink(missing_ok=True)
