"""Runs with damage that their hashes do not show: each is refused, or answers everything in numbers or one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from affinelens.regions.store import stored_regions
from support.run_mutation import run_escapes, sample_runs


def test_damaged_runs_that_are_read_where_they_are_looked_at_are_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_regions, "LARGE_RUN", 0)
    test_damaged_runs_are_refused_or_answer_in_one_sentence(tmp_path)


def test_damaged_runs_are_refused_or_answer_in_one_sentence(tmp_path: Path) -> None:
    found = [
        f"mutant {number}, {place}, {question}: {error!r}"
        for number, place, question, error in run_escapes(sample_runs(tmp_path), tmp_path, count=80, seed=1)
    ]
    assert not found
