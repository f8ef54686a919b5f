"""What a training record counts, or any other column of it, as curves over the steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from affinelens.errors import AffineLensError
from affinelens.plot.canvas import count_places, flat_axes, frame_chart
from affinelens.plot.curves import scale_counts
from affinelens.plot.palette import STAGES, colors_of


def training_curves(
    table: Sequence[Mapping[str, Any]], columns: Mapping[str, str], ax: Axes | None = None, *, counts: bool = False
) -> Axes:
    """Draw columns of a table over the steps, which are its first column; rows without a number are left out.

    ``columns`` are what the legend calls each of them. ``counts`` are on a logarithmic scale.
    """
    rows = [row for row in table if any(row.get(name) is not None for name in columns)]
    if not rows:
        raise AffineLensError("there is nothing measured to draw; call the tracker with a model first")
    unit = next(iter(rows[0]))
    ax = flat_axes(ax, (5.0, 3.6))
    for color, (name, title) in zip(colors_of(np.arange(len(columns)), STAGES), columns.items(), strict=True):
        known = [(row[unit], row[name]) for row in rows if row.get(name) is not None]
        ax.plot(*zip(*known, strict=True), color=color, marker="o", markersize=3.5, label=title)
    if counts:
        scale_counts(ax, np.array([row[name] for row in rows for name in columns if row.get(name)], dtype=np.float64))
    count_places(ax)
    frame_chart(ax, unit, "cells" if counts else "")
    ax.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return ax
