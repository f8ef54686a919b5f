"""The affine maps of all regions, against those of single regions in rational arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import affinelens as al
from affinelens.measure.maps.affine_maps import affine_maps
from support.random_networks import dense_network, pooled_network, small_box


def _require_right(rs: al.RegionSet) -> None:
    maps = affine_maps(rs)
    assert maps.slopes.shape == (len(rs), rs.network.output_size, rs.domain.dim)
    for i, region in enumerate(rs[:40]):
        form = rs.network.exact_forms(rs.domain.frame.chart, region.pattern)[-1].to_fractions()
        point = [*region.local.exact_point, Fraction(1)]
        for k, row in enumerate(form):
            exact = sum((a * t for a, t in zip(row, point, strict=True)), Fraction(0))
            mine = [Fraction(a) for a in (*maps.slopes[i, k].tolist(), maps.constants[i, k])]
            found = sum((a * t for a, t in zip(mine, point, strict=True)), Fraction(0))
            assert abs(found - exact) <= Fraction(maps.error[k])
    reach = np.abs(maps.slopes).sum() + np.abs(maps.constants).sum() + 1
    assert (maps.error < 1e-9 * reach).all()


@pytest.mark.parametrize("seed", range(15))
def test_networks_of_all_kinds(seed: int) -> None:
    generator = np.random.default_rng(seed)
    inputs = int(generator.integers(1, 4))
    _require_right(al.enumerate(dense_network(generator, inputs), small_box(generator, inputs)))


def test_a_slice_of_a_pooled_network() -> None:
    generator = np.random.default_rng(1)
    image = generator.random((1, 6, 6))
    _require_right(
        al.enumerate(pooled_network(generator, bias=True), al.Slice.axes(image, [(0, 1, 2), (0, 4, 4)], 0, 1))
    )


def test_outputs_at_points() -> None:
    rs = al.enumerate([([[1.0, -1.0], [2.0, 1.0]], [0.0, 0.5]), ([[1.0, -2.0]], [3.0])], al.Box(-1, 1, dim=2))
    outputs = affine_maps(rs).at(rs.local.points)
    np.testing.assert_allclose(outputs, [rs.network(p) for p in rs.points], atol=1e-12)


def test_a_network_without_units() -> None:
    rs = al.enumerate([([[1.0, 2.0]], [3.0])], al.Box(-1, 1, dim=2))
    maps = affine_maps(rs)
    assert maps.slopes.tolist() == [[[1.0, 2.0]]]
    assert maps.constants.tolist() == [[3.0]]
