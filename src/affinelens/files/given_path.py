"""Paths as users give them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from affinelens.errors import AffineLensError


def given_path(value: Any, what: str) -> Path:
    """A path, or an error that says what is named by one.

    >>> given_path("run", "a run directory").name
    'run'
    """
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str) or "\0" in path:
        raise AffineLensError(f"{what} is given by its path, as text or a pathlib.Path, but got {value!r:.40}")
    return Path(path)
