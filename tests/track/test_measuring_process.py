"""Whether a process of its own measures, or none can be had, or it dies, rows and errors are the same."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from typing import Any

import pytest

import affinelens as al
from affinelens.api import IncompleteError
from affinelens.track import measuring_process
from affinelens.track.measurement import Measurement
from affinelens.track.measuring_process import MeasuringProcess
from affinelens.walk import Limits

BOX = al.Box(-1, 1, dim=1)
Processes = list["subprocess.Popen[bytes]"]


def bent(bend: float) -> al.Network:
    """On [-1, 1], two regions and a third where ``bend`` is between 0 and 1."""
    return al.network([([[1.0], [1.0]], [0.0, -bend]), ([[1.0, 1.0]], [0.0])])


def measurement(metrics: Any = False, max_regions: int | None = None) -> Measurement:
    return Measurement(BOX, metrics, "auto", Limits(max_regions, None, 1))


def in_time(condition: Callable[[], bool]) -> bool:
    for _ in range(2400):
        if condition():
            return True
        time.sleep(0.05)
    return False


def without_seconds(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "seconds"}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Processes:
    """Processes start with the first measurement, and are listed here."""
    found: Processes = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            found.append(self)

    monkeypatch.setattr(measuring_process, "_FIRST_MEASURED_HERE", 0)
    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return found


@pytest.fixture
def measured_here(monkeypatch: pytest.MonkeyPatch) -> list[al.Network]:
    """Networks that this process has measured."""
    found: list[al.Network] = []
    row = Measurement.row

    def recorded(self: Measurement, network: al.Network) -> dict[str, Any]:
        found.append(network)
        return row(self, network)

    monkeypatch.setattr(Measurement, "row", recorded)
    return found


@pytest.mark.parametrize("metrics", [False, True])
def test_rows_and_errors_are_those_found_here(
    started: Processes, measured_here: list[al.Network], metrics: bool
) -> None:
    asked = measurement(metrics, max_regions=2)
    process = MeasuringProcess(asked)
    first = process.row(bent(2.0))
    assert in_time(lambda: process.is_ready)
    del measured_here[:]
    there = process.row(bent(3.0))
    with pytest.raises(IncompleteError, match="at least 2 regions exist") as caught:
        process.row(bent(0.5))
    assert (caught.value.regions, caught.value.status) == (2, al.Status.REGION_LIMIT)
    assert process.row(bent(2.0))["regions"] == 2
    assert measured_here == []
    assert without_seconds(there) == without_seconds(asked.row(bent(3.0)))
    assert first["regions"] == 2
    assert len(started) == 1


def test_a_lost_process_loses_no_row(started: Processes) -> None:
    process = MeasuringProcess(measurement())
    process.row(bent(0.5))
    assert in_time(lambda: process.is_ready)
    started[0].kill()
    started[0].wait()
    assert [process.row(bent(bend))["regions"] for bend in (0.5, 2.0)] == [3, 2]
    assert not process.is_ready
    assert len(started) == 1


def test_a_process_that_ends_at_once_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring_process, "_FIRST_MEASURED_HERE", 0)
    launch = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: launch([sys.executable, "-c", ""], **options))
    process = MeasuringProcess(measurement())
    assert [process.row(bent(bend))["regions"] for bend in (0.5, 2.0)] == [3, 2]


def test_where_no_process_can_start_networks_are_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("no more processes")

    monkeypatch.setattr(measuring_process, "_FIRST_MEASURED_HERE", 0)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    process = MeasuringProcess(measurement())
    assert [process.row(bent(bend))["regions"] for bend in (0.5, 2.0)] == [3, 2]


def test_functions_of_the_users_stay_here(started: Processes) -> None:
    process = MeasuringProcess(measurement({"me": lambda regions: os.getpid()}))
    assert {process.row(bent(0.5))["me"] for _ in range(3)} == {os.getpid()}
    assert started == []


def test_a_few_measurements_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    process = MeasuringProcess(measurement())
    assert [process.row(bent(0.5))["regions"] for _ in range(5)] == [3] * 5


def test_the_process_ends_with_its_owner(started: Processes) -> None:
    process = MeasuringProcess(measurement())
    process.row(bent(0.5))
    assert started[0].poll() is None
    del process
    gc.collect()
    assert started[0].poll() is not None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_leaves_its_parents_process_alone(started: Processes) -> None:
    process = MeasuringProcess(measurement())
    process.row(bent(0.5))
    assert in_time(lambda: process.is_ready)
    child = os.fork()
    if child == 0:
        os._exit(1 if process.is_ready else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert process.row(bent(2.0))["regions"] == 2
    assert process.is_ready


@pytest.mark.parametrize("last", ["sys.exit(0)", "os.kill(os.getpid(), 9)"])
def test_no_process_outlives_a_script(last: str) -> None:
    """Whether the script ends or is killed; it needs no guard against being run again.

    Its output ends when the last process that could write there has ended.
    """
    script = """
        import os, sys, time
        import affinelens as al
        from affinelens.track import measuring_process

        measuring_process._FIRST_MEASURED_HERE = 0
        tracker = al.track(al.Box(-1, 1, dim=1))
        for epoch in range(2):
            tracker([([[1.0]], [0.0])], epoch)
        tracker.wait()
        while not tracker._process.is_ready:
            time.sleep(0.05)
        print("ready", flush=True)
    """
    done = subprocess.run(
        [sys.executable, "-c", f"{textwrap.dedent(script)}\n{last}"], capture_output=True, text=True, timeout=240
    )
    assert (done.stdout, done.stderr) == ("ready\n", "")
