"""Finding the files of a data set in the directory that a user gave."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from affinelens.errors import AffineLensError

_LARGEST_BATCH = 64 * 2**20


def require_folder(data: Path) -> None:
    """Refuse a data directory that is not there."""
    if not data.is_dir():
        found = "is not a directory" if data.exists() else "no such directory"
        raise AffineLensError(f"{data}: {found}; --data takes the directory that holds the image files")


def folder_with(data: Path, folders: Sequence[str], files: Sequence[str]) -> Path | None:
    """The data directory, or the first of the named folders in it, that holds one of the files."""
    for folder in (data, *(data / name for name in folders)):
        if first_file(folder, files) is not None:
            return folder
    return None


def batch_bytes(path: Path) -> bytes:
    """All of a file with a batch of images, which is not large."""
    try:
        if path.stat().st_size > _LARGEST_BATCH:
            raise AffineLensError(f"{path}: is larger than {_LARGEST_BATCH >> 20} MiB, which no batch of images is")
        return path.read_bytes()
    except OSError as error:
        raise AffineLensError(f"{path}: cannot be read ({error.strerror}); give another file") from error


def required_file(folder: Path, names: Sequence[str], title: str, where: str) -> Path:
    """The first of the names that is a file in the folder, or an error that says where to put it."""
    file = first_file(folder, names)
    if file is None:
        raise AffineLensError(f"{folder}: {title} lacks {names[0]}; {where}")
    return file


def first_file(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of the names that is a file in the folder."""
    return next((folder / name for name in names if (folder / name).is_file()), None)
