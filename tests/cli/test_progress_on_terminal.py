"""How far a walk is, as a terminal shows it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.command_line import COLUMNS, Terminal, write_network


def test_progress_on_a_terminal_and_one_object_on_stdout(tmp_path: Path) -> None:
    model = write_network(tmp_path / "big.npz", 5, 200, 200, 2, seed=0)
    terminal = Terminal("count", model, "--box", -1, 1, "--time-limit", 2, "--json")
    code, output = terminal.finish()
    assert code == 3
    assert " regions, " in terminal.shown
    assert "cells by stage" in terminal.shown
    assert json.loads(output)["status"] == "TIME_LIMIT"


def test_progress_of_many_stages_stays_on_one_line(tmp_path: Path) -> None:
    model = write_network(tmp_path / "deep.npz", 3, *[24] * 19, 2, seed=0)
    terminal = Terminal("count", model, "--box", -4, 4, "--time-limit", 3)
    code, output = terminal.finish()
    assert code == 3
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", terminal.shown)]
    assert any(" regions, " in line and "cells by stage" in line for line in lines)
    assert max(map(len, lines)) <= COLUMNS
    assert terminal.shown.count("\x1b[1A") <= 1  # only the end goes up a line, to take the last one away
    assert max(map(len, output.splitlines())) <= COLUMNS
