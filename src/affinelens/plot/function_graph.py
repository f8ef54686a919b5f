"""The function on a one-dimensional domain: its outputs over the line, and where units break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from affinelens.array_types import Floats
from affinelens.measure.maps.affine_maps import affine_maps
from affinelens.plot.canvas import flat_axes
from affinelens.plot.fills import PLAIN, explain, painted_parts
from affinelens.plot.given import require_dimension
from affinelens.plot.palette import CLASSES, INK, colors_of
from affinelens.plot.partition import axis_names
from affinelens.regions import all_vertices

if TYPE_CHECKING:
    from affinelens.regions import Regions

# At most so many breaks are marked one by one.
_MOST_MARKED = 400


def graph(regions: Regions, ax: Axes | None = None, *, color: str | ArrayLike = PLAIN, legend: bool = True) -> Axes:
    """Draw every output over a one-dimensional domain, a straight piece a region, with marks where pieces meet.

    The line is painted behind them in the ``color`` that is asked for, as a partition of the plane is.
    """
    require_dimension(regions, 1)
    ax = flat_axes(ax, (6.0, 3.5))
    if not (isinstance(color, str) and color == PLAIN):
        _paint_line(ax, regions, color, legend=legend)
    ends = _ends(regions)
    maps = affine_maps(regions)
    heights = ends[:, None, :] * maps.slopes + maps.constants[:, :, None]
    outputs = heights.shape[1]
    paint = colors_of(np.arange(outputs), CLASSES)
    for k in range(outputs):
        pieces = np.stack([ends, heights[:, k]], axis=2)
        ax.add_collection(LineCollection(list(pieces), colors=[paint[k]], linewidths=1.6, zorder=2))
    lower, upper = float(ends.min()), float(ends.max())
    breaks = np.unique(ends[ends[:, 1] < upper, 1])
    if len(breaks) <= _MOST_MARKED:
        ax.vlines(breaks, 0, 0.03, transform=ax.get_xaxis_transform(), colors=INK, linewidths=0.7)
    ax.set_xlim(lower, upper)
    room = 0.05 * float(np.ptp(heights)) or 1.0
    ax.set_ylim(float(heights.min()) - room, float(heights.max()) + room)
    ax.set_xlabel(axis_names(regions)[0])
    ax.set_ylabel("output")
    if legend and outputs > 1:
        explain(ax, [Line2D([], [], color=paint[k], label=f"output {k}") for k in range(outputs)])
    return ax


def _paint_line(ax: Axes, regions: Regions, color: str | ArrayLike, *, legend: bool) -> None:
    parts, fills = painted_parts(regions, color)
    strips = [[(a, 0), (b, 0), (b, 1), (a, 1)] for a, b in _ends(parts).tolist()]
    ax.add_collection(
        PolyCollection(strips, facecolors=fills.paint, linewidths=0, zorder=0, transform=ax.get_xaxis_transform())
    )
    if legend:
        fills.explain(ax, np.arange(len(parts)))


def _ends(regions: Regions) -> Floats:
    """The lower and the upper end of each region of a line."""
    return np.sort(all_vertices(regions).points.reshape(-1, 2), axis=1)
