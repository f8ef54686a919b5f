"""Options and output that commands share, mostly by ``count`` and ``enumerate``."""

from __future__ import annotations

from pathlib import Path

import pytest

import affinelens as al
from support.command_line import report, run, write_network


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_text_says_how_many_and_how_it_ended(command: str, tent: Path) -> None:
    done = run(command, tent, "--box", -1, 1)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("3 regions\ncomplete")


@pytest.mark.parametrize("command", ["count", "enumerate"])
def test_json_agrees_with_python(command: str, tmp_path: Path) -> None:
    model = write_network(tmp_path / "net.npz", 2, 8, 8, 2, seed=0)
    found = report(command, model, "--box", -1, 1)
    assert found["regions"] == al.count(model, al.Box(-1, 1, dim=2), workers=1)
    assert found["status"] == "COMPLETE"
    assert found["layer_counts"][-1] == found["regions"]
    assert found["certificate"]["complete"] is True


def test_options_may_come_before_the_model(cross: Path) -> None:
    assert report("count", "--box", "-1", "1", "--workers", 1, cross)["regions"] == 4


def test_engines_are_named_in_the_report(tent: Path) -> None:
    assert report("count", tent, "--box", -1, 1, "--engine", "linear_program")["engine"] == "linear_program"
    assert report("count", tent, "--box", -1, 1, "--engine", "auto")["engine"] != "auto"


def test_workers_do_not_change_the_answer(tmp_path: Path) -> None:
    model = write_network(tmp_path / "net.npz", 3, 16, 12, 2, seed=0)
    alone, helped = (report("count", model, "--box", -1, 1, "--workers", workers) for workers in (1, 3))
    assert alone["layer_counts"] == helped["layer_counts"]


# A number that is only a lower bound is told from a count by the exit code.
@pytest.mark.parametrize(("command", "code"), [("count", 3), ("enumerate", 0)])
def test_max_regions_stops_early_and_says_so(command: str, code: int, cross: Path) -> None:
    found = report(command, cross, "--box", -1, 1, "--max-regions", 3, code=code)
    assert (found["regions"], found["status"]) == (3, "REGION_LIMIT")
    assert found["certificate"]["complete"] is False
    assert "incomplete" in run(command, cross, "--box", -1, 1, "--max-regions", 3).stdout


@pytest.mark.parametrize(("command", "code"), [("count", 3), ("enumerate", 0)])
def test_time_limit_stops_early_and_says_so(command: str, code: int, tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2, seed=0)
    found = report(command, model, "--box", -1, 1, "--time-limit", 1.5, code=code)
    assert found["status"] == "TIME_LIMIT"
    assert found["layer_counts"][0] > 0
    assert found["seconds"] >= 1.5


def test_cut_outputs_adds_the_output_zero_set(cross: Path) -> None:
    # x + y = 1 crosses the first quadrant; in the others the output x or y - 1 vanishes on the border of the box only.
    assert report("count", cross, "--box", -1, 1)["regions"] == 4
    assert report("count", cross, "--box", -1, 1, "--cut-outputs")["regions"] == 5


@pytest.mark.parametrize("command", ["count", "enumerate", "inspect"])
def test_options_are_listed_in_groups(command: str) -> None:
    lines = run(command, "--help").stdout.splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Model:", "Domain:", "Walk:", "Output:"]
    listed = [line.split()[0] for line in lines if line.startswith("  -")]
    assert len(listed) == len(set(listed)) > 15
    assert max(map(len, lines)) <= 80
