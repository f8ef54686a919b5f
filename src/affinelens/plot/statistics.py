"""Charts of a whole set: how volumes are spread, and how many cells each stage makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes

from affinelens.errors import AffineLensError
from affinelens.measure.geometry.volumes import volumes
from affinelens.plot.canvas import count_places, flat_axes, frame_chart
from affinelens.plot.given import require_regions
from affinelens.plot.palette import FILLS, INK, STAGES, colors_of

if TYPE_CHECKING:
    from affinelens.regions import Regions


def volume_histogram(regions: Regions, ax: Axes | None = None, *, bins: int = 40) -> Axes:
    """Draw how many regions have which volume, on a logarithmic scale."""
    require_regions(regions)
    sizes = volumes(regions)
    shown = sizes[sizes > 0]
    if not len(shown):
        raise AffineLensError("there is no region with a volume to draw")
    ax = flat_axes(ax, (5.0, 3.2))
    low, high = float(shown.min()), float(shown.max())
    if low == high:
        low, high = 0.5 * low, 2.0 * high
    ax.hist(shown, bins=np.geomspace(low, high, bins + 1).tolist(), color=FILLS[0], edgecolor=INK, linewidth=0.4)
    ax.set_xscale("log")
    ax.axvline(float(np.median(shown)), color=STAGES[1], linewidth=1.2, label=f"median {np.median(shown):.2g}")
    ax.legend(frameon=False, fontsize="small")
    frame_chart(ax, "volume of a region", "regions")
    return ax


def layer_bars(regions: Regions, ax: Axes | None = None) -> Axes:
    """Draw how many cells the first l stages make, for each l."""
    require_regions(regions)
    counts = regions.layer_counts
    ax = flat_axes(ax, (max(3.0, 1.5 + 0.7 * len(counts)), 3.2))
    stages = np.arange(1, len(counts) + 1)
    bars = ax.bar(stages, counts, color=colors_of(stages - 1, STAGES), width=0.7)
    ax.bar_label(bars, labels=[f"{count:,}" for count in counts], fontsize="small", padding=2)
    count_places(ax)
    ax.margins(y=0.12)
    frame_chart(ax, "stages", "cells")
    return ax
