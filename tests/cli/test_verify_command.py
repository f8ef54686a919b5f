"""``affinelens verify`` as a script meets it: the last line, the exit code, the files and the one-sentence errors."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.cli import verify_command
from affinelens.verify import Result
from support.command_line import run

PROPERTY = """
(declare-const X_0 Real)
(declare-const Y_0 Real)
(assert (>= X_0 -1))
(assert (<= X_0 1))
(assert {})
"""


@pytest.fixture
def absolute(tmp_path: Path) -> Path:
    """y = |x|."""
    path = tmp_path / "absolute.npz"
    np.savez(path, W0=[[1.0], [-1.0]], b0=[0.0, 0.0], W1=[[1.0, 1.0]], b1=[0.0])
    return path


def write(folder: Path, condition: str) -> Path:
    path = folder / "prop.vnnlib"
    path.write_text(PROPERTY.format(condition))
    return path


@pytest.mark.parametrize(
    ("condition", "options", "result"),
    [("(<= Y_0 0)", [], "sat"), ("(< Y_0 0)", [], "unsat"), ("(< Y_0 0)", ["--time-limit", "1e-9"], "timeout")],
)
def test_the_last_line_is_the_answer(
    absolute: Path, tmp_path: Path, condition: str, options: list[str], result: str
) -> None:
    done = run("verify", absolute, write(tmp_path, condition), *options)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-1] == result
    assert ("((X_0 0.0)" in lines) == (result == "sat")


def test_the_witness_is_written_as_other_tools_do(absolute: Path, tmp_path: Path) -> None:
    for condition, text in (("(>= Y_0 1)", "sat\n((X_0 {})\n (Y_0 1.0))\n"), ("(> Y_0 1)", "unsat\n")):
        done = run("verify", absolute, write(tmp_path, condition), "--witness", tmp_path / "out.txt")
        assert done.returncode == 0
        assert (tmp_path / "out.txt").read_text() in [text.format(x) for x in ("-1.0", "1.0")]


def test_json_has_the_exact_numbers_and_the_unsafe_set(absolute: Path, tmp_path: Path) -> None:
    done = run("verify", absolute, write(tmp_path, "(>= Y_0 0.75)"), "--all", "--json")
    report = json.loads(done.stdout)
    assert (done.returncode, report["result"], report["exact"]) == (0, "sat", True)
    assert len(report["witness"]["exact_input"]) == 1
    [part] = report["unsafe"]
    assert (part["share"], part["volume"], part["complete"]) == (0.25, 0.5, True)
    assert sorted(v for polytope in part["polytopes"] for [v] in polytope["vertices"]) == [-1.0, -0.75, 0.75, 1.0]


def test_all_says_how_much_is_unsafe(absolute: Path, tmp_path: Path) -> None:
    done = run("verify", absolute, write(tmp_path, "(>= Y_0 0.75)"), "--all")
    assert "unsafe set, case 1: 2 polytopes of dimension 1, volume 0.5, 25.0000% of the domain" in done.stdout
    assert done.stdout.endswith("\nsat\n")


def test_what_cannot_be_answered_is_one_sentence(absolute: Path, tmp_path: Path) -> None:
    prop = write(tmp_path, "(< Y_0 0)")
    other = tmp_path / "other.npz"
    np.savez(other, W0=np.eye(2), b0=np.zeros(2), W1=[[1.0, 1.0]], b1=[0.0])
    text = tmp_path / "text.vnnlib"
    text.write_text("(assert (<= Y_0 (* X_0 X_0)))")
    for arguments, sentence in (
        ([other, prop], r"prop\.vnnlib: the property speaks of 1 inputs but the network has 2; give .*"),
        ([absolute, tmp_path / "none.vnnlib"], r".*none\.vnnlib: no such file; give a \.vnnlib file"),
        ([tmp_path / "none.onnx", prop], r".*none\.onnx: no such file; give .*"),
        ([absolute, text], r".*text\.vnnlib: line 1: .*"),
        ([absolute, prop, "--engine", "guess"], r"--engine takes one of auto, vertex, .*, but got 'guess'"),
        ([absolute, prop, "--until", "node"], r"--until is for ONNX files only, but got .*absolute\.npz; leave it out"),
        (
            [absolute, prop, "--witness", tmp_path / "no" / "where"],
            r".*where: the folder .* does not exist; create it first",
        ),
        ([absolute], r"missing argument 'PROP\.vnnlib'; see affinelens verify --help"),
    ):
        done = run("verify", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert re.fullmatch(rf"affinelens: (?:.*/)?{sentence}\n", done.stderr), done.stderr


def test_a_stopped_search_claims_nothing_of_what_it_left_out(
    absolute: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prop = write(tmp_path, "(< Y_0 0)")
    assert "; no region was walked, " in run("verify", absolute, prop, "--time-limit", "1e-9").stdout
    found = al.verify(absolute, prop)
    for result, words in (
        (Result.TIMEOUT, "1 region walked by vertex until then, "),
        (Result.UNSAT, "others excluded"),
    ):
        verdict = replace(found, result=result, engines=("vertex",), regions=1)
        monkeypatch.setattr(verify_command, "verify", lambda *_, verdict=verdict, **__: verdict)
        assert words in run("verify", absolute, prop).stdout
