"""Workers, limits, interruptions and lost helpers change neither what is found nor what is claimed about it."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.engine.linear_program import depth_first
from affinelens.errors import AffineLensError
from support.brute_force import Layer, box, patterns_by_stage
from support.interrupts import INTERRUPTS
from support.networks import patterns
from support.random_networks import random_layers

enumerate_regions = partial(al.enumerate, engine="linear_program")
count_regions = partial(al.count, engine="linear_program")
BOX = al.Box(-1, 1, dim=2)
Model = list[tuple[np.ndarray, np.ndarray]]


SMALL = random_layers([2, 5, 4, 1], seed=0, bias=1)
MEDIUM = random_layers([2, 8, 8, 6, 1], seed=0, bias=1)
# Takes far longer than any test waits, but has its first regions at once.
LARGE = random_layers([4, 40, 40, 1], seed=0, bias=1)
LARGE_BOX = al.Box(-1, 1, dim=4)


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Helper processes start at once instead of after a while, and are listed here."""
    started: list[subprocess.Popen[bytes]] = []

    class Recorded(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    monkeypatch.setattr(subprocess, "Popen", Recorded)
    return started


def assert_all_stopped(processes: list[subprocess.Popen[bytes]]) -> None:
    assert all(process.poll() is not None for process in processes)


def assert_same(rs: al.RegionSet, other: al.RegionSet) -> None:
    assert rs.layer_counts == other.layer_counts
    assert rs.patterns.tolist() == other.patterns.tolist()
    assert rs.points.tobytes() == other.points.tobytes()
    assert rs.facet_values.tolist() == other.facet_values.tolist()
    assert rs.facet_offsets.tolist() == other.facet_offsets.tolist()


# ---------------------------------------------------------------------- workers


@pytest.mark.parametrize("workers", [2, 3])
def test_the_result_does_not_depend_on_the_number_of_workers(
    helpers: list[subprocess.Popen[bytes]], workers: int
) -> None:
    alone = enumerate_regions(MEDIUM, BOX, workers=1)
    assert helpers == []
    together = enumerate_regions(MEDIUM, BOX, workers=workers)
    assert len(helpers) == workers - 1
    assert_all_stopped(helpers)
    assert_same(together, alone)
    assert together.status is al.Status.COMPLETE
    assert count_regions(MEDIUM, BOX, workers=workers) == len(alone)


def test_a_repeated_run_gives_the_same_columns() -> None:
    assert_same(enumerate_regions(SMALL, BOX, workers=1), enumerate_regions(SMALL, BOX, workers=1))


@pytest.mark.parametrize("survivors", [0, 1])
@pytest.mark.parametrize("sizes", [(3, 10, 8, 1), (3, 14, 1)])
def test_killed_helpers_lose_nothing_and_repeat_nothing(
    helpers: list[subprocess.Popen[bytes]], survivors: int, sizes: tuple[int, ...]
) -> None:
    """With a single stage helpers have nothing to do, and die idle."""
    layers, domain = random_layers(sizes, seed=3, bias=1), al.Box(-1, 1, dim=3)
    alone = enumerate_regions(layers, domain, workers=1)

    def kill(_: al.Progress) -> None:
        for process in helpers[survivors:]:
            process.kill()

    together = enumerate_regions(layers, domain, workers=3, progress=kill)
    assert len(helpers) == 2
    assert_all_stopped(helpers)
    assert together.status is al.Status.COMPLETE
    assert_same(together, alone)


def test_helpers_that_end_before_they_connect_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: Any) -> None:
        raise TimeoutError("still waiting for a helper that has ended")

    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    expected = enumerate_regions(SMALL, BOX, workers=1)
    launch = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: launch([sys.executable, "-c", ""], **options))
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    try:
        assert_same(enumerate_regions(SMALL, BOX, workers=3), expected)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_helpers_that_cannot_start_are_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("no more processes")

    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert_same(enumerate_regions(SMALL, BOX, workers=4), enumerate_regions(SMALL, BOX, workers=1))


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("workers", [1, 2])
def test_max_regions_is_exact(helpers: list[subprocess.Popen[bytes]], workers: int) -> None:
    whole = enumerate_regions(SMALL, BOX, workers=1)
    total = len(whole)
    for limit in (1, 2, total - 1):
        part = enumerate_regions(SMALL, BOX, max_regions=limit, workers=workers)
        assert len(part) == part.layer_counts[-1] == limit
        assert part.status is al.Status.REGION_LIMIT
        assert not part.certificate.complete
        assert patterns(part) < patterns(whole)
    for limit in (total, total + 1):
        assert_same(enumerate_regions(SMALL, BOX, max_regions=limit, workers=workers), whole)
        assert enumerate_regions(SMALL, BOX, max_regions=limit, workers=workers).status is al.Status.COMPLETE


