from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.plot import faces, solid
from affinelens.plot.faces import border_faces, region_faces, section
from support.plot_sets import RecordedPolygons, area, drawn_set

REGIONS = drawn_set(3, 6, 4, 2, seed=0)
TIED = al.enumerate([(np.eye(3), np.zeros(3)), (np.ones((1, 3)), np.zeros(1))], al.Box(-1, 1, dim=3))


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "Poly3DCollection", RecordedPolygons)


def drawn(ax: Any) -> list[np.ndarray]:
    return ax.collections[0].rings


def test_faces_are_the_facets() -> None:
    faces = region_faces(REGIONS)
    np.testing.assert_array_equal(np.bincount(faces.region), np.diff(REGIONS.facet_offsets))


def test_faces_on_the_border_make_up_the_cube() -> None:
    faces = region_faces(REGIONS)
    border = faces[border_faces(REGIONS)]
    assert (np.abs(np.abs(border.corners).max(axis=2) - 1) < 1e-12).all()
    assert sum(map(area, border.rings())) == pytest.approx(24)


@pytest.mark.parametrize("axis", range(3))
def test_a_section_is_a_square(axis: int) -> None:
    cut = section(region_faces(REGIONS), axis, 0.125)
    assert (cut.corners[:, :, axis][cut.is_corner] == 0.125).all()
    assert sum(map(area, cut.rings())) == pytest.approx(4)
    assert len(set(cut.region.tolist())) == len(cut)


@pytest.mark.parametrize("regions", [REGIONS, TIED], ids=["generic", "cut along units"])
def test_a_cube_without_a_corner_has_as_much_surface_as_the_cube(regions: al.RegionSet) -> None:
    faces = drawn(solid(regions))
    assert sum(map(area, faces)) == pytest.approx(24)
    inside = [face for face in faces if np.abs(face.mean(axis=0)).max() < 1 - 1e-9]
    assert sum(map(area, inside)) == pytest.approx(3)
    for face in faces:
        middle = face.mean(axis=0)
        assert not (middle[0] > 1e-9 and middle[1] < -1e-9 and middle[2] > 1e-9) or np.abs(middle).max() < 1


def test_apart_every_face_of_every_region_is_drawn() -> None:
    faces = drawn(REGIONS.plot(explode=0.5))
    assert len(faces) == len(REGIONS.facet_values)


def test_uncut_only_the_border_is_drawn() -> None:
    assert len(drawn(REGIONS.plot(cut=False))) == (REGIONS.facet_values < 6).sum()


def test_every_face_has_its_whole_outline() -> None:
    ax = REGIONS.plot()
    ax.figure.draw_without_rendering()
    outlines = [path.vertices for path in ax.collections[0].get_paths()]
    # A line ends before the first corner that is not finite; faces with few corners are filled up with such.
    drawn_at_once = [line[np.logical_and.accumulate(np.isfinite(line).all(axis=1))] for line in outlines]
    assert len(set(map(len, drawn_at_once))) > 1
    for line in drawn_at_once:
        np.testing.assert_array_equal(line[0], line[-1])


def test_only_classes_that_are_seen_are_named() -> None:
    """The third class wins in a small ball around the center, of which nothing is seen from outside."""
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    layers = [(sides, np.full(6, -0.1)), (np.vstack([np.zeros(6), -np.ones(6)]), [0.0, 0.01])]
    rs = al.enumerate(layers, al.Box(-1, 1, dim=3))
    assert set(rs.column("class")) == {0, 1}
    names = {text.get_text() for text in rs.plot(color="class", cut=False).get_legend().get_texts()}
    assert names == {"class 0"}


@pytest.mark.parametrize(("corner", "is_seen"), [((-1, 1, -1), False), ((1, -1, 1), False), ((1, 1, 1), True)])
def test_classes_behind_the_picture_and_in_the_corner_cut_away_are_not_named(corner: Any, is_seen: bool) -> None:
    """Of the cube's eight regions one has the second class; the viewer stands high at the right, before (1, -1, 1)."""
    sides = np.concatenate([np.eye(3), -np.eye(3)])
    outputs = np.vstack([np.zeros(6), [*corner, *np.negative(corner)]])
    rs = al.enumerate([(sides, np.zeros(6)), (outputs, [0.0, -1.0])], al.Box(-1, 1, dim=3))
    assert sorted(rs.column("class")) == [0] * 7 + [1]
    names = {text.get_text() for text in rs.plot(color="class").get_legend().get_texts()}
    assert ("class 1" in names) == is_seen


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"cut": (0, 0)}, "three numbers"),
        ({"cut": "yes"}, "three numbers, but got 'yes'"),
        ({"explode": -1.0}, "0 or more"),
        ({"explode": "a"}, "0 or more, but is 'a'"),
        ({"window": (0, 1, 0, 1)}, "not take window"),
    ],
)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any], says: str) -> None:
    with pytest.raises(al.AffineLensError, match=says):
        REGIONS.plot(**options)
