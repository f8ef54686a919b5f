from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.plot import search_stages
from affinelens.plot.search_stages import cells_after
from support.plot_sets import drawn_set

REGIONS = drawn_set(2, 6, 5, 4, 2, seed=0)


def test_panels_show_the_cells_of_each_stage() -> None:
    figure = search_stages(REGIONS)
    assert len(figure.axes) == 3
    for stage, (ax, count) in enumerate(zip(figure.axes, REGIONS.layer_counts, strict=True)):
        assert cells_after(REGIONS, stage + 1).max() + 1 == count
        assert ax.get_xlabel() == f"stage {stage + 1}: {count:,} cells"
        assert len(ax.collections[0].get_paths()) == len(REGIONS)


def test_regions_of_one_cell_have_one_color_and_neighboring_cells_another() -> None:
    figure = search_stages(REGIONS)
    cell, paint = cells_after(REGIONS, 1), figure.axes[0].collections[0].get_facecolor()
    for region in REGIONS:
        for other in region.neighbors:
            if other is not None:
                same = np.array_equal(paint[region.index], paint[other])
                assert same == (cell[region.index] == cell[other])


def test_the_cell_of_a_point_shrinks_from_stage_to_stage() -> None:
    figure = search_stages(REGIONS, at=[0.1, 0.2])
    home = REGIONS.locate([0.1, 0.2])
    sizes = []
    for ax in figure.axes:
        paint = ax.collections[0].get_facecolor()
        sizes.append(int((paint == paint[home]).all(axis=1).sum()))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_a_point_outside_is_refused() -> None:
    with pytest.raises(al.AffineLensError, match="inside the domain"):
        search_stages(REGIONS, at=[3.0, 0.0])
