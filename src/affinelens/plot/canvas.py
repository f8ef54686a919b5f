"""Where pictures are drawn: on axes that were given, or on a figure of pyplot's, which notebooks show; files repeat.

Whoever draws a picture only to write it to a file closes it behind that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.files.given_path import given_path
from affinelens.files.output_file import require_writable_file, written_whole_file

try:
    import matplotlib
    from matplotlib import pyplot
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as missing:
    raise MissingExtraError.for_extra("matplotlib", "plot", "drawing a picture") from missing

FORMATS = ("png", "svg", "pdf")
# The size of a square picture and the shortest side of others, in inches.
_SQUARE = (5.0, 5.0)
_SHORTEST = 1.8
# A square axis is drawn where no side is longer than this many times the other.
_LONGEST_SIDE = 4.0
# The width of a panel, in inches.
_PANEL = 2.2
# From which side pictures in space are seen, in degrees.
AZIMUTH = -55.0


class _ShownOnce(Figure):
    """Notebooks show a figure that is a cell's value, and pyplot's behind the cell; shown as the one it is no other."""

    def _ipython_display_(self) -> None:
        if "inline" in matplotlib.get_backend():
            pyplot.close(self)
        raise NotImplementedError  # IPython then shows it in the usual way

    def __repr__(self) -> str:
        return super().__repr__().replace(type(self).__name__, Figure.__name__)


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure that shows itself in notebooks and with ``pyplot.show()``."""
    return pyplot.figure(figsize=size, layout="constrained", FigureClass=_ShownOnce)


def close_picture(picture: Any) -> None:
    """Give up a figure, or the one that axes are on, which nobody wants to see any more."""
    pyplot.close(picture if isinstance(picture, Figure) else picture.figure)


@contextmanager
def none_left_behind() -> Iterator[None]:
    """Give up the figures that were begun here, if something goes wrong."""
    before = set(pyplot.get_fignums())
    try:
        yield
    except BaseException:
        for number in set(pyplot.get_fignums()) - before:
            pyplot.close(number)
        raise


def plane_size(lower: Floats, upper: Floats) -> tuple[float, float]:
    """The size of a figure whose axes show a rectangle in its proportions."""
    width, height = (upper - lower).tolist()
    if max(width, height) > _LONGEST_SIDE * min(width, height):
        return _SQUARE
    longest = max(width, height)
    return max(_SQUARE[0] * width / longest, _SHORTEST), max(_SQUARE[1] * height / longest, _SHORTEST)


def flat_axes(given: Any, size: tuple[float, float] = _SQUARE) -> Any:
    """The axes that were given, if a plane picture can be drawn on them, or new ones on a figure of their own."""
    if given is None:
        return new_figure(size).add_subplot()
    if not isinstance(given, Axes) or hasattr(given, "get_zlim"):
        raise AffineLensError(
            f"ax must be two-dimensional matplotlib axes, but got {type(given).__name__}; leave it out"
        )
    return given


def solid_axes(given: Any, size: tuple[float, float] = _SQUARE) -> Any:
    """As :func:`flat_axes`, for a picture in space."""
    if given is None:
        return new_figure(size).add_subplot(projection="3d")
    if not hasattr(given, "get_zlim"):
        raise AffineLensError(
            f"ax must be three-dimensional matplotlib axes, but got {type(given).__name__}; make it with "
            f"figure.add_subplot(projection='3d'), or leave it out"
        )
    return given


def panels(count: int, columns: int = 6, *, solid: bool = False) -> tuple[Figure, list[Any]]:
    """A figure with so many square panels, side by side and then in rows."""
    across = min(count, columns)
    down = -(-count // across)
    figure = new_figure((_PANEL * across, (_PANEL + 0.45) * down))
    return figure, [
        figure.add_subplot(down, across, i + 1, **({"projection": "3d"} if solid else {})) for i in range(count)
    ]


def frame_axes(ax: Axes, lower: Floats, upper: Floats, names: Sequence[str]) -> None:
    """Show exactly the rectangle from lower to upper."""
    ax.set_xlim(float(lower[0]), float(upper[0]))
    ax.set_ylim(float(lower[1]), float(upper[1]))
    sides = upper - lower
    ax.set_aspect("equal" if sides.max() <= _LONGEST_SIDE * sides.min() else "auto")
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.tick_params(length=3)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def frame_space(
    ax: Any, lower: Floats, upper: Floats, names: Sequence[str], *, sides: Sequence[float], elevation: float
) -> None:
    """Show exactly the box from lower to upper, in the proportions of these sides, seen from so high."""
    ax.set(xlim=(lower[0], upper[0]), ylim=(lower[1], upper[1]), zlim=(lower[2], upper[2]))
    ax.set_box_aspect(sides, zoom=0.88)
    ax.view_init(elev=elevation, azim=AZIMUTH)
    ax.set(xlabel=names[0], ylabel=names[1], zlabel=names[2])
    # Where two axes meet in front, only one of them names its end.
    for axis, prune in ((ax.xaxis, "upper"), (ax.yaxis, "both"), (ax.zaxis, "lower")):
        axis.set_pane_color((1, 1, 1, 0))
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10], prune=prune))
    ax.tick_params(labelsize="small", pad=0)
    ax.grid(False)


def frame_chart(ax: Axes, places: str, values: str) -> None:
    """Name the two axes of a chart, which has lines on their sides only."""
    ax.set(xlabel=places, ylabel=values)
    ax.spines[["top", "right"]].set_visible(False)


def count_places(ax: Axes) -> None:
    """Only whole numbers along the first axis."""
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def line_width(count: int) -> float:
    """Thinner outlines the more regions there are."""
    return float(np.clip(12 / np.sqrt(max(count, 1)), 0.05, 0.7))


def add_lines(ax: Axes, ends: Floats, colors: Any, width: Any, *, above: int, name: str = "") -> None:
    """Draw straight lines between pairs of points, above what has a lower number; a legend has their name."""
    lines = LineCollection(list(ends), colors=colors, linewidths=width, capstyle="round", zorder=above, label=name)
    ax.add_collection(lines)


def require_picture_file(path: Path) -> None:
    """Refuse a file of a kind that pictures are not, or that cannot be written, before anything is drawn."""
    if path.suffix[1:].lower() not in FORMATS:
        raise AffineLensError(f"{path}: pictures are written as .png, .svg or .pdf; give a name that ends so")
    require_writable_file(path)


def save_picture(picture: Any, path: str | Path, *, dpi: int = 200) -> Path:
    """Write a figure, or the one that axes are on, as PNG, SVG or PDF; the same picture gives the same bytes."""
    if not isinstance(picture, Figure | Axes):
        raise AffineLensError(
            f"a picture is a figure or axes, as rs.plot() returns them, but got {type(picture).__name__}"
        )
    figure: Any = picture if isinstance(picture, Figure) else picture.figure
    target = given_path(path, "a picture")
    require_picture_file(target)
    kind = target.suffix[1:].lower()
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with written_whole_file(target) as file, matplotlib.rc_context({"svg.hashsalt": "affinelens"}):
        figure.savefig(file, dpi=dpi, metadata=undated, bbox_inches="tight", pad_inches=0.06)
    return target
