"""Compiling is announced, once a process, and its failures are not lost in a thread."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numba
import pytest

from affinelens.engine.linear_program import interior_point
from affinelens.kernels import announcement as compiling
from affinelens.kernels.announcement import COMPILING, compile_announced
from affinelens.walk import Progress

NOT_YET = SimpleNamespace(signatures=[])


def _compile_something() -> None:
    numba.njit(lambda x: x + 1)(1)
    time.sleep(0.3)


def test_progress_says_that_kernels_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "_ANNOUNCE_AFTER", 0.0)
    seen: list[Progress] = []
    compile_announced(NOT_YET, _compile_something, seen.append)
    assert {progress.note for progress in seen} == {COMPILING}


def test_without_progress_it_is_logged_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(compiling, "_ANNOUNCE_AFTER", 0.0)
    compile_announced(NOT_YET, _compile_something, None)
    assert [record.message for record in caplog.records] == [COMPILING]


def test_nothing_is_said_or_done_if_there_is_nothing_to_compile(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []
    compile_announced(SimpleNamespace(signatures=[()]), lambda: done.append(1), None)
    assert not done
    interior_point.prepare(None)
    caplog.clear()
    interior_point.prepare(None)
    assert not caplog.records


def test_a_failure_is_raised() -> None:
    def fail() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        compile_announced(NOT_YET, fail, None)
