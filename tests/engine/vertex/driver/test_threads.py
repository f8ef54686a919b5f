"""Workers, limits, interruptions, sinks and options change neither what is found nor what is claimed about it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.engine import run
from affinelens.engine.vertex.driver import threads as driver
from affinelens.engine.vertex.driver.bench import Bench
from affinelens.engine.vertex.driver.way import Way
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program import compile_program
from affinelens.errors import AffineLensError
from affinelens.regions.store.run_writer import RunWriter
from affinelens.walk import Columns, HandedTo, Limits, Outcome, Request
from support.brute_force import Layer
from support.degenerate_networks import slivers
from support.interrupts import INTERRUPTS
from support.networks import compiled, evaluate, patterns
from support.random_networks import random_layers

enumerate_regions = partial(al.enumerate, engine="vertex")
BOTH = pytest.mark.parametrize("engine", ["vertex", "count"])
Model = list[tuple[np.ndarray, np.ndarray]]

MODEL_OF_ONE_LAYER = [
    (np.random.default_rng(5).normal(size=(40, 4)), np.random.default_rng(6).normal(size=40)),
    (np.ones((1, 40)), np.zeros(1)),
]


def group_network(seed: int, groups: list[int], dim: int, units: int) -> al.Network:
    """Maxima of groups, then ReLU units."""
    rng = np.random.default_rng(seed)
    size = sum(groups)
    weight, bias = rng.standard_normal((size, dim)), 0.5 * rng.standard_normal(size)
    after = rng.standard_normal((units, len(groups))), rng.standard_normal(units)
    return compiled([
        Layer(weight.tolist(), bias.tolist(), None, groups), Layer(after[0].tolist(), after[1].tolist()),
    ])  # fmt: skip


def cube(network: Any) -> al.Box:
    return al.Box(-1, 1, dim=network.input_size if isinstance(network, al.Network) else network[0][0].shape[1])


SLIVERS = slivers(seed=1)
SMALL = random_layers([2, 5, 6, 1], seed=0, bias=1)
MEDIUM = random_layers([3, 40, 40, 1], seed=0, bias=1)
# Takes far longer than any test waits, but has its first regions at once.
HUGE = random_layers([5, 200, 200, 1], seed=0, bias=1)
NETWORKS: dict[str, Any] = {
    "one stage": random_layers([3, 160, 1], seed=0, bias=1),
    "two stages": MEDIUM,
    "three stages": random_layers([2, 32, 32, 32, 1], seed=0, bias=1),
    "whole numbers": random_layers([3, 10, 8, 1], seed=0, whole=2),
    "groups": group_network(0, [4, 3, 2], 3, 8),
}
SMALL_NETWORKS: dict[str, Any] = {
    "small": SMALL,
    "three stages": random_layers([2, 6, 5, 4, 1], seed=4, bias=1),
    "whole numbers": random_layers([3, 6, 5, 1], seed=0, whole=2),
    "slivers": SLIVERS,
    "groups": group_network(1, [4, 3, 2], 3, 4),
}


@pytest.fixture(scope="module", autouse=True)
def compiled_kernels() -> None:
    """Compile before anything is timed."""
    enumerate_regions(SMALL, cube(SMALL), vertices=True)
    al.count(SMALL, cube(SMALL), engine="count")


@pytest.fixture(autouse=True)
def no_thread_stays() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + 10
    while extra := set(threading.enumerate()) - before:
        assert time.monotonic() < deadline, f"still running: {extra}"
        time.sleep(0.01)


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Into how many pieces each walk was divided."""
    seen: list[int] = []
    took, started = Bench.take_up, driver.Walk.run

    def taken(self: Bench, way: Way) -> None:
        seen[-1] += 1
        took(self, way)

    def run_walk(self: driver.Walk) -> Outcome:
        seen.append(0)
        return started(self)

    monkeypatch.setattr(Bench, "take_up", taken)
    monkeypatch.setattr(driver.Walk, "run", run_walk)
    return seen


