"""What is no picture of anything is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import affinelens as al
from affinelens import plot
from support.plot_sets import drawn_set

REGIONS = drawn_set(2, 4, 2, seed=0)


@pytest.mark.parametrize(
    ("draw", "given", "says"),
    [
        (plot.partition, [([[1.0]], [0.0])], "al.enumerate finds or al.load reads, but got list"),
        (plot.solid, "run", "but got str"),
        (plot.volume_histogram, None, "but got NoneType"),
        (plot.layer_bars, None, "but got NoneType"),
        (plot.picture, "run", "but got str"),
        (plot.comparison, [REGIONS], "in a dictionary by name"),
        (plot.comparison, {"a": "run"}, "but got str"),
        (plot.evolution, REGIONS, "tracker.snapshots"),
        (plot.evolution, [("epoch 1", REGIONS)], "a label and regions"),
    ],
)
def test_what_is_no_set_of_regions(draw: Callable[[Any], Any], given: Any, says: str) -> None:
    with pytest.raises(al.AffineLensError, match=says):
        draw(given)


def test_a_window_beside_the_domain_is_no_empty_picture() -> None:
    with pytest.raises(al.AffineLensError, match=r"shows nothing of the domain, which lies within \(-1, 1, -1, 1\)"):
        plot.partition(REGIONS, window=(2, 3, 0, 1))


@pytest.mark.parametrize("output", [1.5, "1", True, 2])
def test_what_is_no_output(output: Any) -> None:
    with pytest.raises(al.AffineLensError, match="output must be from 0 to 1, but is"):
        plot.surface(REGIONS, output=output)


def test_what_is_no_point() -> None:
    with pytest.raises(al.AffineLensError, match="at must be a point, but got 'a'"):
        plot.search_stages(REGIONS, at="a")


def test_what_is_no_picture(tmp_path: Path) -> None:
    with pytest.raises(al.AffineLensError, match=r"a figure or axes, as rs.plot\(\) returns them, but got RegionSet"):
        plot.save_picture(REGIONS, tmp_path / "a.png")


def test_a_row_of_partitions_takes_sets_as_they_are() -> None:
    [ax] = plot.partition_rows({"one": [REGIONS]}).axes
    assert ax.get_xlabel() == f"{len(REGIONS)} regions"
