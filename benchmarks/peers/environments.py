"""An environment of its own for each peer, made once and then kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-peers"
REQUIREMENTS = {"relucent": "relucent[torch]", "affinitree": "affinitree"}


def interpreter(tool: str, folder: Path = FOLDER) -> Path:
    """The Python that has the tool, installed first if it is not there yet."""
    environment = folder / tool
    python = environment / "bin" / "python"
    stamp = environment / "installed"
    if not stamp.exists():
        _run(sys.executable, "-m", "venv", str(environment))
        constraints = str(ROOT / "constraints.txt")
        _run(str(python), "-m", "pip", "install", "--quiet", "--constraint", constraints, REQUIREMENTS[tool])
        stamp.touch()
    return python


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
