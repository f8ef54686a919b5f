"""Volumes and centroids of regions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens.convex.volume import cell_centroids
from affinelens.regions import exact_halfspaces
from support.measured import ABSOLUTE, random_set
from support.random_networks import random_layers

SIZES = [(1, 9, 9, 1), (2, 12, 12, 2), (3, 10, 6, 2), (4, 8, 4, 1)]


@pytest.mark.parametrize("sizes", SIZES)
def test_volumes_sum_to_the_domains_within_their_errors(sizes: tuple[int, ...]) -> None:
    rs = random_set(*sizes, seed=0)
    volumes, errors = rs.volumes(), rs.column("volume_error")
    assert np.all(volumes > 0)
    assert abs(volumes.sum() - 2.0 ** sizes[0]) <= errors.sum() + 1e-12
    assert np.median(errors / volumes) < 1e-8


@pytest.mark.parametrize("sizes", SIZES[:2])
def test_errors_cover_the_difference_from_rational_volumes(sizes: tuple[int, ...]) -> None:
    rs = random_set(*sizes, seed=0)
    exact = [region.exact_volume for region in rs]
    assert sum(exact) == 2 ** sizes[0]
    off = [abs(Fraction(volume) - true) for volume, true in zip(rs.volumes().tolist(), exact, strict=True)]
    assert all(a <= b for a, b in zip(off, rs.column("volume_error").tolist(), strict=True))


def test_exact_areas_of_a_triangle_and_what_it_leaves() -> None:
    rs = al.enumerate([([[1.0, 1.0]], [-1.0]), ([[1.0]], [0.0])], al.Box(0, 1, dim=2))
    assert sorted(region.exact_volume for region in rs) == [Fraction(1, 2), Fraction(1, 2)]
    assert [region.volume for region in rs] == [0.5, 0.5]


def test_exact_volumes_stop_at_two_dimensions() -> None:
    rs = random_set(3, 2, 1, seed=0)
    with pytest.raises(al.AffineLensError, match="one and two dimensions"):
        _ = rs[0].exact_volume


def test_on_a_slice_volumes_are_those_of_its_coordinates() -> None:
    plane = al.Slice([0.0, 0.0, 0.0], [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0]], al.Box(-1, 1, dim=2))
    rs = al.enumerate(random_layers([3, 8, 1], seed=0), plane)
    assert sum(region.exact_volume for region in rs) == 4


@pytest.mark.parametrize("sizes", SIZES)
def test_centroids_weighted_by_volume_meet_in_the_domains(sizes: tuple[int, ...]) -> None:
    rs = random_set(*sizes, seed=3)
    centroids = rs.column("centroid")
    assert rs.volumes() @ centroids == pytest.approx(np.zeros(sizes[0]), abs=1e-12)
    assert rs.locate(centroids).tolist() == list(range(len(rs)))


def test_the_centroid_of_a_pyramid_is_a_quarter_up() -> None:
    corners = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0.5, 0, 4]])
    base, sides = 1 << 4, [0b0001, 0b0010, 0b0100, 0b1000]
    tight = [base | sides[i] | sides[i - 1] for i in range(4)] + [sum(sides)]
    found = cell_centroids(corners, np.array([5]), np.array(tight, dtype=np.uint64)[:, None], 3)
    assert found.volumes[0] == pytest.approx(16 / 3)
    assert found.centers[0] == pytest.approx([0.125, 0.0, 1.0])


def test_the_hull_of_vertices_is_no_further_off_than_stated() -> None:
    rs = random_set(2, 12, 12, 1, seed=5)
    for index, stretch in enumerate(rs.column("vertex_stretch").tolist()):
        rows, center = exact_halfspaces(rs, index).to_fractions(), rs.column("center")[index].tolist()
        for vertex in rs[index].local.vertices.tolist():
            # shrunk towards the center by the stretch, each vertex is in the region
            pairs = zip(map(Fraction, center), map(Fraction, vertex), strict=True)
            inner = [c + (v - c) / (1 + Fraction(stretch)) for c, v in pairs]
            assert all(a * inner[0] + b * inner[1] + c >= 0 for a, b, c in rows)


def test_a_set_without_kept_vertices_has_the_same_volumes() -> None:
    restricted, found_again = random_set(3, 8, 8, 1, seed=0, vertices=True), random_set(3, 8, 8, 1, seed=0)
    assert np.array_equal(restricted.volumes(), found_again.volumes())


def test_an_incomplete_set_measures_what_it_has() -> None:
    rs = random_set(2, 12, 12, 1, seed=0, max_regions=7)
    assert len(rs) == len(rs.volumes()) == 7
    assert rs.volumes().sum() == pytest.approx(4 * rs.share)


def test_where_vertices_are_out_of_reach_one_sentence_says_so() -> None:
    rs = al.enumerate(random_layers([30, 2, 1], seed=0), al.Box(-1, 1, dim=30))
    with pytest.raises(
        al.AffineLensError, match=r"vertices and what is measured .* cannot be found here: dimension 30"
    ):
        rs.volumes()
    assert rs.column("inradius").max() == pytest.approx(1.0, abs=0.5)


def test_volumes_of_half_the_line() -> None:
    assert al.enumerate(ABSOLUTE, al.Box(-1, 3, dim=1)).volumes().tolist() == [1.0, 3.0]
