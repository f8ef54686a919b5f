"""Running the command line as a user does, captured or on a terminal, and small files to run it on."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from affinelens.cli import main
from support.random_networks import random_layers

COMMAND = [sys.executable, "-c", "from affinelens.cli import main; main()"]
COLUMNS = 80
PATIENCE = 120
# The line of progress, once something was found.
SOME_REGIONS = r"[1-9][0-9,]* regions, "


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A finished command with its output captured, so that neither stream is a terminal.

    It runs in this process: to start one and to load all that a command needs takes longer than what most of them do.
    """
    command, output, errors = ["affinelens", *map(str, arguments)], StringIO(), StringIO()
    with ExitStack() as around:
        for change in (
            chdir(cwd or "."), redirect_stdout(output), redirect_stderr(errors), patch.object(sys, "argv", command),
            patch.dict(os.environ, environment()), warnings.catch_warnings(),
        ):  # fmt: skip
            around.enter_context(change)
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return subprocess.CompletedProcess(command, code, output.getvalue(), errors.getvalue())


def report(*arguments: object, code: int = 0) -> dict[str, Any]:
    """The single object that a command with ``--json`` prints, and nothing else, when it ends with this exit code."""
    done = run(*arguments, "--json")
    assert done.returncode == code, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(done.stdout)
    assert {"regions", "status", "seconds", "engine", "exact"} <= set(found)
    assert found["exact"] is True
    assert found["seconds"] >= 0
    return found


def environment() -> dict[str, str]:
    return {**os.environ, "COLUMNS": str(COLUMNS)}


class Terminal:
    """A command whose stderr is a terminal."""

    def __init__(self, *arguments: object) -> None:
        self._screen, end = pty.openpty()
        command = [*COMMAND, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=end, text=True, env=environment() | {"TERM": "xterm"}
        )
        os.close(end)
        self.shown = ""

    def read_until(self, pattern: str | None) -> bool:
        """Read the screen until a pattern appears (None: until the command closes it); whether it did."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if pattern is not None and re.search(pattern, self.shown):
                return True
            try:
                piece = os.read(self._screen, 4096)
            except OSError as error:
                assert error.errno == errno.EIO  # noqa: PT017 (how Linux says that the other end was closed)
                piece = b""
            if not piece:
                return pattern is None
            self.shown += piece.decode()
        return False

    def finish(self) -> tuple[int, str]:
        """Exit code and stdout."""
        self.read_until(None)
        output, _ = self.process.communicate(timeout=PATIENCE)
        os.close(self._screen)
        return self.process.returncode, output


def write_network(path: Path, *sizes: int, seed: int) -> Path:
    """A random ReLU network of the given layer sizes as an .npz file."""
    layers = random_layers(sizes, seed, bias=1)
    weights = {f"W{i}": weight for i, (weight, _) in enumerate(layers)}
    np.savez(path, **weights, **{f"b{i}": bias for i, (_, bias) in enumerate(layers)})
    return path


def write_domain(path: Path, weight: object, offset: object) -> Path:
    """The domain ``W x + b >= 0`` as an .npz file."""
    np.savez(path, W=np.array(weight, dtype=float), b=np.array(offset, dtype=float))
    return path
