"""The distance of regions from the border of a domain whose rows have any length."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from support.random_networks import random_layers

# x >= 0, y >= 0 and 4 x + 3 y <= 12, each row times a factor.
TRIANGLE = al.Polytope([[7, 0], [0, 0.25], [-8, -6]], [0, 0, 24])


@pytest.mark.parametrize("seed", range(3))
def test_it_is_that_of_the_nearest_vertex_from_the_nearest_side(seed: int) -> None:
    rs = al.enumerate(random_layers([2, 20, 20, 1], seed, bias=1.0), TRIANGLE, vertices=True)
    found, on_border = rs.column("border_distance"), 0
    for region, distance in zip(rs, found.tolist(), strict=True):
        x, y = region.vertices.T
        expected = np.minimum(np.minimum(x, y), (12 - 4 * x - 3 * y) / 5).min()
        assert distance == pytest.approx(max(expected, 0.0), abs=1e-12)
        if None in region.neighbors:
            assert distance == 0.0
            on_border += 1
    assert 0 < on_border < len(rs)