def assert_same_columns(one: Columns, other: Columns) -> None:
    assert np.array_equal(one.patterns, other.patterns)
    assert one.points.tobytes() == other.points.tobytes()
    assert one.exact_points == other.exact_points
    assert (one.facets is None, one.vertices is None) == (other.facets is None, other.vertices is None)
    if one.facets is not None and other.facets is not None:
        assert np.array_equal(one.facets.numbers, other.facets.numbers)
        assert np.array_equal(one.facets.signs, other.facets.signs)
        assert np.array_equal(one.facets.offsets, other.facets.offsets)
    if one.vertices is not None and other.vertices is not None:
        assert np.array_equal(one.vertices.offsets, other.vertices.offsets)
        assert np.array_equal(one.vertices.tight, other.vertices.tight)
        assert one.vertices.points.tobytes() == other.vertices.points.tobytes()


def assert_same(rs: al.RegionSet, other: al.RegionSet) -> None:
    assert rs.layer_counts == other.layer_counts
    assert_same_columns(rs.outcome.table, other.outcome.table)


def scattered(network: Any, *, name: str = "vertex", vertices: bool = False) -> Outcome:
    """A walk by one worker that gives away all it can after every step, and takes it up again later."""
    network = network if isinstance(network, al.Network) else al.network(network)
    keep = name == "vertex"
    program = compile_program(network, cube(network).frame)
    asked = Request(network, cube(network).frame, regions=keep, facets=keep, vertices=vertices)
    walk = driver.Walk(driver.Task(name, asked, counts_sections=not keep), program)
    bench, pieces = walk._benches[0], 0
    while walk._queue:
        bench.take_up(Way.from_json(json.loads(json.dumps(walk._queue.popleft().to_json()))))
        pieces += 1
        while bench.walk(0, bench.rows_left) != endings.FINISHED:
            if bench.rows_left < 2:
                walk._hand_on(bench)
            while (way := bench.give()) is not None:
                walk._queue.append(way)
        walk._hand_on(bench)
    assert pieces > 1
    return walk._outcome(al.Status.COMPLETE)


# ---------------------------------------------------------------------- workers


@pytest.mark.parametrize("name", NETWORKS)
def test_the_result_does_not_depend_on_the_number_of_workers(name: str, pieces: list[int]) -> None:
    network = NETWORKS[name]
    alone = enumerate_regions(network, cube(network), workers=1, vertices=True)
    assert alone.status is al.Status.COMPLETE
    for workers in (2, 3):
        together = enumerate_regions(network, cube(network), workers=workers, vertices=True)
        assert_same(together, alone)
        assert together.certificate == alone.certificate
    if name == "one stage":
        assert len(alone) > 200_000
        assert pieces[0] == 1
        assert max(pieces[1:]) > 1


@pytest.mark.parametrize("name", SMALL_NETWORKS)
def test_many_short_slices_and_workers_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = SMALL_NETWORKS[name]
    alone = enumerate_regions(network, cube(network), workers=1)
    monkeypatch.setattr(driver, "_SLICE", 1)
    for workers in (1, 2, 7):
        assert_same(enumerate_regions(network, cube(network), workers=workers), alone)
        for engine in ("vertex", "count"):
            assert al.count(network, cube(network), engine=engine, workers=workers) == len(alone)


@pytest.mark.parametrize("name", SMALL_NETWORKS)
def test_work_can_be_divided_at_any_moment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = SMALL_NETWORKS[name]
    alone = enumerate_regions(network, cube(network), workers=1)
    monkeypatch.setattr(driver, "_SLICE", 1)
    outcome = scattered(network)
    assert outcome.layer_counts == alone.layer_counts
    assert outcome.certificate == alone.certificate
    assert_same_columns(outcome.table, alone.outcome.table)
    assert scattered(network, name="count").regions == len(alone)


