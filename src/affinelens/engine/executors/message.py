"""What travels between machines: JSON and arrays in one run of bytes, hashed, in which nothing can run code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz_bytes

Arrays = dict[str, NDArray[Any]]
_MAGIC = b"affinelens message 1\n"
_DIGEST = 32
_STRUCTURE = "structure"


def packed(structure: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A message of a JSON structure and arrays."""
    text = np.frombuffer(json.dumps(structure).encode(), dtype=np.uint8)
    stream = BytesIO()
    entries: dict[str, Any] = {**arrays, _STRUCTURE: text}
    np.savez(stream, **entries)
    body = stream.getvalue()
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpacked(message: bytes) -> tuple[dict[str, Any], Arrays]:
    """A message's structure and arrays; one that was damaged on its way is refused."""
    start = len(_MAGIC) + _DIGEST
    if not isinstance(message, bytes) or not message.startswith(_MAGIC):
        raise AffineLensError("what arrived is no message of this version of affinelens; use one version everywhere")
    body = message[start:]
    if hashlib.sha256(body).digest() != message[len(_MAGIC) : start]:
        raise AffineLensError("a message was damaged on its way")
    arrays = read_npz_bytes(body)
    try:
        structure = json.loads(arrays.pop(_STRUCTURE).tobytes())
    except (KeyError, ValueError) as error:
        raise AffineLensError("a message has no structure") from error
    if not isinstance(structure, dict):
        raise AffineLensError("a message has no structure")
    return structure, arrays


def named(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Arrays under names that begin with a prefix."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def of_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """Those arrays whose names begin with a prefix, without it."""
    return {name[len(prefix) + 1 :]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}
