"""``affinelens resume``: nothing else has to be said, and what it prints is what the walk would have printed."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import affinelens as al
from affinelens.engine import choice, running
from support.command_line import SOME_REGIONS, Terminal, report, run, write_network

LIMITED = ("--engine", "linear_program", "--workers", 1, "--max-regions", 9)


def some_network(tmp_path: Path) -> Path:
    return write_network(tmp_path / "net.npz", 2, 8, 6, 2, seed=0)


def test_a_stopped_walk_says_how_it_goes_on_and_does(tmp_path: Path) -> None:
    model, target = some_network(tmp_path), tmp_path / "run"
    whole = report("enumerate", model, "--box", -1, 1, "--engine", "linear_program")
    stopped = run("enumerate", model, "--box", -1, 1, *LIMITED, "-o", target)
    assert stopped.returncode == 0
    assert f"saved in {target}; go on with: affinelens resume {target}\n" in stopped.stdout
    model.unlink()
    found = report("resume", target)
    assert (found["regions"], found["status"], found["run"]) == (whole["regions"], "COMPLETE", str(target))
    assert found["layer_counts"] == whole["layer_counts"]
    assert len(al.load(target)) == whole["regions"]
    again = run("resume", target)
    assert (again.returncode, again.stdout.splitlines()[-1]) == (0, f"saved in {target}")


def test_a_count_goes_on(tmp_path: Path) -> None:
    model, target = some_network(tmp_path), tmp_path / "run"
    whole = report("count", model, "--box", -1, 1)["regions"]
    stopped = run("count", model, "--box", -1, 1, *LIMITED, "-o", target)
    assert stopped.returncode == 3
    assert "at least 9 regions" in stopped.stdout
    assert f"go on with: affinelens resume {target}" in stopped.stdout
    assert report("resume", target, "--max-regions", 12, code=3)["regions"] == 12
    assert report("resume", target)["regions"] == whole
    shown = run("plot", target, "-o", tmp_path / "picture.png")
    assert shown.returncode == 2
    assert f"holds a count and no regions: {whole} of them" in shown.stderr


def test_resume_option_begins_goes_on_and_returns(tmp_path: Path) -> None:
    model, target = some_network(tmp_path), tmp_path / "run"
    asked = ("enumerate", model, "--box", -1, 1, "--resume", "-o", target)
    engine = LIMITED[:4]
    assert report(*asked, *LIMITED)["regions"] == 9
    complete = report(*asked, *engine)
    assert complete["status"] == "COMPLETE"
    assert report(*asked, *engine) == complete
    refused = run(*asked, *engine, "--vertices")
    assert refused.returncode == 2
    assert refused.stderr == (
        f"affinelens: {target}: it was begun without --vertices; give the same, or choose another directory\n"
    )


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    model = some_network(tmp_path)
    for arguments, words in (
        (("enumerate", "--resume"), "--resume goes on with a run; say which with -o RUN"),
        (("count", "--overwrite"), "--overwrite replaces a run; say which with -o RUN"),
        (("count", "--resume", "--overwrite", "-o", tmp_path / "run"), "give one of them"),
    ):
        done = run(*arguments, model, "--box", -1, 1)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
    assert "there is no run to go on with" in run("resume", tmp_path / "none").stderr


@pytest.mark.filterwarnings("default")
def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    model, target = some_network(tmp_path), tmp_path / "run"
    run("enumerate", model, "--box", -1, 1, *LIMITED, "-o", target)
    (target / "manifest.json").write_text("{")
    done = run("resume", target)
    assert done.returncode == 0
    assert done.stderr.startswith(f"affinelens: warning: {target}: the last checkpoint is damaged (")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_and_then_the_rest(tmp_path: Path) -> None:
    model, target = write_network(tmp_path / "big.npz", 4, 60, 60, 2, seed=0), tmp_path / "run"
    asked = ("enumerate", model, "--box", -1, 1, "--engine", "linear_program", "--workers", 1, "-o", target)
    terminal = Terminal(*asked)
    assert terminal.read_until(SOME_REGIONS)
    terminal.process.send_signal(signal.SIGINT)
    code, output = terminal.finish()
    assert code == 130
    assert f"go on with: affinelens resume {target}" in output
    stopped = al.load(target)
    assert stopped.status is al.Status.CANCELLED
    most = len(stopped) + 10
    assert report("resume", target, "--workers", 1, "--max-regions", most)["regions"] == most
    assert al.load(target).points[: len(stopped)].tobytes() == stopped.points.tobytes()


def test_ctrl_c_beside_the_walk_says_that_the_run_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    model, target = some_network(tmp_path), tmp_path / "run"
    monkeypatch.setattr(choice, "choose", stop)
    monkeypatch.setattr(running, "choose", stop)
    done = run("enumerate", model, "--box", -1, 1, "-o", target)
    assert done.returncode == 130
    assert done.stderr.endswith(f"is as of its last checkpoint; go on with: affinelens resume {target}\n")
    monkeypatch.undo()
    assert report("resume", target)["status"] == "COMPLETE"
