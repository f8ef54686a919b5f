"""In a notebook pictures show themselves, and a set shows what it is."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO
from typing import Any

import nbformat
import pytest
from matplotlib import pyplot
from nbclient import NotebookClient

import affinelens as al
from support.random_networks import random_layers

SETUP = """
import numpy as np
import affinelens as al
import affinelens.plot
layers = [([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [-0.5])]
rs = al.enumerate(layers, al.Box(-1, 1, dim=2))
"""


def executed(*cells: str) -> list[list[Any]]:
    """What each cell of a notebook put out."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    return [cell.outputs for cell in notebook.cells]


# jupyter_core and pyzmq speak of their own future.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_notebook_shows_pictures_once() -> None:
    _, *pictures, told, region, inspected = executed(
        SETUP, "rs.plot(color='class');", "rs.plot()", "figure = affinelens.plot.search_stages(rs)\nfigure", "figure",
        "rs", "rs.at([0.5, 0.5])", "al.inspect(layers, rs.domain)",
    )  # fmt: skip
    for drawn in pictures:
        [shown] = [output["data"] for output in drawn if "image/png" in output.get("data", {})]
        assert shown["text/plain"].startswith("<Figure size ")
    [display] = told
    assert "data:image/png;base64," in display["data"]["text/html"]
    assert "complete: every region was found" in display["data"]["text/html"]
    assert "centroid" in region[0]["data"]["text/html"]
    [display] = inspected
    assert "2 of 2 units can switch" in display["data"]["text/html"]


def test_pictures_without_axes_are_pyplots() -> None:
    rs = al.enumerate(random_layers([2, 6, 2], 0, bias=1), al.Box(-1, 1, dim=2))
    ax = rs.plot()
    assert pyplot.gcf() is ax.figure
    _, given = pyplot.subplots()
    assert rs.plot(given) is given
    assert len(pyplot.get_fignums()) == 2


def test_a_small_picture_leaves_no_figure_open() -> None:
    rs = al.enumerate(random_layers([3, 4, 2], 0, bias=1), al.Box(-1, 1, dim=3))
    shown = rs._repr_html_()
    assert not pyplot.get_fignums()
    png = b64decode(shown.split("base64,")[1].split('"')[0])
    assert pyplot.imread(BytesIO(png)).shape[0] > 50
    high = al.enumerate(random_layers([4, 4, 2], 0, bias=1), al.Box(-1, 1, dim=4))
    assert "<img" not in high._repr_html_()


@pytest.mark.parametrize(("upper", "ratio"), [([4, 2], 2.0), ([1, 1], 1.0), ([1, 2], 0.5)])
def test_a_figure_has_the_proportions_of_the_domain(upper: list[float], ratio: float) -> None:
    rs = al.enumerate(random_layers([2, 6, 2], 0, bias=1), al.Box([0, 0], upper))
    width, height = rs.plot().figure.get_size_inches()
    assert width / height == pytest.approx(ratio)
