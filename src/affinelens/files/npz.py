"""Reading ``.npz`` files from anywhere: plain numbers only, and no more memory than the file can justify."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError

# A compressed archive may unpack to this much, or to this many times its own size, whichever is more.
_SMALL_ENOUGH = 64 * 2**20
_LARGEST_RATIO = 200


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file, in the file's order; pickled objects are refused."""
    if not path.exists():
        raise AffineLensError(f"{path}: no such file; give an .npz file")
    if not path.is_file():
        raise AffineLensError(f"{path}: not a file; give an .npz file")
    try:
        with path.open("rb") as stream:
            _require_plausible_size(stream, path)
            with np.load(stream, allow_pickle=False) as archive:
                return {name: archive[name] for name in archive.files}
    except AffineLensError:
        raise
    except Exception as error:  # a damaged archive fails in many ways, none of which a user can tell apart
        raise AffineLensError(f"{path}: not a readable .npz file of plain numbers; save it with numpy.savez") from error


def _require_plausible_size(stream: Any, path: Path) -> None:
    with zipfile.ZipFile(stream) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > max(_SMALL_ENOUGH, _LARGEST_RATIO * path.stat().st_size):
        raise AffineLensError(f"{path}: would unpack to {unpacked} bytes, far more than it holds; save it uncompressed")
    stream.seek(0)
