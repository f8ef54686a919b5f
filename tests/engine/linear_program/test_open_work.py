"""A walk that was stopped, written down and gone on with finds what it would have found in one go, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import running
from affinelens.engine.linear_program import depth_first
from affinelens.network import Network
from affinelens.walk import WHOLE_DOMAIN, Chunk, Columns, HandedTo, Job, Limits, Outcome, Request, Status, in_order
from support.brute_force import Layer
from support.degenerate_networks import slivers, with_copies
from support.networks import ABSOLUTE, HARD_TANH, ZIGZAG, compiled
from support.random_networks import random_layers, reference_layers

KINDS = [HARD_TANH, ABSOLUTE, ZIGZAG]


def with_pieces(layers: Iterable[Layer]) -> list[Layer]:
    return [Layer(a.weight, a.bias, [KINDS[i % 3] for i in range(len(a.bias))]) for a in layers]


def averaged(layers: list[Layer], copies: int) -> list[Layer]:
    """The network of the means of so many inputs each."""
    wide = (np.repeat(np.array(layers[0].weight, dtype=np.float64), copies, axis=1) / copies).tolist()
    return [Layer(wide, layers[0].bias, layers[0].pieces, layers[0].groups), *layers[1:]]


MAXIMA = [
    replace(reference_layers([2, 9], 8)[0], groups=[3, 2, 4]),
    replace(reference_layers([3, 7], 9)[0], groups=[3, 2, 2]),
]
NETWORKS: dict[str, Callable[[], tuple[Network, al.Box]]] = {
    "generic": lambda: (al.network(random_layers([2, 9, 7, 5, 1], 3)), al.Box(-1, 1, dim=2)),
    "one stage": lambda: (al.network(random_layers([2, 13, 1], 1)), al.Box(-1, 1, dim=2)),
    "integers, no bias": lambda: (compiled(reference_layers([3, 5, 4], 4, whole=2, bias=0)), al.Box(-1, 1, dim=3)),
    "copies": lambda: (compiled(with_copies(reference_layers([2, 4, 4], 5))), al.Box(-1, 1, dim=2)),
    "several pieces": lambda: (compiled(with_pieces(reference_layers([2, 5, 4], 6))), al.Box(-1, 1, dim=2)),
    "integer pieces": lambda: (
        compiled(with_pieces(reference_layers([2, 4, 4], 7, whole=2, bias=0.5))), al.Box(-1, 1, dim=2),
    ),
    "maxima": lambda: (compiled(MAXIMA), al.Box(-1, 1, dim=2)),
    "slivers": lambda: (al.network(slivers(1)), al.Box(-1, 1, dim=3)),
    "high dimension": lambda: (compiled(averaged(reference_layers([3, 6, 4], 0), 8)), al.Box(-1, 1, dim=24)),
    "high dimension, pieces": lambda: (
        compiled(averaged(with_pieces(reference_layers([3, 3, 3], 7, whole=2, bias=0.5)), 8)), al.Box(-1, 1, dim=24),
    ),
}  # fmt: skip
SMALL = ["generic", "several pieces", "maxima", "high dimension, pieces"]


@cache
def request(name: str) -> Request:
    network, box = NETWORKS[name]()
    return Request(network, box.frame, "linear_program")


@cache
def uninterrupted(name: str) -> Outcome:
    return running.run(request(name))


def written(jobs: tuple[Job, ...] | None) -> tuple[Job, ...]:
    """Open work, by way of a file."""
    assert jobs is not None
    return tuple(Job.from_json(data) for data in json.loads(json.dumps([job.to_json() for job in jobs])))


def bytes_of(columns: Columns) -> list[Any]:
    """Everything there is in columns."""
    assert columns.facets is not None
    facets = columns.facets
    arrays = (columns.patterns, columns.points, facets.numbers, facets.signs, facets.offsets)
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays] + [columns.exact_points]


def assert_whole(name: str, chunks: Iterable[Chunk], layer_counts: tuple[int, ...]) -> None:
    whole = uninterrupted(name)
    assert layer_counts == whole.layer_counts
    assert bytes_of(Columns.joined([chunk.made for chunk in in_order(chunks)])) == bytes_of(whole.table)


def kept(name: str, **asked: Any) -> Request:
    """A request whose chunks keep their columns."""
    return replace(request(name), sink=HandedTo(lambda columns: columns), **asked)


def finished(name: str, so_far: Outcome) -> Outcome:
    """A walk and its rest, in one go."""
    if not so_far.open_work:
        return so_far
    return so_far.then(running.run(kept(name, open_work=written(so_far.open_work))))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_walk_stopped_anywhere_is_the_same_walk(name: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    generator = np.random.default_rng(7)
    most = max(2, 2 * uninterrupted(name).regions // (50 if workers == 1 else 6))
    stops, so_far = 0, None
    while so_far is None or so_far.open_work:
        limits = Limits(max_regions=int(generator.integers(1, most)), workers=workers)
        jobs = (WHOLE_DOMAIN,) if so_far is None else written(so_far.open_work)
        outcome = running.run(kept(name, limits=limits, open_work=jobs))
        so_far = outcome if so_far is None else so_far.then(outcome)
        stops += 1
    assert stops >= min(uninterrupted(name).regions // 3, 20 if workers == 1 else 3)
    assert so_far.status is Status.COMPLETE
    assert_whole(name, so_far.chunks, so_far.layer_counts)


@pytest.mark.parametrize("name", SMALL)
def test_every_job_can_be_run_alone_and_in_any_order(name: str) -> None:
    generator = np.random.default_rng(3)
    so_far = running.run(kept(name, limits=Limits(max_regions=3)))
    chunks, counts = list(so_far.chunks), np.array(so_far.layer_counts)
    jobs = list(written(so_far.open_work))
    while jobs:
        job = jobs.pop(int(generator.integers(len(jobs))))
        outcome = running.run(kept(name, limits=Limits(max_regions=9), open_work=(job,)))
        assert all(chunk.place >= job.place or chunk.place == job.place[:-1] for chunk in outcome.chunks)
        assert all(left.place >= job.place for left in outcome.open_work or ())
        jobs += written(outcome.open_work)
        chunks += outcome.chunks
        counts += outcome.layer_counts
    assert_whole(name, chunks, tuple(counts.tolist()))


@dataclass
class Kept:
    """A sink that keeps every checkpoint."""

    checkpoints: list[Outcome] = field(default_factory=list)

    def write(self, columns: Columns) -> Columns:
        return columns

    def checkpoint(self, so_far: Outcome) -> None:
        self.checkpoints.append(so_far)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", SMALL)
def test_a_walk_can_be_gone_on_with_from_every_checkpoint(
    name: str, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depth_first, "_HELPERS_AFTER", 0.0)
    sink = Kept()
    limits = Limits(workers=workers, checkpoint_every=0.0)
    outcome = running.run(replace(request(name), sink=sink, limits=limits))
    assert_whole(name, outcome.chunks, outcome.layer_counts)
    assert len(sink.checkpoints) >= uninterrupted(name).regions // 2
    for so_far in sink.checkpoints[:: max(1, len(sink.checkpoints) // 12)]:
        assert so_far.status is Status.UNFINISHED
        assert sum(chunk.regions for chunk in so_far.chunks) == so_far.regions
        assert len(so_far.table) == 0
        assert not so_far.certificate.complete
        whole = finished(name, so_far)
        assert whole.status is Status.COMPLETE
        assert_whole(name, whole.chunks, whole.layer_counts)


def test_without_time_to_pass_there_is_no_checkpoint() -> None:
    sink = Kept()
    running.run(replace(request("generic"), sink=sink, limits=Limits(checkpoint_every=1e6)))
    assert sink.checkpoints == []


def test_a_count_adds_up_over_its_stops() -> None:
    asked = replace(request("generic"), regions=False)
    outcome = running.run(replace(asked, limits=Limits(max_regions=20)))
    rest = running.run(replace(asked, open_work=written(outcome.open_work)))
    assert outcome.then(rest).layer_counts == uninterrupted("generic").layer_counts


def test_a_walk_that_ends_as_its_time_does_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is open then, so there is nothing to say about a limit."""
    original = depth_first._Walk._checkpoint

    def stop_at_the_end(walk: depth_first._Walk) -> None:
        original(walk)
        if walk._counts[-1] == uninterrupted("generic").regions and not walk._unfinished:
            walk._stop(Status.CANCELLED)

    monkeypatch.setattr(depth_first._Walk, "_checkpoint", stop_at_the_end)
    outcome = running.run(request("generic"))
    assert (outcome.status, outcome.open_work) == (Status.COMPLETE, ())


