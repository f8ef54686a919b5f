"""The command line as a whole: its help, its version, and how it ends when its output goes nowhere."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import affinelens as al
from affinelens.cli.commands import commands
from support.command_line import COLUMNS, COMMAND, PATIENCE, run


@pytest.mark.parametrize("arguments", [[], *([name] for name in commands.commands)])
def test_help_fits_a_terminal(arguments: list[str]) -> None:
    done = run(*arguments, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("Usage: ")
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


def test_every_command_is_summed_up_whole() -> None:
    assert "..." not in run("--help").stdout.partition("Commands:")[2]


def test_no_arguments_show_the_help() -> None:
    done = run()
    assert "Traceback" not in done.stderr
    shown = (done.stdout or done.stderr).splitlines()
    assert len(shown) > 5
    assert max(map(len, shown)) <= COLUMNS


def test_version() -> None:
    assert al.__version__ in run("--version").stdout


@pytest.mark.parametrize("arguments", [["demo"], ["demo", "--json"], ["--help"]])
def test_a_closed_pipe_is_not_an_error_message(tmp_path: Path, arguments: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        [*COMMAND, *arguments], stdout=write_end, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
        cwd=tmp_path,
    )  # fmt: skip
    os.close(write_end)
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_is_one_sentence(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "demo"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
            cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
