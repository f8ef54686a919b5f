"""The package as installed: a light import and documented public names."""

from __future__ import annotations

import importlib.metadata
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import affinelens as al

HEAVY = ("torch", "onnx", "pandas", "matplotlib", "pyarrow", "rich", "distributed")


@pytest.mark.parametrize("module", ["affinelens", "affinelens.cli"])
def test_import_brings_in_nothing_heavy(module: str) -> None:
    script = f"import sys, {module}; print(*sorted(set({HEAVY}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []
    assert done.stderr == ""


def test_enumerating_arrays_brings_in_no_optional_dependency() -> None:
    script = (
        "import sys, affinelens as al\n"
        "assert al.count([([[1.0], [1.0]], [0.0, -0.5]), ([[1.0, 1.0]], [0.0])], al.Box(-1, 1, dim=1)) == 3\n"
        "print(*sorted({'torch', 'onnx', 'pandas', 'matplotlib', 'distributed'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == []


def test_version_is_the_installed_one() -> None:
    assert al.__version__ == importlib.metadata.version("affinelens")


@pytest.mark.parametrize("name", [name for name in al.__all__ if not name.startswith("__")])
def test_public_names_exist_and_are_documented(name: str) -> None:
    thing = getattr(al, name)
    assert inspect.getdoc(thing)
    for member, value in vars(thing).items() if isinstance(thing, type) else ():
        if callable(value) and not member.startswith("_"):
            assert inspect.getdoc(getattr(thing, member)), f"{name}.{member}"


def test_the_public_names_hold_the_whole_surface() -> None:
    assert len(set(al.__all__)) == len(al.__all__)
    for name in ("Box", "Polytope", "network", "count", "enumerate", "load", "AffineLensError", "Status", "RegionSet"):
        assert name in al.__all__


@pytest.mark.parametrize("name", ["py.typed", "cli/two_moons.npz"])
def test_package_data_is_there(name: str) -> None:
    assert (Path(al.__file__).parent / name).is_file()


def test_a_prompt_completes_public_names_alone() -> None:
    assert dir(al) == sorted(al.__all__)
