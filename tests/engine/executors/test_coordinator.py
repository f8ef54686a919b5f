"""A walk on an executor finds what a walk here finds, in the same order, however its jobs are cut and lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import run
from affinelens.engine.executors import adapters, context, coordinator
from affinelens.errors import AffineLensError
from affinelens.progress import Progress
from affinelens.walk import Columns, Limits, Outcome, Request, Status
from support.degenerate_networks import slivers
from support.random_networks import random_layers

ENGINES = ("vertex", "linear_program")
BOX = al.Box(-1, 1, dim=3)


@pytest.fixture(autouse=True)
def short_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of hundredths of a second, so that a small walk is cut into many."""
    for name in ("_SHORT", "_LONG", "_LONGEST"):
        monkeypatch.setattr(coordinator, name, 0.02)


@pytest.fixture(scope="module")
def network() -> al.Network:
    return al.network(random_layers([3, 56, 56, 2], 1))


@pytest.fixture(scope="module")
def wide() -> al.Network:
    """A count of some tenths of a second."""
    return al.network(random_layers([3, 100, 100, 2], 1))


@pytest.fixture(scope="module")
def small() -> al.Network:
    return al.network(random_layers([3, 7, 6, 2], 2))


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        yield executor


class Recording(ThreadPoolExecutor):
    """Threads; how many jobs were run, and how many were there at a time."""

    def __init__(self, workers: int = 2) -> None:
        super().__init__(workers)
        self.jobs, self.ahead, self.most_ahead = 0, 0, 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **options: Any) -> Future[Any]:
        self.jobs += 1
        self.ahead += 1
        self.most_ahead = max(self.most_ahead, self.ahead)
        future = super().submit(function, *given, **options)
        future.add_done_callback(self._landed)
        return future

    def _landed(self, _future: Future[Any]) -> None:
        self.ahead -= 1


class Kept:
    """A sink that keeps what it is given, and every checkpoint."""

    def __init__(self) -> None:
        self.parts: list[Columns] = []
        self.checkpoints: list[Outcome] = []

    def write(self, columns: Columns) -> int:
        self.parts.append(columns)
        return len(self.parts) - 1

    def checkpoint(self, so_far: Outcome) -> None:
        self.checkpoints.append(so_far)

    def regions(self, outcome: Outcome) -> Columns:
        return Columns.joined([self.parts[chunk.made] for chunk in outcome.chunks])


def walk(network: al.Network, engine: str, executor: Any = None, **limits: Any) -> Outcome:
    asked = {"regions": engine != "count", "vertices": engine == "vertex"}
    return run(Request(network, BOX.frame, engine, limits=Limits(executor=executor, **limits), **asked))


def require_same(one: Columns, other: Columns) -> None:
    """The same numbers in the same order."""
    pairs = [(one.patterns, other.patterns), (one.points, other.points)]
    assert one.exact_points == other.exact_points
    for name in ("facets", "vertices"):
        here, there = getattr(one, name), getattr(other, name)
        assert (here is None) == (there is None)
        if here is not None:
            fields = ("numbers", "signs", "bits") if name == "facets" else ("points", "tight")
            pairs += [(getattr(here, field), getattr(there, field)) for field in ("offsets", *fields)]
    for here, there in pairs:
        assert (here is None and there is None) or np.array_equal(here, there)


@pytest.mark.parametrize("engine", ["vertex", "count", "linear_program"])
def test_threads_find_the_same(engine: str, network: al.Network, small: al.Network, wide: al.Network) -> None:
    asked = {"vertex": network, "count": wide, "linear_program": small}[engine]
    alone = walk(asked, engine)
    with Recording() as executor:
        found = walk(asked, engine, executor)
        assert executor.jobs > 3
        assert executor.most_ahead <= 5
    assert found.status is Status.COMPLETE
    assert found.layer_counts == alone.layer_counts
    assert found.open_work == ()
    assert found.certificate.complete
    assert found.share == alone.share
    require_same(found.table, alone.table)


@pytest.mark.parametrize("engine", ["vertex", "count", "linear_program"])
def test_processes_find_the_same(engine: str, network: al.Network, small: al.Network, processes: Executor) -> None:
    asked = small if engine == "linear_program" else network
    alone, found = walk(asked, engine), walk(asked, engine, processes)
    assert (found.status, found.layer_counts) == (Status.COMPLETE, alone.layer_counts)
    require_same(found.table, alone.table)


