"""Charts of a whole set: how volumes are spread, and how many cells each stage makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from affinelens.errors import AffineLensError
from affinelens.measure.geometry.volumes import volumes
from affinelens.plot.canvas import new_axes, require_flat
from affinelens.plot.palette import FILLS, INK, STAGES, colors_of

if TYPE_CHECKING:
    from affinelens.regions import Regions


def volume_histogram(regions: Regions, ax: Axes | None = None, *, bins: int = 40) -> Axes:
    """Draw how many regions have which volume, on a logarithmic scale."""
    sizes = volumes(regions)
    shown = sizes[sizes > 0]
    if not len(shown):
        raise AffineLensError("there is no region with a volume to draw")
    ax = new_axes((5.0, 3.2)) if ax is None else require_flat(ax)
    low, high = float(shown.min()), float(shown.max())
    if low == high:
        low, high = 0.5 * low, 2.0 * high
    ax.hist(shown, bins=np.geomspace(low, high, bins + 1).tolist(), color=FILLS[0], edgecolor=INK, linewidth=0.4)
    ax.set_xscale("log")
    ax.axvline(float(np.median(shown)), color=STAGES[1], linewidth=1.2, label=f"median {np.median(shown):.2g}")
    ax.set_xlabel("volume of a region")
    ax.set_ylabel("regions")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def layer_bars(regions: Regions, ax: Axes | None = None) -> Axes:
    """Draw how many cells the first l stages make, for each l."""
    counts = regions.layer_counts
    ax = new_axes((max(3.0, 1.5 + 0.7 * len(counts)), 3.2)) if ax is None else require_flat(ax)
    stages = np.arange(1, len(counts) + 1)
    bars = ax.bar(stages, counts, color=colors_of(stages - 1, STAGES), width=0.7)
    ax.bar_label(bars, labels=[f"{count:,}" for count in counts], fontsize="small", padding=2)
    ax.set_xlabel("stages")
    ax.set_ylabel("cells")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(y=0.12)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