def test_vertices_are_the_same_however_work_is_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vertices that a region shares with others must not change when a point inside it is looked for."""
    alone = enumerate_regions(SLIVERS, al.Box(-1, 1, dim=3), workers=1, vertices=True)
    monkeypatch.setattr(driver, "_SLICE", 1)
    assert_same_columns(scattered(SLIVERS, vertices=True).table, alone.outcome.table)


@pytest.mark.parametrize("workers", [1, 2, 5, 8])
def test_sections_are_shared_without_counting_anything_twice(monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    """With several workers this network's count was once 961, or 78353."""
    network = group_network(1481, [6, 4, 3, 2], 4, 8)
    monkeypatch.setattr(driver, "_SLICE", 1)
    for _ in range(3):
        assert al.count(network, cube(network), engine="count", workers=workers) == 485


def test_a_single_layer_is_counted_by_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """One cell of the last stage is all there is; its hyperplanes are what is shared."""
    alone = al.count(MODEL_OF_ONE_LAYER, al.Box(-1, 1, dim=4), engine="count", workers=1)
    monkeypatch.setattr(driver, "_SLICE", 100)
    for workers in (2, 3):
        assert al.count(MODEL_OF_ONE_LAYER, al.Box(-1, 1, dim=4), engine="count", workers=workers) == alone


def test_a_repeated_run_gives_the_same_columns() -> None:
    first = enumerate_regions(SLIVERS, al.Box(-1, 1, dim=3), workers=2)
    assert_same(enumerate_regions(SLIVERS, al.Box(-1, 1, dim=3), workers=2), first)


@BOTH
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_count_does_not_depend_on_the_number_of_workers(engine: str, workers: int) -> None:
    for network in (MEDIUM, NETWORKS["whole numbers"], NETWORKS["groups"]):
        expected = len(enumerate_regions(network, cube(network), workers=1))
        assert al.count(network, cube(network), engine=engine, workers=workers) == expected


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("slice_", [1000, 2_000_000])
def test_max_regions_is_exact(monkeypatch: pytest.MonkeyPatch, workers: int, slice_: int) -> None:
    monkeypatch.setattr(driver, "_SLICE", slice_)
    network = random_layers([3, 6, 5, 1], seed=0, whole=2)
    whole = enumerate_regions(network, cube(network), workers=1)
    total = len(whole)
    for limit in (1, 2, 17, total - 1):
        part = enumerate_regions(network, cube(network), max_regions=limit, workers=workers)
        assert len(part) == part.layer_counts[-1] == len(part.points) == limit
        assert part.status is al.Status.REGION_LIMIT
        assert not part.certificate.complete
        assert patterns(part) < patterns(whole)
    for limit in (total, total + 1):
        complete = enumerate_regions(network, cube(network), max_regions=limit, workers=workers)
        assert complete.status is al.Status.COMPLETE
        assert complete.certificate.complete
        assert_same(complete, whole)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_max_regions_is_exact_on_large_networks(workers: int) -> None:
    for limit in (1, 1000, 123_457):
        part = enumerate_regions(HUGE, cube(HUGE), max_regions=limit, workers=workers, facets=False)
        assert len(part) == len(part.points) == limit
        assert part.status is al.Status.REGION_LIMIT


def test_one_worker_stopped_early_has_the_first_regions() -> None:
    whole = enumerate_regions(MEDIUM, cube(MEDIUM), workers=1)
    part = enumerate_regions(MEDIUM, cube(MEDIUM), workers=1, max_regions=1234)
    assert_same_columns(part.outcome.table, whole.outcome.table[:1234])


@pytest.mark.parametrize("workers", [1, 2])
def test_the_time_limit_stops_and_keeps_what_was_found(workers: int) -> None:
    started = time.monotonic()
    rs = enumerate_regions(HUGE, cube(HUGE), time_limit=0.5, workers=workers)
    assert time.monotonic() - started < 5
    assert rs.status is al.Status.TIME_LIMIT
    assert "time limit" in str(rs.status)
    assert not rs.certificate.complete
    assert len(rs) == rs.layer_counts[-1] == len(rs.points) > 100
    assert len({pattern.tobytes() for pattern in rs.patterns}) == len(rs)
    assert_right_patterns(rs, HUGE)


