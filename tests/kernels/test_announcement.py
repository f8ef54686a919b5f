"""Compiling is announced where someone waits; it is no part of a walk's time, and failures are not lost in a thread."""

from __future__ import annotations

import time

import numba
import numpy as np
import pytest

import affinelens as al
from affinelens.engine.linear_program import interior_point
from affinelens.engine.vertex.driver import warm_up
from affinelens.kernels import announcement
from affinelens.kernels.announcement import COMPILING, announced
from affinelens.progress import Progress, telling_of_progress

LAYERS = [(np.ones((2, 1)), np.zeros(2)), (np.ones((1, 2)), np.zeros(1))]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcement, "_ANNOUNCE_AFTER", 0.0)
    announcement._log_once.cache_clear()


@announced
def compile_something() -> str:
    numba.njit(lambda x: x + 1)(1)
    time.sleep(0.3)
    return "compiled"


def test_who_waits_is_told() -> None:
    told: list[Progress] = []
    with telling_of_progress(told.append):
        assert compile_something() == "compiled"
    assert {update.note for update in told} == {COMPILING}
    assert [update.seconds for update in told] == sorted({update.seconds for update in told})


def test_otherwise_it_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with telling_of_progress(lambda update: None):
        compile_something()
    assert not caplog.records
    compile_something()
    compile_something()
    assert [record.message for record in caplog.records] == [COMPILING]


def test_nothing_is_said_of_what_is_loaded(caplog: pytest.LogCaptureFixture) -> None:
    announced(lambda: time.sleep(0.3))()
    assert not caplog.records


def test_nothing_is_said_or_done_if_there_is_nothing_to_compile(caplog: pytest.LogCaptureFixture) -> None:
    for prepare in (warm_up.prepare, interior_point.prepare):
        prepare()
        caplog.clear()
        started = time.perf_counter()
        prepare()
        assert time.perf_counter() - started < 0.001
        assert not caplog.records


def test_a_failure_is_raised() -> None:
    def fail() -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        announced(fail)()


def test_a_walk_tells_its_progress_function_and_does_not_count_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "prepare", compile_something)
    seen: list[al.Progress] = []
    found = al.enumerate(LAYERS, al.Box(-1, 1, dim=1), progress=seen.append, time_limit=0.4)
    assert COMPILING in {progress.note for progress in seen}
    assert (found.status, len(found)) == (al.Status.COMPLETE, 2)
