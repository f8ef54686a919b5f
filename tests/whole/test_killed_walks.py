"""Processes that are killed at random moments while they walk: resumed, they find what others find, byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kills import KINDS, kill_and_resume, same

KILLS = 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_that_was_killed_ends_as_one_that_was_not(kind: str, tmp_path: Path) -> None:
    kill_and_resume(kind, tmp_path / "run", KILLS, seed=0)
    assert same(kind, tmp_path / "run")
