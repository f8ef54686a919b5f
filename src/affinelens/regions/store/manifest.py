"""The file that says what a run directory holds: replaced at one moment, with the one before it beside it.

It carries a checksum of itself, so that a torn or altered one is noticed and the one before is read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from affinelens.errors import AffineLensError
from affinelens.files.durable import replace_file
from affinelens.files.saved_directory import read_description

MANIFEST = "manifest.json"
PREVIOUS = "manifest.previous.json"
FORMAT_VERSION = 2
_READABLE = range(1, FORMAT_VERSION + 1)
_FORMAT = "affinelens run"
_CHECKSUM = "checksum"
_LARGEST = 1 << 30


def is_run(folder: Path) -> bool:
    """Whether a folder looks like a run directory."""
    return any((folder / name).is_file() for name in (MANIFEST, PREVIOUS))


def write_manifest(folder: Path, entries: Mapping[str, Any], *, keep_previous: bool = True) -> None:
    """Replace a run's manifest; unless it is known to be damaged, the one that was there is kept as the previous."""
    data = {"format": _FORMAT, "format_version": FORMAT_VERSION, **entries}
    data[_CHECKSUM] = checksum(data)
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in data.items())
    replace_file(folder / MANIFEST, f"{{\n{lines}\n}}\n".encode(), keep_as=folder / PREVIOUS if keep_previous else None)


def read_manifest(folder: Path, name: str) -> dict[str, Any]:
    """What a manifest says, as it was written."""
    data = read_description(folder, name, _FORMAT, _READABLE, _LARGEST)
    if data["format_version"] > 1 and data.get(_CHECKSUM) != checksum(data):
        raise AffineLensError(f"its {name} does not match its own checksum")
    return data


def checksum(data: Mapping[str, Any]) -> str:
    """The SHA-256 of all entries but the checksum itself, in a form that does not depend on spaces and order."""
    rest = {name: value for name, value in data.items() if name != _CHECKSUM}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
