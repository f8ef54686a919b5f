"""Which vertices a facet has: those with the facet's bit are on its hyperplane, and the others strictly inside."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.regions import all_vertices, exact_halfspaces
from support.random_networks import random_layers

# A zero bias makes all hyperplanes of the first layer meet in one vertex.
ZERO_BIAS = random_layers([3, 6, 4, 2], seed=5, bias=0, whole=2)
GENERIC = random_layers([3, 6, 5, 2], seed=5, bias=1)


@pytest.mark.parametrize("layers", [ZERO_BIAS, GENERIC], ids=["zero bias", "generic"])
def test_a_facet_s_bit_marks_the_vertices_on_it(layers: list[tuple[np.ndarray, np.ndarray]]) -> None:
    rs = al.enumerate(layers, al.Box(-1, 1, dim=3), vertices=True)
    facets, vertices = rs.facets, all_vertices(rs)
    assert facets.bits is not None
    for i in range(len(rs)):
        rows = exact_halfspaces(rs, i).to_floats()
        values = rs[i].local.vertices @ rows[:, :-1].T + rows[:, -1]
        size = np.abs(rows).sum(axis=1)
        tight = vertices.tight[vertices.offsets[i] : vertices.offsets[i + 1]]
        bits = facets.bits[facets.offsets[i] : facets.offsets[i + 1]]
        marked = (tight[:, bits // 64] >> (bits % 64).astype(np.uint64) & np.uint64(1)).astype(bool)
        assert np.array_equal(marked, np.abs(values) < 1e-9 * size)
        assert (marked.sum(axis=0) >= 3).all()


def test_a_part_of_the_regions_has_its_part_of_the_bits() -> None:
    columns = al.enumerate(GENERIC, al.Box(-1, 1, dim=3), vertices=True).outcome.table
    part = columns[2:5].facets
    assert columns.facets is not None
    assert part is not None
    begin, end = columns.facets.offsets[[2, 5]]
    assert np.array_equal(part.bits, columns.facets.bits[begin:end])
    assert al.enumerate(GENERIC, al.Box(-1, 1, dim=3)).outcome.table.facets.bits is None
