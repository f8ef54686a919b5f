"""Reading one input from a file: plain numbers only, and no more memory than the file itself takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz

_LARGEST_TEXT = 64 * 2**20


def read_vector(path: Path) -> NDArray[Any]:
    """The array in an ``.npy`` file or alone in an ``.npz`` file, or the numbers of a text file, in order."""
    if path.suffix == ".npz":
        arrays = read_npz(path)
        if len(arrays) != 1:
            raise AffineLensError(
                f"{path}: an input is one array, but the file holds {len(arrays)}; save it alone, as an .npy file"
            )
        array = next(iter(arrays.values()))
    elif not path.is_file():
        raise AffineLensError(f"{path}: no such file; give an input as an .npy, .npz, .csv or .txt file")
    else:
        array = _read_npy(path) if path.suffix == ".npy" else _read_text(path)
    if array.dtype.kind not in "fiu" or array.size == 0:
        raise AffineLensError(f"{path}: holds {array.dtype} numbers of shape {array.shape}; an input is real numbers")
    return array


def _read_npy(path: Path) -> NDArray[Any]:
    try:
        # A map cannot be larger than its file, whatever shape the header declares.
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except Exception:  # a damaged file fails in many ways, none of which a user can tell apart
        raise AffineLensError(f"{path}: not a readable .npy file of plain numbers; save it with numpy.save") from None


def _read_text(path: Path) -> NDArray[np.float64]:
    if path.stat().st_size > _LARGEST_TEXT:
        raise AffineLensError(f"{path}: holds more than {_LARGEST_TEXT >> 20} MiB of text; save it with numpy.save")
    try:
        words = path.read_text(encoding="utf-8").replace(",", " ").split()
        return np.array([float(word) for word in words], dtype=np.float64)
    except (ValueError, OSError):
        raise AffineLensError(f"{path}: a text file of an input holds numbers, separated by commas or spaces") from None
