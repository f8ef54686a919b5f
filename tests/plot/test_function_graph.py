from __future__ import annotations

import numpy as np
from matplotlib.collections import PolyCollection

import affinelens as al
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


def test_the_line_is_painted_by_class_where_each_wins() -> None:
    """One unit's bend at 0.5, and outputs that are equal at 0 only."""
    regions = al.enumerate(
        [([[1.0], [1.0]], [2.0, -0.5]), ([[1.0, 0.0], [0.0, 0.0]], [-2.0, 0.0])], al.Box(-1, 1, dim=1)
    )
    ax = regions.plot(color="class")
    strips = next(c for c in ax.collections if isinstance(c, PolyCollection))
    ends = sorted({x for ring in strips.get_paths() for x in ring.vertices[:, 0].tolist()})
    assert ends == [-1.0, 0.0, 0.5, 1.0]
    assert len(np.unique(strips.get_facecolor(), axis=0)) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class 0", "class 1", "output 0", "output 1"]
