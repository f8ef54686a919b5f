"""What travels between machines: JSON and arrays in one run of bytes, in which nothing can run code.

It is an uncompressed ``.npz`` file, whose entries have check sums.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz_bytes

Arrays = dict[str, NDArray[Any]]
_STRUCTURE = "structure"


def packed(structure: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A message of a JSON structure and arrays."""
    text = np.frombuffer(json.dumps(structure).encode(), dtype=np.uint8)
    stream = BytesIO()
    entries: dict[str, Any] = {**arrays, _STRUCTURE: text}
    np.savez(stream, **entries)
    return stream.getvalue()


def unpacked(message: bytes) -> tuple[dict[str, Any], Arrays]:
    """A message's structure and arrays; one that was damaged on its way is refused."""
    try:
        arrays = read_npz_bytes(message)
        structure = json.loads(arrays.pop(_STRUCTURE).tobytes())
    except (AffineLensError, KeyError, TypeError, ValueError) as error:
        raise AffineLensError(
            "what arrived is no message of affinelens, of another version, or was damaged on its way"
        ) from error
    if not isinstance(structure, dict):
        raise AffineLensError("what arrived is a message without a structure")
    return structure, arrays


def named(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Arrays under names that begin with a prefix."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def of_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Those arrays whose names begin with a prefix, without it."""
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
