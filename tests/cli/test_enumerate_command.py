"""``affinelens enumerate``: what it saves, and what is left of it after Ctrl-C."""

from __future__ import annotations

import signal
from pathlib import Path

import affinelens as al
from support.command_line import SOME_REGIONS, Terminal, report, run, write_network


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


def test_interrupt_saves_what_was_found(tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2, seed=0)
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
