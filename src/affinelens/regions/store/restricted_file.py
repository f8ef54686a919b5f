"""The restricted network of a run that is not complete, so that the next sitting walks just the same.

It is named in the manifest by its hash. Like the regions it is not proved again.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.files.durable import write_npz
from affinelens.files.npz import read_npz
from affinelens.files.saved_directory import plain_file_inside
from affinelens.regions.store.asked import Asked
from affinelens.regions.store.shards import sha256
from affinelens.restrict import RestrictedNetwork
from affinelens.restrict.serial import restricted_from_data, restricted_to_data

RESTRICTED = "restricted.npz"
_STRUCTURE = "structure"


def write_restricted(folder: Path, restricted: RestrictedNetwork) -> str:
    """Write it, once for all sittings; returns the file's hash."""
    structure, arrays = restricted_to_data(restricted)
    text = np.frombuffer(json.dumps(structure).encode(), dtype=np.uint8)
    file = folder / RESTRICTED
    write_npz(file, {_STRUCTURE: text, **arrays})
    return sha256(file)


def read_restricted(folder: Path, digest: str, asked: Asked) -> RestrictedNetwork:
    """Read it, if it is what was written."""
    file = plain_file_inside(folder, RESTRICTED)
    if sha256(file) != digest:
        raise AffineLensError(f"{RESTRICTED} does not match the hash in its manifest")
    arrays = read_npz(file)
    structure = json.loads(arrays.pop(_STRUCTURE).tobytes())
    return restricted_from_data(asked.network, asked.domain.frame, structure, arrays)
