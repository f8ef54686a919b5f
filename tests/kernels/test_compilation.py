"""Kernels on disk are used while their sources are unchanged, and loops are compiled as their declaration says."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens

PACKAGE = Path(affinelens.__file__).parent
NUMBA = re.compile(r"^\s*(import|from) (numba|llvmlite)\b", re.MULTILINE)
TOTALS = """
from affinelens.kernels.compilation import array_entry, entry

@{kind}
def total(numbers):
    found = 0.0
    for i in range(len(numbers)):
        found += numbers[i]
    return found
"""
INNER = """
from typing import NamedTuple
from affinelens.kernels.compilation import kernel

class Number(NamedTuple):
    x: int

@kernel
def inner(number):
    return number.x + 1
"""
OUTER = """
from affinelens.kernels.compilation import entry
from affinelens.room.part.deep.inner import Number, inner

argument = Number

@entry
def outer(number):
    return inner(number)
"""
# The kernel's value at 1, and whether its code was on disk.
PROGRAM = """
from affinelens.room.part.outer import argument, outer
print(outer(argument(1)), "loaded" if sum(outer.stats.cache_hits.values()) else "compiled")
"""


def test_only_one_folder_knows_numba() -> None:
    knowing = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") if NUMBA.search(path.read_text())}
    assert knowing == {"kernels"}


def compiled_total(kind: str, folder: Path) -> Any:
    """A sum over an array, declared in a file of its own, so that no cache has it."""
    path = folder / f"total_by_{kind}.py"
    path.write_text(TOTALS.format(kind=kind))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.total(np.arange(100.0)) == 4950.0
    return module.total


@pytest.mark.parametrize(("kind", "is_vectorised"), [("entry", False), ("array_entry", True)])
def test_loops_are_plain_unless_they_are_over_long_arrays(kind: str, is_vectorised: bool, tmp_path: Path) -> None:
    total = compiled_total(kind, tmp_path)
    (code,) = total.inspect_llvm().values()
    assert bool(re.search(r"fadd \w*( \w+)* <\d+ x double>", code)) == is_vectorised


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A package with the real kernels folder, and a room in which one kernel uses another of a deeper folder."""
    package = tmp_path / "affinelens"
    shutil.copytree(PACKAGE / "kernels", package / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    for needed in ("errors.py", "progress.py"):
        shutil.copy(PACKAGE / needed, package)
    deep = package / "room" / "part" / "deep"
    deep.mkdir(parents=True)
    for folder in (package, package / "other", deep.parent.parent, deep.parent, deep):
        folder.mkdir(exist_ok=True)
        (folder / "__init__.py").touch()
    (deep / "inner.py").write_text(INNER)
    (deep.parent / "outer.py").write_text(OUTER)
    return package


def outer(package: Path) -> tuple[int, str]:
    """The kernel at 1 in a new process, and whether it was compiled there."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(package.parent / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        cwd=package.parent,
        check=True,
        capture_output=True,
        text=True,
    )
    value, how = done.stdout.split()
    return int(value), how


def test_code_on_disk_is_stale_as_soon_as_a_source_of_its_room_has_changed(room: Path) -> None:
    assert outer(room) == (2, "compiled")
    assert outer(room) == (2, "loaded")
    inner = room / "room" / "part" / "deep" / "inner.py"
    inner.write_text(INNER.replace("x + 1", "x + 5"))
    assert outer(room) == (6, "compiled")
    (room / "other" / "unrelated.py").write_text("# elsewhere")
    assert outer(room) == (6, "loaded")
    with (room / "kernels" / "bits.py").open("a") as bits:
        bits.write("# changed\n")
    assert outer(room) == (6, "compiled")


def test_code_on_disk_is_stale_when_a_type_of_its_arguments_has_another_name(room: Path) -> None:
    assert outer(room) == (2, "compiled")
    for source in (room / "room").rglob("*.py"):
        source.write_text(source.read_text().replace("Number", "Whole"))
    assert outer(room) == (2, "compiled")
    assert outer(room) == (2, "loaded")
