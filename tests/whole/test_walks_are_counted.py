"""Nothing is walked twice for one question, and a property never walks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import pytest

import affinelens as al
from affinelens.engine import running
from support.random_networks import random_layers

LAYERS = random_layers([2, 9, 8, 3], 1)
BOX = al.Box(-1, 1, dim=2)


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The engine of every walk, one after the other."""
    seen: list[str] = []
    perform = running.perform

    def counted(choice: al.engine.Choice, *rest: object) -> object:
        seen.append(choice.name)
        return perform(choice, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(running, "perform", counted)
    return seen


def properties(kind: type) -> list[str]:
    return [name for name in dir(kind) if isinstance(getattr(kind, name), property | cached_property)]


def test_a_property_never_walks(walks: list[str]) -> None:
    rs, record = al.enumerate(LAYERS, BOX), al.track(BOX)
    record(LAYERS, 0)
    record.wait()
    unsafe = al.verify(LAYERS, BOX, never=al.output(0) >= 1, all=True).unsafe or ()
    boundary = rs.decision_boundary()
    walks.clear()
    asked = 0
    for owner in (rs, rs.local, rs[0], rs[0].local, record, record.snapshots[0], boundary, boundary[0], *unsafe):
        for name in properties(type(owner)):
            with suppress(al.AffineLensError):  # vertices of a set that was made without
                getattr(owner, name)
            asked += 1
    assert asked > 60
    assert walks == []
    assert len(record.snapshots[0].regions()) == len(record.snapshots[0].regions()) == len(rs)
    assert len(walks) == 1


@pytest.mark.parametrize(
    ("question", "cost"),
    [
        (lambda rs: rs.vertices(), 1),
        (lambda rs: rs.volumes(), 1),
        (lambda rs: (rs.volumes(), rs.column("volume_error"), rs.output_means(), rs.regularity()), 1),
        (lambda rs: rs.plot(), 1),
        (lambda rs: rs.plot(hyperplanes=True), 1),
        (lambda rs: rs.plot(color="class"), 1),
        (lambda rs: rs.plot(color="volume", hyperplanes=True), 1),
        (lambda rs: rs.decision_boundary().measure, 1),
        (lambda rs: (rs.decision_boundary(), rs.distance_to_boundary([0.1, 0.2]), rs.column("crossed")), 1),
        (lambda rs: rs.audit(samples=10), 1),
        (lambda rs: rs.metrics(), 2),
        (lambda rs: (rs.metrics(), rs.plot(color="class", hyperplanes=True), rs.audit(samples=10)), 2),
        (lambda rs: (rs.adjacency(), rs.linear_regions(), rs.lipschitz_constant(), rs.locate([0, 0])), 0),
    ],
)
def test_a_question_walks_as_often_as_it_says(
    question: Callable[[al.RegionSet], object], cost: int, walks: list[str]
) -> None:
    rs = al.enumerate(LAYERS, BOX)
    walks.clear()
    question(rs)
    assert len(walks) == cost
    question(rs)
    assert len(walks) == cost


def test_vertices_that_were_kept_are_not_walked_for(walks: list[str], tmp_path: Path) -> None:
    rs = al.enumerate(LAYERS, BOX, vertices=True)
    walks.clear()
    for found in (rs, al.load(rs.save(tmp_path / "run"))):
        found.volumes()
        found.plot()
        found.audit(samples=10)
        assert walks == []


def test_a_property_is_verified_by_one_walk_a_question(walks: list[str], tmp_path: Path) -> None:
    file = tmp_path / "prop.vnnlib"
    inputs = "".join(f"(declare-const X_{i} Real)(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in range(2))
    outputs = "".join(f"(declare-const Y_{i} Real)" for i in range(3))
    file.write_text(f"{inputs}{outputs}(assert (>= Y_0 1000))")
    assert str(al.verify(LAYERS, file)) == "unsat"
    assert len(walks) <= 1
