"""Curves of counts: where their means, bands and given numbers are drawn."""

from __future__ import annotations

import numpy as np

from affinelens.plot import Curve, curve_panels, curves


def test_means_bands_and_given_numbers() -> None:
    ax = curves([Curve("ours", (1, 2), [(10, 30), (100, 300)], (25, None))])
    mean, given = ax.get_lines()
    np.testing.assert_array_equal(mean.get_xydata(), [(1, 20), (2, 200)])
    np.testing.assert_array_equal(given.get_xydata(), [(1, 25)])
    [band] = ax.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
    assert {(1, 10), (1, 30), (2, 100), (2, 300)} <= corners
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours", "paper"]
    assert ax.get_yscale() == "log"


def test_nothing_is_said_of_numbers_that_are_not_given() -> None:
    ax = curves([Curve("ours", (1, 2), [(10,), (20,)])], ticks=(1, 2))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ours"]
    assert list(ax.get_xticks()) == [1, 2]


def test_panels_share_names() -> None:
    curve = Curve("ours", (1, 2), [(10,), (20,)])
    figure = curve_panels({"left": [curve], "right": [curve, curve]}, "epoch", logarithmic=True)
    assert [ax.get_title() for ax in figure.axes] == ["left", "right"]
    assert {ax.get_xlabel() for ax in figure.axes} == {"epoch"}
    assert {ax.get_xscale() for ax in figure.axes} == {"log"}
    assert [len(ax.get_legend().get_texts()) for ax in figure.axes] == [1, 2]
    shared = curve_panels({"left": [curve], "right": [curve]}, "epoch")
    assert [ax.get_legend() for ax in shared.axes] == [None, None]
    assert [text.get_text() for text in shared.legends[0].get_texts()] == ["ours"]
