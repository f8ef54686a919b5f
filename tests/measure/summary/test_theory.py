"""Theoretical bounds: values worked out by hand, and counts that keep to them."""

from __future__ import annotations

import pytest

import affinelens as al
from affinelens.measure.summary.theory import montufar, region_bounds, serra, zaslavsky
from support.measured import random_set, tent
from support.random_networks import random_layers


@pytest.mark.parametrize(("lines", "dim", "cells"), [(3, 2, 7), (4, 1, 5), (4, 3, 15), (2, 5, 4), (0, 2, 1)])
def test_cells_of_hyperplanes(lines: int, dim: int, cells: int) -> None:
    assert zaslavsky(lines, dim) == cells


def test_serra_by_hand() -> None:
    assert serra([3], 2) == 7
    # one input: 1 * 3 + 2 * 3
    assert serra([2, 2], 1) == 9
    # two inputs: all active 1 * 4, one off 2 * 3, both off 1 * 1
    assert serra([2, 2], 2) == 11


def test_serra_of_hundreds_of_layers() -> None:
    assert serra([1] * 1500, 1) == 1501  # each layer can only stay active or cut once and for all


def test_montufar_by_hand() -> None:
    assert montufar([4, 4], 2) == 2**2 * 11
    assert montufar([6, 4, 4], 2) == 3**2 * 2**2 * 11
    assert montufar([1, 4], 2) is None


def test_the_sawtooth_reaches_montufars_count_but_for_its_last_layer() -> None:
    rs = al.enumerate(tent(5), al.Box(0, 1, dim=1))
    assert len(rs) == 2**5 <= rs.bounds().montufar == 2**4 * 3


@pytest.mark.parametrize("sizes", [(1, 5, 5, 1), (2, 6, 5, 4, 1), (3, 5, 4, 1)])
def test_counts_keep_to_the_bounds_and_these_to_each_other(sizes: tuple[int, ...]) -> None:
    bounds = random_set(*sizes, seed=0).bounds()
    assert bounds.serra is not None
    assert len(random_set(*sizes, seed=0)) <= bounds.serra <= bounds.zaslavsky


def test_one_generic_layer_in_a_large_box_has_zaslavskys_count() -> None:
    rs = al.enumerate(random_layers([2, 7, 1], seed=0, bias=1), al.Box(-1e6, 1e6, dim=2))
    assert len(rs) == rs.bounds().zaslavsky == rs.bounds().serra == 29


def test_other_activations_have_the_general_bound_only() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Hardtanh(), torch.nn.Linear(3, 1))
    bounds = region_bounds(al.network(model), 2)
    assert (bounds.zaslavsky, bounds.serra, bounds.montufar) == (zaslavsky(6, 2), None, None)
