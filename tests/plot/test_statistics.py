from __future__ import annotations

from affinelens.plot import layer_bars, volume_histogram
from support.plot_sets import drawn_set

REGIONS = drawn_set(3, 6, 4, 2, seed=0)


def test_every_region_is_in_one_bar_of_the_histogram() -> None:
    ax = volume_histogram(REGIONS, bins=12)
    heights = [bar.get_height() for bar in ax.patches]
    assert len(heights) == 12
    assert sum(heights) == len(REGIONS)


def test_bars_are_the_counts_by_stage() -> None:
    ax = layer_bars(REGIONS)
    assert tuple(bar.get_height() for bar in ax.patches) == REGIONS.layer_counts
    assert [text.get_text() for text in ax.texts] == [f"{count:,}" for count in REGIONS.layer_counts]
