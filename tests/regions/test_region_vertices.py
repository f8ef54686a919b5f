"""Vertices of regions that were found without them."""

from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.errors import AffineLensError
from affinelens.regions import exact_halfspaces
from support.random_networks import random_layers


def _corner_sets(rs: al.RegionSet) -> dict[bytes, np.ndarray]:
    """Sorted vertices by pattern."""
    return {
        rs.pattern(i).tobytes(): np.array(sorted(np.round(region.vertices, 7).tolist())) for i, region in enumerate(rs)
    }


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_a_complete_set_has_them_as_if_they_had_been_kept(dim: int) -> None:
    layers, box = random_layers([dim, 7, 6, 1], dim), al.Box(-1, 1, dim=dim)
    kept, bare = al.enumerate(layers, box, vertices=True), al.enumerate(layers, box, facets=False)
    assert bare.vertices().tobytes() == kept.vertex_values.tobytes()
    assert np.array_equal(bare.vertex_offsets, kept.vertex_offsets)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("options", [{"max_regions": 15}, {"engine": "linear_program"}])
def test_other_sets_have_those_of_each_region(dim: int, options: dict[str, object]) -> None:
    layers, box = random_layers([dim, 6, 5, 1], dim), al.Box(-1, 1, dim=dim)
    whole = _corner_sets(al.enumerate(layers, box, vertices=True))
    some = al.enumerate(layers, box, **options)
    found = _corner_sets(some)  # each from its facets
    assert len(found) == len(some)
    some.vertices()
    for again in (found, _corner_sets(some)):
        for pattern, corners in again.items():
            np.testing.assert_allclose(corners, whole[pattern], atol=2e-7)


def test_vertices_that_were_not_asked_for_are_refused_until_they_are_found() -> None:
    rs = al.enumerate(random_layers([2, 5, 1], 1), al.Box(-1, 1, dim=2))
    with pytest.raises(AffineLensError, match=r"without vertices; call vertices\(\)"):
        _ = rs.vertex_values
    found = rs.vertices()
    assert np.array_equal(rs.vertex_values, found)


def test_exact_halfspaces_are_the_facets() -> None:
    rs = al.enumerate(random_layers([2, 5, 4, 1], 3), al.Box(-1, 1, dim=2))
    for region in rs:
        weight, offset = region.halfspaces
        exact = exact_halfspaces(rs, region.index).to_floats()
        scale = np.abs(exact).max(axis=1) / np.abs(np.column_stack([weight, offset])).max(axis=1)
        np.testing.assert_allclose(exact / scale[:, None], np.column_stack([weight, offset]), rtol=1e-9, atol=1e-12)


def test_many_dimensions_have_none() -> None:
    rs = al.enumerate(random_layers([16, 2, 1], 0), al.Box(-1, 1, dim=16))
    with pytest.raises(
        AffineLensError, match=r"cannot be found here: dimension 16 is above 10.*; enumerate on a Slice"
    ):
        rs.vertices()
    with pytest.raises(AffineLensError, match="vertices cannot be found here: dimension 16 is above 14"):
        _ = rs[0].vertices
