"""``affinelens count``."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from support.command_line import SOME_REGIONS, Terminal, report, run, write_network


def test_max_regions_equal_to_the_count_is_complete(cross: Path) -> None:
    assert report("count", cross, "--box", -1, 1, "--max-regions", 4)["status"] == "COMPLETE"


def test_interrupt_of_a_count_reports_what_was_found(tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2, seed=0)
    terminal = Terminal("count", model, "--box", -1, 1, "--json")
    assert terminal.read_until(SOME_REGIONS)
    terminal.process.send_signal(signal.SIGINT)
    code, output = terminal.finish()
    assert code == 130
    found = json.loads(output)
    assert found["status"] == "CANCELLED"
    assert found["regions"] > 0


def test_a_count_that_a_limit_stopped_is_told_from_a_whole_one(cross: Path) -> None:
    done = run("count", cross, "--box", -1, 1, "--max-regions", 2)
    assert done.returncode == 3
    assert done.stdout.startswith("at least 2 regions\n")
    assert run("count", cross, "--box", -1, 1).returncode == 0