def test_a_limited_set_holds_true_regions() -> None:
    whole = enumerate_regions(MEDIUM, BOX, workers=1)
    part = enumerate_regions(MEDIUM, BOX, max_regions=20, workers=1)
    for region in part:
        found = whole.locate(region.point)
        assert whole.patterns[found].tolist() == region.pattern.tolist()


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("seconds", [1e-9, 0.5])
def test_the_time_limit_stops_and_keeps_what_was_found(
    helpers: list[subprocess.Popen[bytes]], workers: int, seconds: float
) -> None:
    rs = enumerate_regions(LARGE, LARGE_BOX, time_limit=seconds, workers=workers)
    assert rs.status is al.Status.TIME_LIMIT
    assert "time limit" in str(rs.status)
    assert len(patterns(rs)) == rs.layer_counts[-1]
    assert not rs.certificate.complete
    assert_all_stopped(helpers)


@pytest.mark.parametrize(
    ("options", "status"), [({"max_regions": 3}, al.Status.REGION_LIMIT), ({"time_limit": 0.3}, al.Status.TIME_LIMIT)]
)
def test_a_partial_count_is_never_returned_as_the_count(options: dict[str, Any], status: al.Status) -> None:
    with pytest.raises(al.IncompleteError, match="at least") as caught:
        count_regions(LARGE, LARGE_BOX, workers=1, **options)
    assert caught.value.status is status
    assert caught.value.regions == options.get("max_regions", caught.value.regions)


@pytest.mark.parametrize(("limit", "complete"), [(0, True), (-1, False)])
def test_a_count_with_a_limit_that_suffices(limit: int, complete: bool) -> None:
    total = count_regions(SMALL, BOX, workers=1)
    if complete:
        assert count_regions(SMALL, BOX, workers=1, max_regions=total + limit) == total
    else:
        with pytest.raises(al.IncompleteError):
            count_regions(SMALL, BOX, workers=1, max_regions=total + limit)


@pytest.mark.parametrize("sizes", [[2, 5, 4, 1], [2, 8, 8, 6, 1], [3, 6, 5, 1], [1, 9, 9, 1]], ids=str)
def test_the_count_is_the_number_of_regions(sizes: list[int]) -> None:
    layers, domain = random_layers(sizes, seed=0, bias=1), al.Box(-1, 1, dim=sizes[0])
    assert count_regions(layers, domain, workers=1) == len(enumerate_regions(layers, domain, workers=1))


# ---------------------------------------------------------------------- interruptions and progress


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_ctrl_c_keeps_what_was_found(
    helpers: list[subprocess.Popen[bytes]], workers: int, interrupt: Callable[[], None]
) -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[al.Progress] = []

    def stop(snapshot: al.Progress) -> None:
        if not seen:
            interrupt()
        seen.append(snapshot)

    with pytest.raises(al.Interrupted) as caught:
        enumerate_regions(LARGE, LARGE_BOX, workers=workers, progress=stop)
    rs = caught.value.found
    assert rs.status is al.Status.CANCELLED
    assert "stopped by the user" in str(rs.status)
    assert len(rs) >= seen[0].regions
    assert len(patterns(rs)) == rs.layer_counts[-1]
    assert signal.getsignal(signal.SIGINT) is before
    assert_all_stopped(helpers)


