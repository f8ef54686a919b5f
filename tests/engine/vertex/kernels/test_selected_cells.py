"""A walk that is kept to selected regions finds these and no others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from affinelens import Box
from affinelens.network import compile_model
from affinelens.walk import Limits, Outcome, Selection
from support.random_networks import random_layers
from support.walks import walk_by

DOMAIN = Box(-1, 1, dim=3)
NETWORK = compile_model(random_layers([3, 24, 24, 1], 0), inputs=3)
EVERY = walk_by("vertex", NETWORK, DOMAIN.frame)


def selection(rows: np.ndarray, stages: int = 2) -> Selection:
    patterns = EVERY.patterns[rows][:, : NETWORK.choice_offsets[stages]]
    return Selection(replace(EVERY, columns=replace(EVERY.table, patterns=np.unique(patterns, axis=0))), stages)


def walked(chosen: Selection, workers: int = 1, *, name: str = "vertex", regions: bool = True) -> Outcome:
    return walk_by(name, NETWORK, DOMAIN.frame, limits=Limits(workers=workers), selection=chosen, regions=regions)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("share", [0.01, 0.5, 1.0])
def test_selected_regions_come_in_the_walk_s_order(workers: int, share: float) -> None:
    rows = np.flatnonzero(np.random.default_rng(0).random(EVERY.regions) < share)
    assert len(rows) > 10
    found = walked(selection(rows), workers)
    np.testing.assert_array_equal(found.patterns, EVERY.patterns[rows])
    assert found.regions == len(rows)


@pytest.mark.parametrize("name", ["vertex", "count"])
def test_selected_regions_are_counted(name: str) -> None:
    rows = np.arange(0, EVERY.regions, 7)
    assert walked(selection(rows), regions=False, name=name).regions == len(rows)


@pytest.mark.parametrize("name", ["vertex", "count"])
def test_cells_of_the_first_stage_are_walked_whole(name: str) -> None:
    first = EVERY.patterns[:, : NETWORK.choice_offsets[1]]
    inside = np.flatnonzero((first == first[EVERY.regions // 2]).all(axis=1))
    assert 1 < len(inside) < EVERY.regions
    chosen = selection(inside[:1], stages=1)
    np.testing.assert_array_equal(walked(chosen).patterns, EVERY.patterns[inside])
    assert walked(chosen, regions=False, name=name).regions == len(inside)


def test_nothing_selected_is_nothing_found() -> None:
    assert walked(selection(np.zeros(0, dtype=np.int64))).regions == 0
