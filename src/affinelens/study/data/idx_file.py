"""Reading IDX files, plain or gzipped: no more memory than the file can justify, whatever its header declares."""

from __future__ import annotations

import gzip
import struct
import zlib
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError

_UNSIGNED_BYTES = 8
# gzip makes nothing smaller than by this much.
_LARGEST_RATIO = 1032
_LARGEST = 256 * 2**20


def read_idx(path: Path, dimensions: int) -> NDArray[np.uint8]:
    """The array of unsigned bytes in an IDX file, which has the given number of dimensions."""
    packed = path.name.endswith(".gz")
    try:
        room = path.stat().st_size * (_LARGEST_RATIO if packed else 1)
        with gzip.open(path) if packed else path.open("rb") as stream:
            header = stream.read(4)
            if len(header) < 4 or header[:2] != b"\0\0":
                raise AffineLensError(f"{path}: not an IDX file (it does not begin as one); download it again")
            if header[2] != _UNSIGNED_BYTES or header[3] != dimensions:
                raise AffineLensError(
                    f"{path}: holds numbers of type {header[2]} in {header[3]} dimensions, but unsigned bytes "
                    f"(type {_UNSIGNED_BYTES}) in {dimensions} are needed; is it the right file?"
                )
            sizes = stream.read(4 * dimensions)
            if len(sizes) < 4 * dimensions:
                raise AffineLensError(f"{path}: the file ends within its header; download it again")
            shape = struct.unpack(f">{dimensions}I", sizes)
            size = prod(shape)
            if size > min(room, _LARGEST):
                raise AffineLensError(
                    f"{path}: declares {size} bytes of data, more than a file of this size can hold; download it again"
                )
            data = stream.read(size + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise AffineLensError(f"{path}: cannot be read ({error}); download it again") from error
    if len(data) != size:
        found = f"only {len(data)}" if len(data) < size else "more"
        raise AffineLensError(f"{path}: declares {size} bytes of data but holds {found}; download it again")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)