def test_a_restricted_network_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is walked in subdomains, whose restriction is sent and not found again."""
    from affinelens.engine import vertex
    from affinelens.restrict import subdivision

    monkeypatch.setattr(subdivision, "_MANY_SWITCHING", 12)
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)
    network, plane = al.network(random_layers([2, 16, 16, 2], 3)), al.Box(-1, 1, dim=2)
    alone = run(Request(network, plane.frame))
    assert alone.restricted is not None
    assert len(alone.restricted.subdomains) > 1
    with Recording() as executor:
        found = run(Request(network, plane.frame, limits=Limits(executor=executor)))
    assert found.layer_counts == alone.layer_counts
    assert found.switching is not None
    require_same(found.table, alone.table)


def test_slices_and_thin_regions_travel() -> None:
    """Exact points, and a frame with coordinates of its own."""
    plane = al.Slice([0.1, 0.2, 0.3], [[1, 0, 1], [0, 1, -1]], al.Box(-1, 1, dim=2))
    for domain in (BOX, plane, al.Polytope([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, -1, -1]], [1, 1, 1, 0.5])):
        network = al.network(slivers(1))
        alone = run(Request(network, domain.frame, "vertex"))
        with ThreadPoolExecutor(1) as executor:
            found = run(Request(network, domain.frame, "vertex", limits=Limits(executor=executor)))
        require_same(found.table, alone.table)
        assert domain is not BOX or alone.exact_points


@pytest.mark.parametrize("most", [1, 17, 1000])
def test_a_limit_of_regions_is_met_exactly(most: int, network: al.Network) -> None:
    with Recording() as executor:
        found = walk(network, "vertex", executor, max_regions=most)
        assert found.status is Status.REGION_LIMIT
        assert found.regions == len(found.table) == most
        assert found.open_work is not None
        rest = run(Request(network, BOX.frame, vertices=True, open_work=found.open_work))
        assert found.then(rest).layer_counts == walk(network, "vertex").layer_counts


def test_a_limit_is_met_by_many_small_jobs() -> None:
    """Each of which goes on in the middle of a cell that was cut last, which it is led to."""
    network = al.network(random_layers([3, 60, 60, 2], 1))
    with Recording() as executor:
        assert walk(network, "vertex", executor, max_regions=5000).regions == 5000


def test_a_limit_that_is_just_the_number_of_regions_is_none(small: al.Network) -> None:
    count = walk(small, "count").regions
    with Recording() as executor:
        for engine in ("vertex", "count"):
            exactly, short = (walk(small, engine, executor, max_regions=most) for most in (count, count - 1))
            assert (exactly.status, exactly.regions) == (Status.COMPLETE, count)
            assert (short.status, short.regions) == (Status.REGION_LIMIT, count - 1)
        assert short.open_work is None


@pytest.mark.parametrize("engine", ENGINES)
def test_a_walk_that_was_stopped_is_gone_on_with_elsewhere(engine: str, network: al.Network, small: al.Network) -> None:
    """On the executor, and here where what is left lies between regions that others have found, in turn."""
    asked, sink = network if engine == "vertex" else small, Kept()
    request = Request(asked, BOX.frame, engine, vertices=engine == "vertex", sink=sink)
    with Recording() as executor:
        outcome = run(_limited(request, Limits(time_limit=0.05, executor=executor)))
        assert outcome.status is Status.TIME_LIMIT
        for sitting in range(1000):
            if not outcome.open_work:
                break
            limits = Limits(time_limit=0.1, workers=2, executor=None if sitting % 2 else executor)
            outcome = outcome.then(run(_limited(request, limits, outcome.open_work)))
    alone = walk(asked, engine)
    assert outcome.layer_counts == alone.layer_counts
    require_same(sink.regions(outcome), alone.table)


def _limited(request: Request, limits: Limits, open_work: Any = None) -> Request:
    return replace(request, limits=limits, open_work=request.open_work if open_work is None else open_work)


def test_every_checkpoint_can_be_gone_on_from(wide: al.Network) -> None:
    sink = Kept()
    request = Request(wide, BOX.frame, "vertex", sink=sink)
    with Recording() as executor:
        whole = run(_limited(request, Limits(executor=executor, checkpoint_every=0.05)))
    assert len(sink.checkpoints) > 1
    for so_far in sink.checkpoints[:3]:
        assert so_far.status is Status.UNFINISHED
        assert so_far.open_work
        later = run(_limited(request, Limits(workers=2), so_far.open_work))
        assert so_far.then(later).layer_counts == whole.layer_counts
        require_same(sink.regions(so_far.then(later)), sink.regions(whole))


def test_ctrl_c_stops_and_leaves_the_rest() -> None:
    wide = al.network(random_layers([4, 64, 64, 2], 4))
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with Recording() as executor:
        found = run(Request(wide, al.Box(-1, 1, dim=4).frame, regions=False, limits=Limits(executor=executor)))
    timer.join()
    assert found.status is Status.CANCELLED
    assert found.open_work
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_says_how_many_work(wide: al.Network) -> None:
    seen: list[Progress] = []
    with Recording(3) as executor:
        run(Request(wide, BOX.frame, "vertex", limits=Limits(executor=executor), progress=seen.append))
    assert seen
    assert all(update.workers == 3 for update in seen)
    shares = [update.share for update in seen if update.share is not None]
    assert shares == sorted(shares)


class Failing(ThreadPoolExecutor):
    """Threads that lose some jobs before they are run, and some after."""

    def __init__(self, lost: Callable[[int], bool]) -> None:
        super().__init__(2)
        self._lost = lost
        self._count = 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **options: Any) -> Future[Any]:
        self._count += 1
        number = self._count

        def perform() -> Any:
            result = function(*given, **options) if number % 2 else None
            if self._lost(number):
                raise ConnectionError("the worker is gone")
            return result if number % 2 else function(*given, **options)

        return super().submit(perform)


@pytest.mark.parametrize("engine", ["vertex", "count"])
def test_lost_jobs_are_sent_again_and_nothing_is_there_twice(
    engine: str, network: al.Network, wide: al.Network
) -> None:
    asked = network if engine == "vertex" else wide
    alone = walk(asked, engine)
    with Failing(lambda number: number % 7 == 0) as executor:
        found = walk(asked, engine, executor)
    assert (found.status, found.layer_counts) == (Status.COMPLETE, alone.layer_counts)
    require_same(found.table, alone.table)


class Slow(ThreadPoolExecutor):
    """Threads, of which some jobs are answered long after they were run, if at all; how many jobs were sent."""

    def __init__(self, delay: Callable[[int], float]) -> None:
        super().__init__(2)
        self._delay = delay
        self.jobs = 0
        self.timers: list[threading.Timer] = []

    def submit(self, function: Callable[..., Any], /, *given: Any, **options: Any) -> Future[Any]:
        self.jobs += 1
        delay, run_now = self._delay(self.jobs), super().submit(function, *given, **options)
        if delay == 0:
            return run_now
        answered: Future[Any] = Future()
        answered.set_running_or_notify_cancel()
        if delay < float("inf"):
            timer = threading.Timer(delay, lambda: answered.set_result(run_now.result()))
            self.timers.append(timer)
            timer.start()
        return answered


@pytest.mark.parametrize("engine", ["vertex", "count"])
@pytest.mark.parametrize("delay", [float("inf"), 0.05, 0.35, 1.0])
def test_silent_jobs_are_sent_to_others_and_answers_count_once(
    engine: str, delay: float, network: al.Network, wide: al.Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of hosts that are cut off, of those that are back before somebody else has answered, and after."""
    monkeypatch.setattr(coordinator, "_PATIENCE", 0.1)
    monkeypatch.setattr(coordinator, "_PATIENCE_IN_BUDGETS", 1.0)
    asked = network if engine == "vertex" else wide
    alone = walk(asked, engine)
    executor = Slow(lambda number: delay if number % 5 == 1 else 0)
    found = walk(asked, engine, executor)
    for timer in executor.timers:
        timer.join()
    executor.shutdown()
    assert (found.status, found.layer_counts) == (Status.COMPLETE, alone.layer_counts)
    require_same(found.table, alone.table)


