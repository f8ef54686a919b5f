"""The command line as a whole: its help, its version, and how it ends when its output goes nowhere."""

from __future__ import annotations

import os
import re
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
    for arguments in (["--help"], ["study", "--help"]):
        assert "..." not in run(*arguments).stdout.partition("Commands:")[2]


@pytest.mark.parametrize("arguments", [["study"], *([name] for name in commands.commands), ["study", "compare"]])
def test_help_shows_nothing_of_the_parser(arguments: list[str]) -> None:
    shown = run(*arguments, "--help").stdout
    for word in ("RANGE", "INTEGER", "FLOAT", "TEXT", "<=x", "x>="):
        assert word not in shown, word


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cuont"], "there is no command 'cuont'; did you mean 'count'?"),
        (["net.onnx"], r"there is no command 'net.onnx'; take one of .*, as in: affinelens count net.onnx --box -1 1"),
        (["count"], "missing argument 'MODEL'; see affinelens count --help"),
        (["count", "a", "b"], r"got unexpected extra argument \(b\); see affinelens count --help"),
        (["count", "a", "--max-region", "3"], "there is no option --max-region; did you mean --max-regions?"),
        (["count", "a", "--zzz"], "there is no option --zzz; see affinelens count --help"),
        (["count", "a", "--workers", "0"], "--workers takes a whole number of at least 1, but got '0'"),
        (["count", "a", "--workers", "1.5"], "--workers takes a whole number of at least 1, but got '1.5'"),
        (["count", "a", "--time-limit", "nan"], "--time-limit takes a number of seconds above 0, but got 'nan'"),
        (["enumerate", "a", "--engine", "count"], "--engine takes one of auto, vertex, .*, but got 'count'"),
        (["audit", "a", "--samples", "-1"], "--samples takes a whole number of at least 0, but got '-1'"),
        (["count", "a.onnx", "--box", "0", "1"], r"a.onnx: no such file; give an \.onnx, .* or \.pt file"),
        (["count", "a.txt", "--box", "0", "1"], r"a.txt: no such file; give an \.onnx, .* or \.pt file"),
    ],
)
def test_mistakes_are_named_in_the_words_of_the_command_line(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(f"affinelens: {sentence.replace('?', '[?]')}\n", done.stderr), done.stderr


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