# ---------------------------------------------------------------------- what nobody vouches for

REFUSED = "the open work is not of this network and domain, or was altered"


def stopped(name: str, regions: int) -> list[Any]:
    """Open work as it is in a file."""
    outcome = running.run(replace(request(name), limits=Limits(max_regions=regions)))
    assert outcome.open_work
    return [job.to_json() for job in outcome.open_work]


def assert_refused(name: str, jobs: list[Any]) -> None:
    with pytest.raises(al.AffineLensError, match=REFUSED):
        running.run(replace(request(name), open_work=tuple(map(Job.from_json, jobs))))


@pytest.mark.parametrize("part", ["pattern", "point", "exact", "facets", "sides", "choices", "keys"])
@pytest.mark.parametrize("name", SMALL)
def test_open_work_of_another_form_is_refused(name: str, part: str) -> None:
    nonsense: list[Any] = [
        None, 1, -1, 0.5, True, "", "?", "-1", "zz", "f" * 400, [None], [[]], ["1/0"], ["x"], [-1], [10**9], [0, 0],
        [1.5], [True], {}, {"a": 1}, ["ff" * 100], [float("nan")], [1e400], ["7/3"] * 2, [0.25] * 7,
    ]  # fmt: skip
    for value in nonsense:
        jobs = stopped(name, 9)
        if value == jobs[0]["state"][part] or (part == "pattern" and value == ""):
            continue
        jobs[0]["state"][part] = value
        assert_refused(name, jobs)
    jobs = stopped(name, 9)
    del jobs[0]["state"][part]
    assert_refused(name, jobs)


