from __future__ import annotations

import numpy as np

from support.plot_sets import drawn_set


def test_every_output_has_a_straight_piece_a_region_on_the_network() -> None:
    regions = drawn_set(1, 8, 8, 2, seed=0)
    ax = regions.plot()
    for k in range(2):
        pieces = np.array(ax.collections[k].get_segments())
        assert len(pieces) == len(regions)
        ends = pieces.reshape(-1, 2)
        np.testing.assert_allclose(regions.network(ends[:, :1])[:, k], ends[:, 1], atol=1e-12)
        assert np.ptp(pieces[:, :, 0], axis=1).sum() == np.float64(2)
    assert ax.get_xlim() == (-1, 1)
    assert len(ax.collections[2].get_segments()) == len(regions) - 1
