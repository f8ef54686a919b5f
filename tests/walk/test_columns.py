"""Regions as columns: cut anywhere, joined again or taken one by one, each keeps what is its own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import affinelens as al
from affinelens.walk import Columns, JoinedLater
from affinelens.walk.columns import Vertices
from support.random_networks import random_layers


@pytest.fixture(scope="module")
def columns() -> Columns:
    """Of a random network; some regions are given a rational point."""
    found = al.enumerate(random_layers([2, 7, 6, 1], seed=0), al.Box(-1, 1, dim=2), vertices=True).outcome.table
    assert len(found) > 20
    return replace(found, exact_points={i: (Fraction(i, 3), Fraction(1, 7)) for i in (0, 5, 6, len(found) - 1)})


def region(columns: Columns, index: int) -> tuple[object, ...]:
    """All that is known of one region."""
    facets, vertices = columns.facets, columns.vertices
    assert facets is not None
    assert vertices is not None
    assert facets.bits is not None
    own, corners = slice(*facets.offsets[index : index + 2]), slice(*vertices.offsets[index : index + 2])
    values = (columns.patterns[index], columns.points[index], facets.numbers[own], facets.signs[own],
              facets.bits[own], vertices.points[corners], vertices.tight[corners])  # fmt: skip
    return (columns.exact_points.get(index), *(value.tolist() for value in values))


@pytest.mark.parametrize("cuts", [[], [1], [5, 6], [6, 6, 9], [0, 20]])
def test_parts_joined_again_are_the_whole(columns: Columns, cuts: list[int]) -> None:
    parts = [columns[a:b] for a, b in pairwise([0, *cuts, len(columns)])]
    joined = Columns.joined(parts)
    assert [len(part) for part in parts] == np.diff([0, *cuts, len(columns)]).tolist()
    assert [region(joined, i) for i in range(len(joined))] == [region(columns, i) for i in range(len(columns))]


def test_a_part_counts_from_its_own_start(columns: Columns) -> None:
    part = columns[5:9]
    assert [region(part, i) for i in range(4)] == [region(columns, i) for i in range(5, 9)]
    assert [region(columns[-3:], i) for i in range(3)] == [region(columns, len(columns) - 3 + i) for i in range(3)]


def test_facets_and_vertices_are_taken_in_the_order_asked_for(columns: Columns) -> None:
    rows = np.random.default_rng(1).permutation(len(columns))[:8]
    assert columns.facets is not None
    assert columns.vertices is not None
    taken = Columns(
        columns.patterns[rows], columns.points[rows],
        {i: columns.exact_points[row] for i, row in enumerate(rows.tolist()) if row in columns.exact_points},
        columns.facets.taken(rows), columns.vertices.taken(rows),
    )  # fmt: skip
    assert [region(taken, i) for i in range(8)] == [region(columns, row) for row in rows.tolist()]
    assert len(columns.facets.taken(rows[:0]).numbers) == 0


def test_no_regions_add_nothing(columns: Columns) -> None:
    none = Columns.of_no_regions(columns.patterns.shape[1], 2, columns.patterns.dtype, facets=True, vertices=True)
    assert len(none) == 0
    joined = Columns.joined([none, columns, none])
    assert joined.patterns.dtype == columns.patterns.dtype
    assert [region(joined, i) for i in range(len(joined))] == [region(columns, i) for i in range(len(columns))]


def test_vertices_with_more_hyperplanes_widen_those_with_fewer() -> None:
    narrow = Vertices(np.zeros((2, 1)), np.array([[1], [2]], dtype=np.uint64), np.array([0, 2]))
    wide = Vertices(np.ones((2, 1)), np.array([[0, 1], [4, 0]], dtype=np.uint64), np.array([0, 2]))
    joined = Vertices.joined([narrow, wide])
    assert joined.tight.tolist() == [[1, 0], [2, 0], [0, 1], [4, 0]]
    assert joined.offsets.tolist() == [0, 2, 4]


def test_a_part_without_regions_changes_nothing_and_copies_nothing(columns: Columns) -> None:
    assert Columns.joined([columns[0:0], columns, columns[0:0]]) is columns
    assert len(Columns.joined([columns[0:0], columns[0:0]])) == 0


def test_what_a_walk_found_in_parts_is_joined_once_and_only_when_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[Columns] = []
    join = Columns.joined

    def counted(parts: list[Columns]) -> Columns:
        joined.append(join(parts))
        return joined[-1]

    monkeypatch.setattr(Columns, "joined", counted)
    model = random_layers([2, 7, 6, 1], seed=0)
    rs = al.enumerate(model, al.Box(-1, 1, dim=2), engine="vertex", max_regions=20)
    assert len(rs) == 20
    assert joined == []
    assert rs.outcome.table is joined[0]
    assert replace(rs.outcome, seconds=0.0).table is joined[0]


def test_parts_that_are_joined_later_are_those_joined_at_once(columns: Columns) -> None:
    later = JoinedLater([columns[:4], columns[4:]])
    found = later()
    assert [region(found, i) for i in range(len(found))] == [region(columns, i) for i in range(len(columns))]
    assert later() is found
