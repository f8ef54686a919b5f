from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

import affinelens as al
from affinelens.plot import animation, evolution
from support.plot_sets import drawn_set


@dataclass
class Moment:
    label: str
    regions: al.RegionSet


MOMENTS = [Moment(f"epoch {10 * i}", drawn_set(2, 5, 5, 2, seed=i)) for i in range(4)]


def test_a_strip_has_a_panel_a_snapshot_with_its_count_beneath() -> None:
    figure = evolution(MOMENTS, columns=3)
    assert [ax.get_xlabel() for ax in figure.axes] == [f"{m.label}\n{len(m.regions):,} regions" for m in MOMENTS]
    assert figure.axes[0].get_subplotspec().get_gridspec().get_geometry() == (2, 3)


def test_options_are_handed_to_every_panel() -> None:
    figure = evolution(MOMENTS, color="neighbors", window=(0, 1, 0, 1))
    assert {ax.get_xlim() for ax in figure.axes} == {(0, 1)}


def test_an_animation_has_a_frame_a_snapshot(tmp_path: Path) -> None:
    path = animation(MOMENTS, tmp_path / "training.gif", seconds=0.2)
    with Image.open(path) as image:
        assert image.n_frames == len(MOMENTS)
        assert image.info["duration"] == 200


@pytest.mark.parametrize(
    ("name", "seconds", "says"),
    [("a.avi", 1.0, ".gif or .mp4"), ("a.gif", 0.0, "more than 0"), ("no/folder/a.gif", 1.0, "create it first")],
)
def test_bad_animations_are_refused_in_a_sentence(tmp_path: Path, name: str, seconds: float, says: str) -> None:
    with pytest.raises(al.AffineLensError, match=says):
        animation(MOMENTS, tmp_path / name, seconds=seconds)


def test_without_snapshots_there_is_nothing_to_draw() -> None:
    with pytest.raises(al.AffineLensError, match="no snapshot"):
        evolution([])