def assert_right_patterns(rs: al.RegionSet, layers: Model) -> None:
    """Patterns from all over the walk in float64, as far as that can tell; a few exactly."""
    some = slice(None, None, max(1, len(rs) // 5000))
    values, zs = rs.points[some], []
    for weight, bias in layers[:-1]:
        zs.append(values @ weight.T + bias)
        values = np.maximum(zs[-1], 0.0)
    z = np.hstack(zs)
    clear = np.abs(z) > 1e-9
    assert clear.mean() > 0.99
    assert np.array_equal(rs.patterns[some][clear] == 1, z[clear] > 0)
    exact = [Layer(weight.tolist(), bias.tolist()) for weight, bias in layers[:-1]]
    for index in (0, len(rs) // 2, len(rs) - 1):
        assert evaluate(exact, rs[index].exact_point)[1] == rs[index].pattern.tolist()


def test_a_time_limit_that_suffices_changes_nothing() -> None:
    rs = enumerate_regions(SMALL, cube(SMALL), workers=2, time_limit=100.0)
    assert rs.status is al.Status.COMPLETE
    assert_same(rs, enumerate_regions(SMALL, cube(SMALL), workers=1))


@BOTH
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("options", "status"), [({"max_regions": 3}, al.Status.REGION_LIMIT), ({"time_limit": 0.3}, al.Status.TIME_LIMIT)]
)
def test_a_partial_count_is_never_returned_as_the_count(
    engine: str, workers: int, options: dict[str, Any], status: al.Status
) -> None:
    started = time.monotonic()
    with pytest.raises(al.IncompleteError, match="at least") as caught:
        al.count(HUGE, cube(HUGE), engine=engine, workers=workers, **options)
    assert time.monotonic() - started < 5
    assert caught.value.status is status
    assert caught.value.regions >= options.get("max_regions", 0)


@BOTH
@pytest.mark.parametrize("workers", [1, 2])
def test_a_count_with_a_limit_that_suffices(engine: str, workers: int) -> None:
    total = al.count(SMALL, cube(SMALL), engine="linear_program", workers=1)
    for limit in (total, total + 1):
        assert al.count(SMALL, cube(SMALL), engine=engine, workers=workers, max_regions=limit) == total


@BOTH
def test_a_count_just_above_its_limit_is_incomplete(engine: str) -> None:
    total = al.count(SMALL, cube(SMALL), engine=engine, workers=1)
    for limit in (1, total - 1):
        with pytest.raises(al.IncompleteError) as caught:
            al.count(SMALL, cube(SMALL), engine=engine, workers=1, max_regions=limit)
        assert caught.value.status is al.Status.REGION_LIMIT
        assert caught.value.regions >= limit


# ---------------------------------------------------------------------- interruptions and progress


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("interrupt", INTERRUPTS)
def test_ctrl_c_keeps_what_was_found(workers: int, interrupt: Callable[[], None]) -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[al.Progress] = []

    def stop(snapshot: al.Progress) -> None:
        seen.append(snapshot)
        if len(seen) == 1:
            interrupt()

    with pytest.raises(al.Interrupted, match=r"regions are in \.found") as caught:
        enumerate_regions(HUGE, cube(HUGE), workers=workers, progress=stop, time_limit=60)
    rs = caught.value.found
    assert rs.status is al.Status.CANCELLED
    assert "stopped by the user" in str(rs.status)
    assert len(rs) == len(rs.points) == rs.layer_counts[-1] >= seen[0].regions
    assert_right_patterns(rs, HUGE)
    assert not rs.certificate.complete
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_without_a_progress_function() -> None:
    timer = threading.Timer(0.3, os.kill, args=(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        enumerate_regions(HUGE, cube(HUGE), workers=2, time_limit=60)
    assert isinstance(caught.value, al.Interrupted)
    assert len(caught.value.found) > 0


@BOTH
def test_an_interrupted_count_says_so(engine: str) -> None:
    with pytest.raises(al.Interrupted, match=r"at least .* exist") as caught:
        al.count(
            HUGE,
            cube(HUGE),
            engine=engine,
            workers=2,
            time_limit=60,
            progress=lambda _: signal.raise_signal(signal.SIGINT),
        )
    assert caught.value.found >= 0


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_reports_growing_numbers(workers: int) -> None:
    seen: list[al.Progress] = []
    rs = enumerate_regions(HUGE, cube(HUGE), workers=workers, progress=seen.append, time_limit=1.0, facets=False)
    assert len(seen) >= 3
    for earlier, later in itertools.pairwise(seen):
        assert earlier.seconds < later.seconds
        assert earlier.regions <= later.regions
        assert all(a <= b for a, b in zip(earlier.layer_counts, later.layer_counts, strict=True))
    assert 0 < seen[-1].regions <= len(rs)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_the_progress_function_reaches_the_caller(workers: int) -> None:
    def fail(_: al.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        enumerate_regions(HUGE, cube(HUGE), workers=workers, progress=fail, time_limit=60)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("good", [0, 3])
def test_an_error_in_the_sink_reaches_the_caller(workers: int, good: int) -> None:
    taken: list[Columns] = []

    def fail(columns: Columns) -> None:
        taken.append(columns)
        if len(taken) > good:
            raise RuntimeError("full")

    limits = Limits(workers=workers, time_limit=60)
    request = Request(al.network(HUGE), cube(HUGE).frame, "vertex", limits=limits, sink=HandedTo(fail))
    with pytest.raises(RuntimeError, match="full"):
        run(request)
    assert good < len(taken) <= good + workers


def test_works_outside_the_main_thread() -> None:
    found: list[Any] = []

    def ask() -> None:
        found.append(enumerate_regions(SMALL, cube(SMALL), workers=2))
        found.append(al.count(SMALL, cube(SMALL), engine="count", workers=2))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert_same(found[0], enumerate_regions(SMALL, cube(SMALL), workers=1))
    assert found[1] == len(found[0])


# ---------------------------------------------------------------------- run directories


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ["two stages", "slivers"])
def test_a_run_is_streamed_in_chunks_and_reads_back_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int, name: str
) -> None:
    network = SLIVERS if name == "slivers" else MEDIUM
    options = {"vertices": name != "slivers"}
    whole = enumerate_regions(network, cube(network), workers=1, **options)
    monkeypatch.setattr(driver, "_MOST_CHUNK_ROWS", len(whole) // 7)
    rs = enumerate_regions(network, cube(network), workers=workers, run=tmp_path / "run", **options)
    chunks = json.loads((tmp_path / "run" / "manifest.json").read_text())["chunks"]
    assert len(chunks) >= (7 if name == "two stages" else 2)
    assert sum(regions for _, _, regions, *_ in chunks) == len(whole)
    for found in (rs, al.load(tmp_path / "run")):
        assert found.status is al.Status.COMPLETE
        assert found.certificate == whole.certificate
        assert_same(found, whole)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run"]


def many_sided(sides: int) -> Model:
    """Lines around a polygon that is found last: every other region has far fewer sides."""
    angles = 2 * np.pi * np.arange(sides) / sides
    return [
        (-np.column_stack([np.cos(angles), np.sin(angles)]), np.full(sides, 0.5)),
        (np.ones((1, sides)), np.zeros(1)),
    ]


@pytest.mark.parametrize("run", [False, True])
def test_vertices_that_take_more_words_late_in_a_run(tmp_path: Path, run: bool) -> None:
    network = many_sided(150)
    target = tmp_path / "run" if run else None
    whole = enumerate_regions(network, cube(network), workers=1)
    assert np.diff(whole.facet_offsets).max() == 150
    rs = enumerate_regions(network, cube(network), workers=1, vertices=True, run=target)
    assert np.array_equal(rs.patterns, whole.patterns)
    assert np.diff(rs.vertex_offsets).max() == 150


def test_a_run_that_is_stopped_is_kept(tmp_path: Path) -> None:
    rs = enumerate_regions(HUGE, cube(HUGE), workers=2, max_regions=5000, run=tmp_path / "run")
    again = al.load(tmp_path / "run")
    assert rs.status is again.status is al.Status.REGION_LIMIT
    assert len(again) == len(again.points) == 5000
    assert_same(again, rs)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_that_cannot_be_written_is_as_it_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RunWriter, "write", full)
    with pytest.raises(AffineLensError, match="No space left"):
        enumerate_regions(HUGE, cube(HUGE), workers=workers, time_limit=60, run=tmp_path / "run")
    assert al.load(tmp_path / "run").status is al.Status.UNFINISHED


# ---------------------------------------------------------------------- options


def test_columns_that_were_not_asked_for_are_absent() -> None:
    whole = enumerate_regions(SMALL, cube(SMALL), vertices=True)
    bare = enumerate_regions(SMALL, cube(SMALL), facets=False)
    assert np.array_equal(bare.patterns, whole.patterns)
    np.testing.assert_allclose(bare.points, whole.points, rtol=0, atol=1e-14)
    for name in ("facet_values", "facet_offsets", "neighbor_values"):
        with pytest.raises(AffineLensError, match="enumerate with facets=True"):
            getattr(bare, name)
    with pytest.raises(AffineLensError, match="facets=True"):
        _ = bare[0].halfspaces
    assert bare.locate(whole.points).tolist() == list(range(len(whole)))


def test_vertices_without_facets() -> None:
    whole = enumerate_regions(SMALL, cube(SMALL), vertices=True)
    rs = enumerate_regions(SMALL, cube(SMALL), facets=False, vertices=True)
    assert rs.vertex_values.tobytes() == whole.vertex_values.tobytes()
    assert np.diff(whole.facet_offsets).tolist() == np.diff(whole.vertex_offsets).tolist()  # polygons
    for region in whole:
        weight, offset = region.halfspaces
        assert ((np.abs(weight @ region.vertices.T + offset[:, None]) < 1e-9).sum(axis=1) == 2).all()


@pytest.mark.parametrize("network", [SMALL, SLIVERS, random_layers([3, 6, 5, 1], seed=0, whole=2)])
def test_a_certificate_accounts_for_every_decision(network: Model) -> None:
    proof = enumerate_regions(network, cube(network), workers=1).certificate
    assert proof.complete
    assert proof.decisions == proof.by_rounding_bound + proof.by_reuse + proof.by_exact_arithmetic > 0
    assert min(proof.by_rounding_bound, proof.by_exact_arithmetic) >= 0
    assert proof.linear_programs == 0
    assert "all the full-dimensional regions" in proof.proves
    part = enumerate_regions(network, cube(network), workers=1, max_regions=1).certificate
    assert "others may exist" in part.proves
    assert 0 < part.decisions < proof.decisions


def test_ties_are_counted_as_exact_arithmetic() -> None:
    network = random_layers([3, 6, 5, 1], seed=0, whole=2)
    assert enumerate_regions(network, cube(network)).certificate.by_exact_arithmetic > 0
    assert enumerate_regions(MEDIUM, cube(MEDIUM)).certificate.by_exact_arithmetic < 100


def test_the_count_engine_only_counts() -> None:
    with pytest.raises(AffineLensError, match=r"the count engine cannot give the regions themselves.*engine='vertex'"):
        al.enumerate(SMALL, cube(SMALL), engine="count")


@BOTH
def test_a_dimension_above_the_limit_is_refused(engine: str) -> None:
    network = random_layers([15, 3, 1], seed=0, bias=1)
    with pytest.raises(AffineLensError, match="dimension 15 is above 14") as caught:
        al.count(network, cube(network), engine=engine)
    assert "linear_program" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert ". " not in str(caught.value)
    if engine == "vertex":
        with pytest.raises(AffineLensError, match="dimension 15 is above 14"):
            enumerate_regions(network, cube(network))


def test_a_dimension_is_that_of_the_domain_not_of_the_network() -> None:
    network = random_layers([20, 6, 1], seed=0, bias=1)
    domain = al.Box([-1.0] * 2 + [0.25] * 18, [1.0] * 2 + [0.25] * 18)
    assert len(enumerate_regions(network, domain)) == al.count(network, domain, engine="linear_program", workers=1)