def test_late_answers_do_not_go_beyond_a_limit(network: al.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "_PATIENCE", 0.05)
    monkeypatch.setattr(coordinator, "_PATIENCE_IN_BUDGETS", 0.0)
    for most in (100, 1000, 3000):
        with Slow(lambda number: 0.2 if number % 3 == 0 else 0) as executor:
            found = walk(network, "vertex", executor, max_regions=most)
        assert (found.status, found.regions, len(found.table)) == (Status.REGION_LIMIT, most, most)


class OneByOne:
    """One thread that passes for four, and takes its time; how many jobs were sent that were there already."""

    def __init__(self) -> None:
        self._max_workers = 4
        self._thread = ThreadPoolExecutor(1)
        self._there: list[bytes] = []
        self.twice = self.most_ahead = 0

    def submit(self, function: Callable[..., Any], /, *given: Any, **options: Any) -> Future[Any]:
        self.twice += given[1] in self._there
        self._there.append(given[1])
        self.most_ahead = max(self.most_ahead, len(self._there))

        def perform() -> Any:
            time.sleep(0.1)
            self._there.remove(given[1])
            return function(*given, **options)

        return self._thread.submit(perform)


def test_jobs_that_wait_their_turn_are_not_silent(network: al.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """While those before them are answered in turn, however long that takes."""
    monkeypatch.setattr(coordinator, "_PATIENCE", 0.5)
    monkeypatch.setattr(coordinator, "_PATIENCE_IN_BUDGETS", 0.0)
    executor = OneByOne()
    found = walk(network, "vertex", executor)
    assert found.layer_counts == walk(network, "vertex").layer_counts
    assert executor.most_ahead > 6
    assert executor.twice == 0


def test_a_job_that_always_fails_is_given_up(small: al.Network) -> None:
    sink = Kept()
    with Failing(lambda number: True) as executor, pytest.raises(AffineLensError, match=r"failed 4 times.*is gone"):
        run(Request(small, BOX.frame, "vertex", sink=sink, limits=Limits(executor=executor)))
    assert sink.checkpoints[-1].open_work


def test_a_killed_process_of_a_pool_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    """A pool does not get over that, and is not ours to replace.

    Replies are short here: of one killed in the middle of a long one, the pool itself would wait for the rest for ever.
    """
    wide, place = al.network(random_layers([3, 40, 40, 2], 4)), tmp_path / "run"
    alone = al.count(wide, BOX, workers=2)
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as executor:
        assert al.count(wide, BOX, executor=executor) == alone  # now the workers are there
        victim = next(iter(executor._processes))
        killer = threading.Timer(0.3, os.kill, (victim, signal.SIGKILL))
        killer.start()
        with pytest.raises(AffineLensError, match="takes no more jobs"):
            _count_until_it_fails(wide, executor, place)
        killer.join()
    assert al.resume(place) == alone


def _count_until_it_fails(network: al.Network, executor: Executor, place: Path) -> None:
    while True:
        al.count(network, BOX, executor=executor, run=place, overwrite=True)


def test_a_pool_that_does_not_notice_its_loss_is_not_waited_for(
    small: al.Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost:
        exitcode = -9

    class Waiting:
        _processes: ClassVar[dict[int, Lost]] = {1: Lost()}

        def submit(self, *_: Any) -> Future[bytes]:
            return Future()

    monkeypatch.setattr(adapters, "_TO_NOTICE", 0.2)
    with pytest.raises(AffineLensError, match=r"Waiting takes no more jobs \(one of its processes was lost\)"):
        al.count(small, BOX, executor=Waiting())


def test_an_executor_that_was_shut_down_is_refused(small: al.Network) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(AffineLensError, match="takes no more jobs"):
        al.count(small, BOX, executor=executor)


@pytest.mark.parametrize("executor", [3, "tcp://host:8786", ThreadPoolExecutor])
def test_what_is_no_executor_is_refused(executor: Any, small: al.Network) -> None:
    with pytest.raises(AffineLensError, match="executor takes a concurrent"):
        al.enumerate(small, BOX, executor=executor)


def test_a_large_network_is_sent_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, network: al.Network) -> None:
    """Threads share what they know; a process that does not know the walk says so, and then is sent it."""
    monkeypatch.setattr(adapters, "_SMALL", 0)
    monkeypatch.setattr(context, "_known", type(context._known)())
    with Recording() as executor:
        found = walk(network, "count", executor)
    assert found.layer_counts == walk(network, "count").layer_counts


def test_verify_track_and_robust_walk_there(small: al.Network) -> None:
    with Recording() as executor:
        verdict = al.verify(small, BOX, never=al.output(0) >= 1e3, executor=executor)
        assert str(verdict) == "unsat"
        always = al.verify(small, BOX, always=al.output(0) <= 1e-3, executor=executor, all=True)
        here = al.verify(small, BOX, always=al.output(0) <= 1e-3, all=True)
        assert (str(always), always.regions) == (str(here), here.regions)
        assert sum(part.volume for part in always.unsafe or ()) == sum(part.volume for part in here.unsafe or ())
        tracker = al.track(BOX, executor=executor)
        for epoch in range(2):
            tracker(small, epoch)
        assert [row["regions"] for row in tracker.table] == [al.count(small, BOX)] * 2
        assert executor.jobs > 2


def test_a_walk_from_another_thread(small: al.Network) -> None:
    found: list[int] = []
    with Recording() as executor:
        thread = threading.Thread(target=lambda: found.append(al.count(small, BOX, executor=executor)))
        thread.start()
        thread.join()
    assert found == [al.count(small, BOX)]


def test_a_time_limit_is_kept(network: al.Network) -> None:
    wide = al.network(random_layers([4, 64, 64, 2], 4))
    started = time.monotonic()
    with ThreadPoolExecutor(2) as executor:
        request = Request(wide, al.Box(-1, 1, dim=4).frame, "count", regions=False)
        found = run(_limited(request, Limits(time_limit=0.5, executor=executor)))
    assert found.status is Status.TIME_LIMIT
    assert found.open_work
    assert time.monotonic() - started < 60
