"""Reading ``.npz`` files from anywhere: plain numbers only, and no more memory than the file can justify."""

from __future__ import annotations

import zipfile
from io import BytesIO
from math import prod
from pathlib import Path
from typing import IO, Any

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
        with zipfile.ZipFile(path) as archive:
            require_plausible_size(archive, path)
            return _arrays(archive)
    except AffineLensError:
        raise
    except Exception:  # a damaged archive fails in many ways, none of which a user can tell apart
        raise AffineLensError(f"{path}: not a readable .npz file of plain numbers; save it with numpy.savez") from None


def read_npz_bytes(content: bytes) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file's content, saved uncompressed; pickled objects are refused."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > len(content):
                raise ValueError("it unpacks to more than it holds")
            return _arrays(archive)
    except Exception:  # as above
        raise AffineLensError("not readable as plain numbers saved with numpy.savez") from None


def require_plausible_size(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse an archive that would unpack to far more than it holds."""
    unpacked = sum(entry.file_size for entry in archive.infolist())
    if unpacked > max(_SMALL_ENOUGH, _LARGEST_RATIO * path.stat().st_size):
        raise AffineLensError(f"{path}: would unpack to {unpacked} bytes, far more than it holds; save it uncompressed")


def _arrays(archive: zipfile.ZipFile) -> dict[str, NDArray[Any]]:
    return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in archive.infolist()}


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """The array of an entry whose header declares as many bytes as there are."""
    with archive.open(entry) as stream:
        shape, is_fortran, kind = _header(stream)
        size = prod(shape) * kind.itemsize
        if kind.hasobject or not kind.itemsize or not 0 <= size <= entry.file_size:
            raise ValueError("what the header declares is not there")
        content = stream.read(size)
    order: Any = "F" if is_fortran else "C"
    return np.frombuffer(bytearray(content), dtype=kind).reshape(shape, order=order)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Versions after the second are for records with names in other scripts, which are no plain numbers."""
    version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, is_fortran, kind = read(stream)
    if min(shape, default=0) < 0:
        raise ValueError("a shape is negative")
    return shape, is_fortran, kind
