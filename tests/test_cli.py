"""The command line as a user meets it: a process, its two streams and its exit code."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from command_line import COLUMNS, COMMAND, PATIENCE, environment, run, write_domain, write_network

SOME_REGIONS = r"[1-9][0-9,]* regions, "
COMMANDS = ["inspect", "count", "enumerate", "verify", "plot", "demo"]


@pytest.fixture
def tent(tmp_path: Path) -> Path:
    """Two units on a line, at 0 and 1/2: three regions on [-1, 1], two on [0, 1]."""
    path = tmp_path / "tent.npz"
    np.savez(path, W0=[[1.0], [1.0]], b0=[0.0, -0.5], W1=[[1.0, -2.0]], b1=[0.25])
    return path


@pytest.fixture
def cross(tmp_path: Path) -> Path:
    """One unit an input: the quadrants of the plane."""
    path = tmp_path / "cross.npz"
    np.savez(path, W0=np.eye(2), b0=np.zeros(2), W1=[[1.0, 1.0]], b1=[-1.0])
    return path


def report(*arguments: object) -> dict[str, Any]:
    """The single object that a successful command with ``--json`` prints, and nothing else."""
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    found: dict[str, Any] = json.loads(done.stdout)
    assert {"regions", "status", "seconds", "engine", "exact"} <= set(found)
    assert found["exact"] is True
    assert found["seconds"] >= 0
    return found


@pytest.mark.parametrize("arguments", [[], *([name] for name in COMMANDS)])
def test_help_fits_a_terminal(arguments: list[str]) -> None:
    done = run(*arguments, "--help")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("Usage: ")
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS
    assert "..." not in done.stdout.partition("Commands:")[2]


def test_no_arguments_show_the_help() -> None:
    done = run()
    assert "Traceback" not in done.stderr
    shown = (done.stdout or done.stderr).splitlines()
    assert len(shown) > 5
    assert max(map(len, shown)) <= COLUMNS


def test_version() -> None:
    assert al.__version__ in run("--version").stdout


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_text_says_how_many_and_how_it_ended(command: str, tent: Path) -> None:
    done = run(command, tent, "--box", -1, 1)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("3 regions\ncomplete")


def test_inspect_shows_the_network_and_the_domain(tent: Path) -> None:
    done = run("inspect", tent, "--box", -1, 1)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "2 units" in done.stdout
    assert "dimension 1" in done.stdout


def test_inspect_needs_no_domain(tent: Path) -> None:
    found = report("inspect", tent)
    assert found["regions"] is None
    assert (found["inputs"], found["units"]) == (1, 2)
    assert found["dimension"] is None


def test_demo_explains_itself_within_a_terminal(tmp_path: Path) -> None:
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "complete" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


def test_demo_as_json() -> None:
    found = report("demo")
    assert found["status"] == "COMPLETE"
    assert found["regions"] == found["layer_counts"][-1] > 100


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_json_agrees_with_python(command: str, tmp_path: Path) -> None:
    model = write_network(tmp_path / "net.npz", 2, 8, 8, 2)
    found = report(command, model, "--box", -1, 1)
    assert found["regions"] == al.count(model, al.Box(-1, 1, dim=2), workers=1)
    assert found["status"] == "COMPLETE"
    assert found["layer_counts"][-1] == found["regions"]
    assert found["certificate"]["complete"] is True


@pytest.mark.parametrize(
    ("box", "regions"),
    [
        (["-1", "1"], 4),
        (["0", "1"], 1),
        (["-1,-1", "1,1"], 4),
        (["-1,0", "1,1"], 2),
        (["-1,0.5", "1,0.5"], 2),
        (["-1,-1", "1"], 4),
        (["-1e-3,-2", ".5,3"], 4),
        (["-.5", "+2.5e-1"], 4),
    ],
)
def test_box_takes_a_number_or_one_per_input(box: list[str], regions: int, cross: Path) -> None:
    assert report("count", cross, "--box", *box)["regions"] == regions


def test_options_may_come_before_the_model(cross: Path) -> None:
    assert report("count", "--box", "-1", "1", "--workers", 1, cross)["regions"] == 4


def test_domain_from_a_file(cross: Path, tmp_path: Path) -> None:
    triangle = write_domain(tmp_path / "triangle.npz", [[1, 0], [0, 1], [-1, -1]], [1, 0, 0.5])
    assert report("count", cross, "--domain", triangle)["regions"] == 2
    assert report("inspect", cross, "--domain", triangle)["dimension"] == 2


def test_domain_that_fixes_an_input(cross: Path, tmp_path: Path) -> None:
    edge = write_domain(tmp_path / "edge.npz", [[1, 0], [-1, 0], [0, 1], [0, -1]], [1, 1, -1, 1])
    assert report("inspect", cross, "--domain", edge)["dimension"] == 1
    assert report("count", cross, "--domain", edge)["regions"] == 2


def test_engines_are_named_in_the_report(tent: Path) -> None:
    assert report("count", tent, "--box", -1, 1, "--engine", "linear_program")["engine"] == "linear_program"
    assert report("count", tent, "--box", -1, 1, "--engine", "auto")["engine"] != "auto"


def test_workers_do_not_change_the_answer(tmp_path: Path) -> None:
    model = write_network(tmp_path / "net.npz", 3, 16, 12, 2)
    alone, helped = (report("count", model, "--box", -1, 1, "--workers", workers) for workers in (1, 3))
    assert alone["layer_counts"] == helped["layer_counts"]


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_max_regions_stops_early_and_says_so(command: str, cross: Path) -> None:
    found = report(command, cross, "--box", -1, 1, "--max-regions", 3)
    assert (found["regions"], found["status"]) == (3, "REGION_LIMIT")
    assert found["certificate"]["complete"] is False
    assert "incomplete" in run(command, cross, "--box", -1, 1, "--max-regions", 3).stdout


def test_max_regions_equal_to_the_count_is_complete(cross: Path) -> None:
    assert report("count", cross, "--box", -1, 1, "--max-regions", 4)["status"] == "COMPLETE"


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_time_limit_stops_early_and_says_so(command: str, tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2)
    found = report(command, model, "--box", -1, 1, "--time-limit", 1.5)
    assert found["status"] == "TIME_LIMIT"
    assert found["layer_counts"][0] > 0
    assert found["seconds"] >= 1.5


def test_cut_outputs_adds_the_output_zero_set(cross: Path) -> None:
    # x + y = 1 crosses the first quadrant; in the others the output x or y - 1 vanishes on the border of the box only.
    assert report("count", cross, "--box", -1, 1)["regions"] == 4
    assert report("count", cross, "--box", -1, 1, "--cut-outputs")["regions"] == 5


def test_enumerate_saves_what_python_loads(cross: Path, tmp_path: Path) -> None:
    run_path = tmp_path / "run"
    found = report("enumerate", cross, "--box", -1, 1, "-o", run_path)
    assert found["run"] == str(run_path)
    regions = al.load(run_path)
    assert len(regions) == found["regions"] == 4
    assert regions.status is al.Status.COMPLETE


def test_enumerate_without_output_says_that_nothing_is_kept(cross: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    assert "not saved" in run("enumerate", cross, "--box", -1, 1, cwd=tmp_path).stdout
    assert sorted(tmp_path.iterdir()) == before


def test_enumerate_overwrites_only_when_asked(cross: Path, tent: Path, tmp_path: Path) -> None:
    run_path = tmp_path / "run"
    report("enumerate", cross, "--box", -1, 1, "-o", run_path)
    report("enumerate", tent, "--box", -1, 1, "-o", run_path, "--overwrite")
    assert len(al.load(run_path)) == 3


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


def test_progress_on_a_terminal_and_one_object_on_stdout(tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2)
    terminal = Terminal("count", model, "--box", -1, 1, "--time-limit", 2, "--json")
    code, output = terminal.finish()
    assert code == 0
    assert " regions, " in terminal.shown
    assert "cells by stage" in terminal.shown
    assert json.loads(output)["status"] == "TIME_LIMIT"


def test_progress_of_many_stages_stays_on_one_line(tmp_path: Path) -> None:
    model = write_network(tmp_path / "deep.npz", 3, *[24] * 19, 2)
    terminal = Terminal("count", model, "--box", -4, 4, "--time-limit", 3)
    code, output = terminal.finish()
    assert code == 0
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", terminal.shown)]
    assert any(" regions, " in line and "cells by stage" in line for line in lines)
    assert max(map(len, lines)) <= COLUMNS
    assert terminal.shown.count("\x1b[1A") <= 1  # only the end goes up a line, to take the last one away
    assert max(map(len, output.splitlines())) <= COLUMNS


def test_interrupt_saves_what_was_found(tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2)
    run_path = tmp_path / "run"
    terminal = Terminal("enumerate", model, "--box", -1, 1, "--workers", 2, "-o", run_path)
    assert terminal.read_until(SOME_REGIONS)
    terminal.process.send_signal(signal.SIGINT)
    code, output = terminal.finish()
    assert code == 130
    assert "Traceback" not in terminal.shown + output
    assert "stopped by the user" in output
    regions = al.load(run_path)
    assert regions.status is al.Status.CANCELLED
    assert len(regions) > 0
    assert f"{len(regions)} regions" in output
    assert {path.name for path in tmp_path.iterdir()} == {"big.npz", "run"}


def test_interrupt_of_a_count_reports_what_was_found(tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2)
    terminal = Terminal("count", model, "--box", -1, 1, "--json")
    assert terminal.read_until(SOME_REGIONS)
    terminal.process.send_signal(signal.SIGINT)
    code, output = terminal.finish()
    assert code == 130
    found = json.loads(output)
    assert found["status"] == "CANCELLED"
    assert found["regions"] > 0


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
