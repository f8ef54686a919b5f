"""``affinelens study`` as a user runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import run

SMALL = ("--seeds", 1, "--set", "widths=2,3", "--set", "dimensions=2", "--set", "epochs=2", "--workers", 1)


def test_a_study_and_going_on_with_it(tmp_path: Path) -> None:
    done = run("study", "width", "-o", "found", *SMALL, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"the report is {Path('found') / 'report.md'}\n"
    again = run("study", "width", "-o", "found", *SMALL, "--resume", "--set", "noise=1", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr.count("\n") == 1
    other = run("study", "width", "-o", "found", *SMALL, "--resume", "--set", "samples=10", cwd=tmp_path)
    assert "was begun with samples 200, but now samples is 10" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("widht",), "there is no study 'widht'; did you mean 'width'?"),
        (("width", "--set", "noise"), "--set takes NAME=VALUE, as --set samples=100; got 'noise'"),
        (("width", "--set", "seeds=2"), "seeds is not a choice of the set-up; give it as an option of its own"),
        (("width", "--set", "epochs=many"), "epochs must be a whole number"),
        (("width", "-o", " "), "-o needs the name of a directory"),
        (("width", "--data", "x"), "makes its own data"),
        (("width", "-o", "no/such/folder"), "does not exist; create it first"),
    ],
)
def test_bad_input_is_one_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    done = run("study", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("affinelens: ")
    assert done.stderr.count("\n") == 1
    assert sentence in done.stderr


def test_help_names_every_study_without_torch() -> None:
    script = (
        "import sys\nsys.modules['torch'] = None\nfrom affinelens.cli.commands import commands\n"
        "commands(['study', '--help'], standalone_mode=False)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert all(name in done.stdout for name in ("width", "depth", "layers", "residual", "activation"))


def test_no_study_at_all_is_a_question_for_help() -> None:
    asked, named = run("study"), run("study", "--help")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout == named.stdout
