"""Repeated measurements of a few things in groups: every value a point, the mean a line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from affinelens.errors import AffineLensError
from affinelens.plot.canvas import flat_axes, frame_chart
from affinelens.plot.palette import INK, STAGES, colors_of

# How wide the points of one thing are spread, groups being 1 apart.
_SPREAD = 0.18


def repeats(groups: Mapping[str, Mapping[str, ArrayLike]], name: str) -> Figure:
    """Draw values by group and thing, from 0 to 1; ``name`` says what they are."""
    if not groups:
        raise AffineLensError("there are no values to draw; give at least one group")
    ax = flat_axes(None, (1.2 + 1.6 * len(groups), 3.0))
    things = list(dict.fromkeys(thing for group in groups.values() for thing in group))
    colors = colors_of(np.arange(len(things)), STAGES)
    for place, group in enumerate(groups.values()):
        for number, (thing, given) in enumerate(group.items()):
            values = np.asarray(given, dtype=np.float64)
            middle = place + (number + 0.5) / len(group) * 0.8 - 0.4
            across = middle + _SPREAD * (np.linspace(-1, 1, len(values)) if len(values) > 1 else np.zeros(len(values)))
            color = colors[things.index(thing)]
            ax.scatter(across, values, s=14, color=color, alpha=0.8, linewidths=0, label=None if place else thing)
            if len(values):
                ax.hlines(values.mean(), middle - 0.19, middle + 0.19, color=INK, linewidth=1.4)
    ax.set_xticks(range(len(groups)), list(groups))
    ax.set_ylim(0, 1.03)
    frame_chart(ax, "", name)
    ax.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure: Figure = ax.figure
    return figure
