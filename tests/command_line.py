"""Running the command line as a user does, and small files to run it on."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

COMMAND = [sys.executable, "-c", "from affinelens.cli import main; main()"]
COLUMNS = 80
PATIENCE = 120


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A finished command with its output captured, so that neither stream is a terminal."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, cwd=cwd, env=environment(), check=False
    )


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": str(COLUMNS)}


def write_network(path: Path, *sizes: int, seed: int = 0) -> Path:
    """A random ReLU network of the given layer sizes as an .npz file."""
    generator = np.random.default_rng(seed)
    arrays = {}
    for layer, (size_in, size_out) in enumerate(pairwise(sizes)):
        arrays[f"W{layer}"] = generator.normal(size=(size_out, size_in))
        arrays[f"b{layer}"] = generator.normal(size=size_out)
    np.savez(path, **arrays)
    return path


def write_domain(path: Path, weight: object, offset: object) -> Path:
    """The domain ``W x + b >= 0`` as an .npz file."""
    np.savez(path, W=np.array(weight, dtype=float), b=np.array(offset, dtype=float))
    return path
