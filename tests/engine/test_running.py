"""One way to ask: engines refuse what they cannot give, write to the sink while they walk, and hand back open work."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import running, vertex
from affinelens.engine.linear_program import depth_first
from affinelens.engine.linear_program.cell_search import sub_cells
from affinelens.engine.linear_program.problem import Problem, Tally
from affinelens.engine.linear_program.search_state import Task
from affinelens.restrict import subdivision
from affinelens.walk import (
    WHOLE_DOMAIN,
    Columns,
    HandedTo,
    Job,
    Limits,
    Outcome,
    Request,
    Selection,
    Status,
    in_order,
)  # fmt: skip
from support.random_networks import random_layers

BOX = al.Box(-1, 1, dim=2)
NETWORK = al.network(random_layers([2, 12, 10, 2], 3))
ENGINES = ["vertex", "linear_program"]


def ask(engine: str, **asked: object) -> Outcome:
    return running.run(Request(NETWORK, BOX.frame, engine, **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("engine", "asked", "refused"),
    [
        ("count", {}, "the count engine cannot give the regions themselves, facets; use engine='vertex'"),
        ("linear_program", {"vertices": True}, "the linear_program engine cannot give vertices; use engine='vertex'"),
        ("linear_program", {"condition": ((0,),)}, "only regions on which a condition may hold; use engine='vertex'"),
    ],
)
def test_what_an_engine_cannot_give_is_refused_by_name(engine: str, asked: dict[str, object], refused: str) -> None:
    with pytest.raises(al.AffineLensError, match=refused):
        ask(engine, **asked)


def test_a_selection_is_refused_by_an_engine_that_would_ignore_it() -> None:
    selection = Selection(ask("vertex"), len(NETWORK.stages))
    with pytest.raises(al.AffineLensError, match="linear_program engine cannot give only selected regions"):
        ask("linear_program", selection=selection)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_sink_gets_the_regions_in_order_and_the_outcome_does_not_hold_them(engine: str) -> None:
    whole, taken = ask(engine), list[Columns]()
    outcome = ask(engine, sink=HandedTo(lambda columns: taken.append(columns) or len(taken)))
    assert [chunk.made for chunk in outcome.chunks] == list(range(1, len(taken) + 1))
    assert [chunk.regions for chunk in outcome.chunks] == [len(columns) for columns in taken]
    assert in_order(reversed(outcome.chunks)) == outcome.chunks
    assert (outcome.regions, len(outcome.table)) == (whole.regions, 0)
    found = Columns.joined(taken)
    np.testing.assert_array_equal(found.patterns, whole.patterns)
    assert found.facets is not None
    assert whole.table.facets is not None
    np.testing.assert_array_equal(found.facets.numbers, whole.table.facets.numbers)


@pytest.mark.parametrize("workers", [1, 2])
def test_linear_programs_write_while_they_walk(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth_first, "_CHUNK", 5)
    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    whole, taken = ask("linear_program"), list[Columns]()

    def stop_after_four(columns: Columns) -> None:
        taken.append(columns)
        if len(taken) == 4:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        ask("linear_program", sink=HandedTo(stop_after_four), limits=Limits(workers=workers))
    early = Columns.joined(taken)
    assert 20 <= len(early) < whole.regions
    np.testing.assert_array_equal(early.patterns, whole.patterns[: len(early)])


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("step", [1, 7, 40])
def test_open_work_of_a_stopped_walk_is_the_rest(engine: str, step: int, workers: int) -> None:
    whole, found, open_work = ask(engine), list[bytes](), None
    while open_work is None or open_work:
        further = {} if open_work is None else {"open_work": open_work}
        outcome = ask(engine, limits=Limits(max_regions=step, workers=workers), **further)
        assert outcome.open_work is not None
        assert all(isinstance(job, Job) and job.engine == engine for job in outcome.open_work)
        found += [row.tobytes() for row in outcome.patterns]
        open_work = outcome.open_work
        assert (outcome.status is Status.COMPLETE) == (not open_work)
    assert sorted(found) == sorted(row.tobytes() for row in whole.patterns)
    if workers == 1:
        assert found == [row.tobytes() for row in whole.patterns]


def test_open_work_of_linear_programs_can_be_taken_up_twice() -> None:
    stopped = ask("linear_program", limits=Limits(max_regions=7, workers=1))
    first, second = (ask("linear_program", open_work=stopped.open_work) for _ in range(2))
    np.testing.assert_array_equal(first.patterns, second.patterns)
    assert stopped.regions + first.regions == ask("linear_program").regions


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("step", [7, 40])
def test_open_work_of_a_domain_in_subdomains_is_the_rest(
    step: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = ask("vertex")
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)
    monkeypatch.setattr(subdivision, "_MANY_SWITCHING", 4)
    found, further = list[bytes](), dict[str, object]()
    while further.get("open_work") != ():
        outcome = ask("vertex", limits=Limits(max_regions=step, workers=workers), **further)
        assert outcome.restricted is not None
        assert len(outcome.restricted.subdomains) > 1
        assert outcome.switching is not None
        found += [row.tobytes() for row in outcome.switching.whole(outcome.patterns)]
        further = {"open_work": outcome.open_work}
    assert sorted(found) == sorted(row.tobytes() for row in whole.patterns)


class AtOnce:
    """One helper that delivers all children of a parent at the same moment."""

    def __init__(self, problem: Problem, facets: bool, returned: list[Task]) -> None:
        self._problem = Problem(problem.network, problem.frame)
        self._facets = facets
        self._has_started = False
        self.tasks: list[Task] = []

    def start(self, count: int) -> None:
        self._has_started = True

    @property
    def idle(self) -> bool:
        return self._has_started and not self.tasks

    @property
    def busy(self) -> bool:
        return bool(self.tasks)

    def give(self, task: Task) -> None:
        self.tasks.append(task)

    def collect(self, timeout: float) -> tuple[list[Task], Tally]:
        children = [
            task.child(step)
            for task in self.tasks
            for step in sub_cells(self._problem, task.cell, task.search, facets=self._facets)
        ]
        self.tasks = []
        return children, Tally()

    def close(self) -> None:
        self.tasks = []


@pytest.mark.parametrize("step", [1, 3])
def test_what_a_helper_delivered_when_the_limit_came_is_open_work(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    monkeypatch.setattr(depth_first, "Pool", AtOnce)
    whole, found, further = ask("linear_program"), list[bytes](), dict[str, object]()
    while further.get("open_work") != ():
        outcome = ask("linear_program", limits=Limits(max_regions=step, workers=2), **further)
        found += [row.tobytes() for row in outcome.patterns]
        further = {"open_work": outcome.open_work}
    assert sorted(found) == sorted(row.tobytes() for row in whole.patterns)


def test_a_count_stopped_by_its_time_goes_on_where_it_stopped() -> None:
    network = al.network(random_layers([4, 40, 40, 1], 0))
    request = Request(network, al.Box(-1, 1, dim=4).frame, "count", regions=False)
    first = running.run(replace(request, limits=Limits(time_limit=0.02)))
    assert first.status is Status.TIME_LIMIT
    assert first.open_work
    rest = running.run(replace(request, open_work=first.open_work))
    whole = running.run(request)
    assert 0 < first.regions < whole.regions
    assert [a + b for a, b in zip(first.layer_counts, rest.layer_counts, strict=True)] == list(whole.layer_counts)


def test_a_walk_without_time_leaves_the_whole_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)  # so that the network is restricted first
    outcome = ask("vertex", limits=Limits(time_limit=1e-9))
    assert (outcome.status, outcome.regions) == (Status.TIME_LIMIT, 0)
    assert outcome.open_work == (WHOLE_DOMAIN,)
    assert ask("vertex", open_work=outcome.open_work).status is Status.COMPLETE


class Slow(AtOnce):
    """One helper that takes its time."""

    def collect(self, timeout: float) -> tuple[list[Task], Tally]:
        self._asked = getattr(self, "_asked", 0) + 1
        return super().collect(timeout) if self._asked % 20 == 0 else ([], Tally())


@pytest.mark.parametrize("seed", range(3))
def test_chunks_are_in_order_however_often_a_walk_says_how_it_stands(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    monkeypatch.setattr(depth_first, "Pool", Slow)
    calls = count()
    monkeypatch.setattr(depth_first, "time", SimpleNamespace(monotonic=lambda: float(next(calls))))
    network, taken = al.network(random_layers([2, 6, 5, 4, 2], seed)), list[Columns]()

    class Kept(HandedTo):
        def checkpoint(self, so_far: Outcome) -> None:
            assert sum(chunk.regions for chunk in so_far.chunks) == so_far.regions == sum(map(len, taken))

    def write(columns: Columns) -> int:
        taken.append(columns)
        return len(taken) - 1

    request = Request(network, BOX.frame, "linear_program")
    limits = Limits(workers=2, checkpoint_every=100.0)
    outcome = running.run(replace(request, sink=Kept(write), limits=limits))
    found = Columns.joined([taken[chunk.made] for chunk in in_order(outcome.chunks)])
    np.testing.assert_array_equal(found.patterns, running.run(request).patterns)
