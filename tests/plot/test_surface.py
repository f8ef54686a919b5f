from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import affinelens as al
from affinelens.plot import faces, surface
from support.plot_sets import RecordedLines, RecordedPolygons, drawn_set, linear_set


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "Poly3DCollection", RecordedPolygons)
    monkeypatch.setitem(surface.__globals__, "Line3DCollection", RecordedLines)


def corners(ax: Any) -> list[np.ndarray]:
    return ax.collections[0].rings


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_heights_are_outputs(outputs: int) -> None:
    regions = drawn_set(2, 8, 6, outputs, seed=0)
    tops = 0
    faces = corners(surface(regions))
    for face in faces:
        values = regions.network(face[:, :2]).reshape(len(face), -1)
        best, least = np.abs(values.max(axis=1) - face[:, 2]).max(), np.abs(values.min(axis=1) - face[:, 2]).max()
        tops += best < 1e-9
        assert min(best, least) < 1e-9
    assert tops == len(faces) / (2 if outputs == 2 else 1)


def test_one_output_alone_has_a_face_a_region() -> None:
    regions = drawn_set(2, 8, 6, 3, seed=0)
    faces = corners(surface(regions, output=1))
    assert len(faces) == len(regions)
    for face in faces:
        np.testing.assert_allclose(regions.network(face[:, :2])[:, 1], face[:, 2], atol=1e-9)


def test_pieces_meet_in_the_decision_boundary() -> None:
    ax = surface(linear_set([[1, -1], [-1, 1]], [0, 0]))
    segments = ax.collections[1].ends
    np.testing.assert_allclose(segments[:, :, 0], segments[:, :, 1], atol=1e-12)
    np.testing.assert_allclose(segments[:, :, 2], 0, atol=1e-12)
    assert np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1).sum() == pytest.approx(2 * np.sqrt(2))


def test_an_output_that_is_not_there_is_refused() -> None:
    with pytest.raises(al.AffineLensError, match="from 0 to 1"):
        surface(linear_set([[1, -1], [-1, 1]], [0, 0]), output=2)


def test_a_constant_has_a_surface_and_no_boundary() -> None:
    ax = surface(linear_set([[0, 0]], [1]))
    assert len(ax.collections) == 1
    for face in corners(ax):
        assert (face[:, 2] == 1).all()
