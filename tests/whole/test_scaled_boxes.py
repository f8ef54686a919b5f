"""A picture at another scale is the same picture: vertices follow the box, however small or large it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import affinelens as al


@pytest.mark.parametrize("exponent", [-1020, -1000, -980, -970, -900, 900])
def test_vertices_are_those_of_the_same_picture_at_a_usual_scale(exponent: int) -> None:
    generator, sizes = np.random.default_rng(91), (3, 4, 3, 2)
    shapes = [(o, i) for i, o in pairwise(sizes)]
    layers = [(generator.standard_normal(shape), 0.3 * generator.standard_normal(shape[0])) for shape in shapes]
    scale = 2.0**exponent
    usual = al.enumerate(layers, al.Box(-1, 1, dim=3), vertices=True)
    scaled = al.enumerate([(w, b * scale) for w, b in layers], al.Box(-scale, scale, dim=3), vertices=True)
    order, other = (np.lexsort(np.round(rs.points / s, 6).T) for rs, s in ((usual, 1.0), (scaled, scale)))
    assert len(usual) == len(scaled)
    for i, j in zip(order, other, strict=True):
        expected = usual.vertex_values[usual.vertex_offsets[i] : usual.vertex_offsets[i + 1]]
        found = scaled.vertex_values[scaled.vertex_offsets[j] : scaled.vertex_offsets[j + 1]] / scale
        np.testing.assert_allclose(_sorted(found), _sorted(expected), atol=1e-12)


def _sorted(points: np.ndarray) -> np.ndarray:
    return points[np.lexsort(np.round(points, 9).T)]
