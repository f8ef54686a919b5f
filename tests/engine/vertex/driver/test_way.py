"""A walk that is stopped, written down, divided and gone on with at random finds the same regions, byte for byte."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import run, vertex
from affinelens.engine.vertex.driver.bench import Bench
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.driver.way import FROM_THE_ROOT, Way
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program import compile_program
from affinelens.restrict import subdivision
from affinelens.walk import Columns, Job, Limits, Outcome, Request, in_order
from engine.vertex.driver.test_threads import SMALL_NETWORKS, assert_same_columns, cube, group_network
from support.degenerate_networks import slivers
from support.random_networks import random_layers

NETWORKS: dict[str, Any] = {
    **SMALL_NETWORKS,
    "zero bias": random_layers([3, 8, 6, 1], seed=7, bias=0),
    "many slivers": slivers(seed=3),
    "large groups": group_network(1481, [6, 4, 3, 2], 4, 8),
    "one stage": random_layers([4, 14, 1], seed=2, bias=1),
}
POLYTOPE = al.Polytope([[1.0, 0.3], [-1.0, 0.2], [0.1, 1.0], [-0.2, -1.0], [1.0, 1.0]], [1.0, 1.0, 1.0, 1.0, 1.2])


def handed_through_json(way: Way) -> Way:
    return Way.from_json(json.loads(json.dumps(way.to_json())))


def walked_at_random(network: Any, domain: al.Domain, seed: int, **asked: Any) -> Outcome:
    """A walk by one worker that is stopped, and gives work away, at random moments."""
    rng = random.Random(seed)
    network = al.network(network)
    request = Request(network, domain.frame, **asked)
    walk = Walk(Task("vertex", request, counts_sections=not request.regions), compile_program(network, domain.frame))
    bench = walk._benches[0]
    rarely = rng.choice([0.5, 0.1, 0.01])
    while walk._queue:
        rng.shuffle(walk._queue)
        bench.take_up(handed_through_json(walk._queue.popleft()))
        while bench.walk(0, min(bench.rows_left, rng.choice([1, 1, 2, 100]))) != endings.FINISHED:
            if bench.rows_left < 2 or rng.random() < 0.1:
                walk._hand_on(bench)
            while rng.random() < rarely and (way := bench.give()) is not None:
                walk._queue.append(way)
            if rng.random() < rarely / 2 and bench.has_arrived:
                way = bench.remainder()
                walk._queue.extend([way] if way is not None else [])
                break
        walk._hand_on(bench)
    return walk._outcome(al.Status.COMPLETE)


@pytest.mark.parametrize("name", NETWORKS)
def test_regions_are_the_same_however_often_a_walk_is_stopped(name: str) -> None:
    network = NETWORKS[name]
    alone = al.enumerate(network, cube(network), engine="vertex", workers=1, vertices=True).outcome
    for seed in range(6):
        outcome = walked_at_random(network, cube(network), seed, vertices=True)
        assert outcome.layer_counts == alone.layer_counts
        assert outcome.certificate == alone.certificate
        assert_same_columns(outcome.table, alone.table)


@pytest.mark.parametrize("name", NETWORKS)
def test_counts_are_the_same_however_often_a_walk_is_stopped(name: str) -> None:
    network = NETWORKS[name]
    expected = al.count(network, cube(network), engine="vertex", workers=1)
    assert [walked_at_random(network, cube(network), seed, regions=False).regions for seed in range(8)] == [
        expected
    ] * 8


def test_a_domain_that_is_cut_out_of_the_cube_is_gone_through_again() -> None:
    network = SMALL_NETWORKS["small"]
    alone = al.enumerate(network, POLYTOPE, engine="vertex", workers=1).outcome
    for seed in range(8):
        assert_same_columns(walked_at_random(network, POLYTOPE, seed).table, alone.table)


def gone_on_with(request: Request, steps: random.Random) -> list[Outcome]:
    """A walk that is stopped after a few regions, again and again, its open work being written down each time."""
    outcomes: list[Outcome] = []
    open_work = request.open_work
    while open_work:
        asked = Request(
            request.network, request.frame, "vertex", facets=False, limits=Limits(max_regions=steps.randrange(1, 60)),
            open_work=open_work, sink=Kept(),
        )  # fmt: skip
        outcomes.append(run(asked))
        written = json.dumps([job.to_json() for job in outcomes[-1].open_work or ()])
        open_work = tuple(Job.from_json(job) for job in json.loads(written))
    return outcomes


class Kept:
    """A sink that keeps what it is given."""

    def write(self, columns: Columns) -> Columns:
        return columns

    def checkpoint(self, so_far: Outcome) -> None:
        """Nothing is kept of it."""


@pytest.mark.parametrize("is_subdivided", [False, True])
def test_a_restricted_network_is_gone_on_with(is_subdivided: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network, box = al.network(random_layers([2, 12, 10, 2], 3)), al.Box(-1, 1, dim=2)
    monkeypatch.setattr(vertex, "_MANY_COEFFICIENTS", 1)
    monkeypatch.setattr(subdivision, "_MANY_SWITCHING", 4 if is_subdivided else 1 << 20)
    request = Request(network, box.frame, "vertex", facets=False)
    alone = run(request)
    assert alone.restricted is not None
    assert bool(alone.restricted.subdomains) == is_subdivided
    for seed in range(3):
        outcomes = gone_on_with(request, random.Random(seed))
        whole = outcomes[0]
        for later in outcomes[1:]:
            whole = whole.then(later)
        assert len(outcomes) > 3
        assert in_order(whole.chunks) == whole.chunks
        assert (whole.layer_counts, whole.status) == (alone.layer_counts, al.Status.COMPLETE)
        assert whole.certificate == alone.certificate
        assert whole.share == pytest.approx(1.0)
        assert_same_columns(Columns.joined([chunk.made for chunk in whole.chunks]), alone.table)


def test_a_checkpoint_is_the_walk_as_if_it_had_been_stopped_there() -> None:
    network = al.network(random_layers([3, 40, 40, 40, 1], seed=0, bias=1))
    frame = al.Box(-1, 1, dim=3).frame
    alone = run(Request(network, frame, "vertex", facets=False))

    seen: list[Outcome] = []

    class Checked(Kept):
        def checkpoint(self, so_far: Outcome) -> None:
            seen.append(so_far)

    limits = Limits(workers=3, checkpoint_every=0.0)
    outcome = run(Request(network, frame, "vertex", facets=False, limits=limits, sink=Checked()))
    assert_same_columns(Columns.joined([chunk.made for chunk in outcome.chunks]), alone.table)
    assert seen
    for so_far in seen:
        assert so_far.status is al.Status.UNFINISHED
        assert so_far.regions == sum(chunk.regions for chunk in so_far.chunks)
    for so_far in [so_far for so_far in seen if so_far.open_work][:4]:
        request = Request(network, frame, "vertex", facets=False, open_work=so_far.open_work or (), sink=Kept())
        whole = so_far.then(run(request))
        assert (whole.layer_counts, whole.certificate) == (alone.layer_counts, alone.certificate)
        assert whole.share == pytest.approx(1.0)
        assert_same_columns(Columns.joined([chunk.made for chunk in whole.chunks]), alone.table)


@pytest.mark.parametrize(
    "state",
    [
        None, 3, {}, {"choices": [], "share": 0.5}, {"choices": [[-1, -1]], "share": 0.5},
        {"choices": [[-1, -1, -1]], "share": 2.0}, {"choices": [[-1, -1, "x"]], "share": 0.5},
        {"choices": [[-1, -1, -1]], "share": True}, {"choices": [[-9, -1, -1]], "share": 0.1},
    ],
)  # fmt: skip
def test_what_is_not_a_way_is_refused(state: Any) -> None:
    with pytest.raises(al.AffineLensError, match=r"it has a job .*(way|share)"):
        Way.from_json(state)


def is_refused(walk: Walk, bench: Bench, way: Way) -> bool:
    bench.take_up(way)
    try:
        while bench.walk(1 << 20, bench.rows_left) != endings.FINISHED:
            walk._hand_on(bench)
    except al.AffineLensError as error:
        return "a piece of open work is not there" in str(error)
    walk._hand_on(bench)
    return False


@pytest.mark.parametrize("regions", [True, False])
def test_a_way_that_is_not_there_is_refused_or_harmless(regions: bool) -> None:
    """Numbers from a file that nobody vouches for: they lead to an error or to some regions, and to nothing else."""
    rng = np.random.default_rng(11)
    network = al.network(SMALL_NETWORKS["groups"])
    request = Request(network, cube(network).frame, "vertex" if regions else "count", regions=regions, facets=regions)
    walk = Walk(Task("vertex", request, counts_sections=not regions), compile_program(network, cube(network).frame))
    bench = walk._benches[0]
    bench.take_up(FROM_THE_ROOT)
    ways: list[list[list[int]]] = []
    while bench.walk(0, bench.rows_left) != endings.FINISHED:
        way = bench.remainder()
        ways += [] if way is None else [way.to_json()["choices"]]
        walk._hand_on(bench)
    refused = 0
    for _ in range(600):
        choices = np.array(ways[rng.integers(len(ways))])
        for _ in range(rng.integers(1, 4)):
            row, column = rng.integers(len(choices)), rng.integers(3)
            choices[row, column] = rng.choice([-2, -1, 0, 1, 2, 3, 5, 17, 1 << 40])
        choices = choices[: rng.integers(1, len(choices) + 1)]
        refused += is_refused(walk, bench, Way.from_json({"choices": choices.tolist(), "share": 0.5}))
    assert 200 < refused < 600