@pytest.mark.parametrize("state", [None, 3, [], "all", {}])
def test_a_state_that_is_none_is_refused(state: Any) -> None:
    assert_refused("generic", [{"engine": "linear_program", "place": [0, 1], "state": state}])


@pytest.mark.parametrize("place", [[], [-1], [0] * 9, [0, 1, 10**30, 5, 6], [5]])
def test_a_place_that_is_none_is_refused(place: list[int]) -> None:
    jobs = stopped("generic", 9)
    jobs[0]["place"] = place
    assert_refused("generic", jobs)


def test_open_work_of_another_engine_is_refused_beside_ones_own() -> None:
    jobs = stopped("generic", 9)
    jobs[1]["engine"] = "vertex"
    assert_refused("generic", jobs)


@pytest.mark.parametrize("name", SMALL)
def test_a_cell_that_is_none_is_refused(name: str) -> None:
    """Its point elsewhere, a facet too few or too many, on the other side, or another pattern."""
    dim, high = request(name).frame.dim, name.startswith("high")
    for i, job in enumerate(stopped(name, 9)):
        state = job["state"]
        if not state["pattern"] or not state["facets"]:
            continue
        domain = 2 * dim
        own = [j for j, number in enumerate(state["facets"]) if number >= domain]
        wrong: list[dict[str, Any]] = [{"point": [0.999] * dim}, {"point": [5.0] * dim}, {"sides": "-" * len(own)}]
        for j in () if high and len(job["place"]) < 3 else own:  # not all that is listed there is a facet
            fewer = {"facets": state["facets"][:j] + state["facets"][j + 1 :]}
            wrong.append({**fewer, "sides": state["sides"][:j] + state["sides"][j + 1 :]})
            side = "+" if state["sides"][j] == "-" else "-"
            wrong.append({"sides": state["sides"][:j] + side + state["sides"][j + 1 :]})
        for change in wrong:
            jobs = stopped(name, 9)
            jobs[i]["state"].update(change)
            if len(jobs[i]["place"]) > 1:
                assert_refused(name, jobs)


def test_open_work_that_is_there_twice_is_refused() -> None:
    jobs = stopped("generic", 9)
    for job in jobs:
        assert_refused("generic", [*jobs, job])
    within = json.loads(json.dumps(jobs[0]))
    within["place"][-1] += 1
    assert_refused("generic", [*jobs, within])


def test_open_work_of_another_network_or_domain_is_refused() -> None:
    jobs = tuple(map(Job.from_json, stopped("generic", 9)))
    asked = request("generic")
    for seed, box in ((4, al.Box(-1, 1, dim=2)), (3, al.Box(-0.5, 1, dim=2)), (3, al.Box(5, 6, dim=2))):
        other = replace(asked, network=al.network(random_layers([2, 9, 7, 5, 1], seed)), frame=box.frame)
        with pytest.raises(al.AffineLensError, match=REFUSED):
            running.run(replace(other, open_work=jobs))
    with pytest.raises(al.AffineLensError, match=REFUSED):
        running.run(replace(request("several pieces"), open_work=jobs))


def test_regions_beyond_a_limit_are_proved_again() -> None:
    """A region is open work itself if it was found when the limit was reached."""
    jobs = stopped("generic", 9)
    regions = [i for i, job in enumerate(jobs) if len(job["place"]) == 4]
    assert regions
    for i in regions:
        for change in ({"point": [0.999, 0.999]}, {"facets": [], "sides": ""}):
            altered = stopped("generic", 9)
            altered[i]["state"].update(change)
            assert_refused("generic", altered)
