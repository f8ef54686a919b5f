"""The function on a one-dimensional domain: its outputs over the line, and where units break it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from affinelens.measure.maps.affine_maps import affine_maps
from affinelens.plot.canvas import flat_axes
from affinelens.plot.palette import CLASSES, INK, colors_of
from affinelens.plot.partition import axis_names, require_dimension
from affinelens.regions import all_vertices

if TYPE_CHECKING:
    from affinelens.regions import Regions

# At most so many outputs are named beside a picture.
_MOST_NAMED = 12
# At most so many breaks are marked one by one.
_MOST_MARKED = 400


def graph(regions: Regions, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw every output over a one-dimensional domain, a straight piece a region, with marks where pieces meet."""
    require_dimension(regions, 1)
    ax = flat_axes(ax, (6.0, 3.5))
    ends = np.sort(all_vertices(regions).points.reshape(-1, 2), axis=1)
    maps = affine_maps(regions)
    heights = ends[:, None, :] * maps.slopes + maps.constants[:, :, None]
    outputs = heights.shape[1]
    paint = colors_of(np.arange(outputs), CLASSES)
    for k in range(outputs):
        pieces = np.stack([ends, heights[:, k]], axis=2)
        ax.add_collection(
            LineCollection(list(pieces), colors=[paint[k]], linewidths=1.6, label=f"output {k}", zorder=2)
        )
    lower, upper = float(ends.min()), float(ends.max())
    breaks = np.unique(ends[ends[:, 1] < upper, 1])
    if len(breaks) <= _MOST_MARKED:
        ax.vlines(breaks, 0, 0.03, transform=ax.get_xaxis_transform(), colors=INK, linewidths=0.7)
    ax.set_xlim(lower, upper)
    room = 0.05 * float(np.ptp(heights)) or 1.0
    ax.set_ylim(float(heights.min()) - room, float(heights.max()) + room)
    ax.set_xlabel(axis_names(regions)[0])
    ax.set_ylabel("output")
    if legend and 1 < outputs <= _MOST_NAMED:
        ax.legend(frameon=False, fontsize="small")
    return ax