def test_a_second_ctrl_c_acts_as_usual() -> None:
    def insist(_: al.Progress) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        enumerate_regions(LARGE, LARGE_BOX, workers=1, progress=insist)


def test_progress_reports_growing_numbers() -> None:
    seen: list[al.Progress] = []

    def watch(snapshot: al.Progress) -> None:
        seen.append(snapshot)
        if len(seen) == 4:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(al.Interrupted) as caught:
        enumerate_regions(LARGE, LARGE_BOX, workers=1, progress=watch)
    rs = caught.value.found
    assert len(seen) >= 4
    for earlier, later in itertools.pairwise(seen):
        assert earlier.seconds < later.seconds
        assert earlier.regions <= later.regions
        assert all(a <= b for a, b in zip(earlier.layer_counts, later.layer_counts, strict=True))
    assert seen[-1].regions <= len(rs)
    assert all(snapshot.regions == snapshot.layer_counts[-1] for snapshot in seen)


def test_an_error_in_the_progress_function_reaches_the_caller(helpers: list[subprocess.Popen[bytes]]) -> None:
    def fail(_: al.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        enumerate_regions(LARGE, LARGE_BOX, workers=2, progress=fail)
    assert_all_stopped(helpers)


def test_works_outside_the_main_thread() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(count_regions(SMALL, BOX, workers=1)))
    thread.start()
    thread.join()
    assert found == [count_regions(SMALL, BOX, workers=1)]


# ---------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_regions": 0}, "max_regions"),
        ({"max_regions": 2.5}, "max_regions"),
        ({"max_regions": True}, "max_regions"),
        ({"workers": 0}, "workers"),
        ({"workers": "two"}, "workers"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"time_limit": float("inf")}, "time_limit"),
        ({"engine": "guess"}, "guess"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AffineLensError, match=message):
        enumerate_regions(SMALL, BOX, **options)
    with pytest.raises(AffineLensError, match=message):
        count_regions(SMALL, BOX, **options)


def test_the_domain_must_be_one_and_fit() -> None:
    with pytest.raises(AffineLensError, match="a Box, a Polytope or a Slice"):
        enumerate_regions(SMALL, [(-1, 1), (-1, 1)])  # type: ignore[arg-type]
    with pytest.raises(AffineLensError, match="2 inputs but the domain has 3"):
        enumerate_regions(SMALL, al.Box(-1, 1, dim=3))


def test_a_complete_certificate_accounts_for_every_decision() -> None:
    proof = enumerate_regions(SMALL, BOX, workers=1).certificate
    assert proof.complete
    assert proof.decisions == proof.by_rounding_bound + proof.by_reuse + proof.by_exact_arithmetic > 0
    assert "all the full-dimensional regions" in proof.proves
    assert "others may exist" in enumerate_regions(SMALL, BOX, workers=1, max_regions=1).certificate.proves


@pytest.mark.parametrize("seed", [0, 5, 10, 15])
def test_weights_whose_products_overflow_give_the_regions_of_the_brute_force(seed: int) -> None:
    generator = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return generator.choice([-1, 1], shape) * 10.0 ** generator.uniform(-300, 290, shape)

    layers = [(drawn(4, 2), drawn(4)), (drawn(3, 4), drawn(3)), (drawn(1, 3), drawn(1))]
    found = enumerate_regions(layers, BOX, workers=1)
    assert found.status is al.Status.COMPLETE
    reference = [Layer(weight.tolist(), offset.tolist()) for weight, offset in layers[:-1]]
    assert patterns(found) == patterns_by_stage(reference, box([-1.0] * 2, [1.0] * 2))[-1]
