from __future__ import annotations

import numpy as np
import pytest

from affinelens.plot.palette import FILLS, colors_of, distinct_colors


@pytest.mark.parametrize("seed", range(5))
def test_no_pair_has_the_same_color(seed: int) -> None:
    generator = np.random.default_rng(seed)
    pairs = generator.integers(0, 60, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    chosen = distinct_colors(pairs[:, 0], pairs[:, 1], 60)
    assert (chosen[pairs[:, 0]] != chosen[pairs[:, 1]]).all()


def test_more_things_that_all_meet_than_colors_still_differ() -> None:
    one, other = np.triu_indices(12, 1)
    chosen = distinct_colors(one, other, 12)
    assert len(set(chosen.tolist())) == 12
    assert len(np.unique(colors_of(chosen, FILLS), axis=0)) == 12


def test_a_grid_of_triangles_needs_six_colors_at_most() -> None:
    number = np.arange(900).reshape(30, 30)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:]), (number[:-1, :-1], number[1:, 1:])]
    one, other = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in range(2))
    chosen = distinct_colors(one, other, 900)
    assert (chosen[one] != chosen[other]).all()
    assert chosen.max() < len(FILLS)
