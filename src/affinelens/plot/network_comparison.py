"""Several networks on one domain: their partitions, where these can be drawn, and charts of what was counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.measure.geometry.volumes import volumes
from affinelens.plot.canvas import count_places, frame_chart, new_figure
from affinelens.plot.curves import scale_counts
from affinelens.plot.given import require_regions
from affinelens.plot.palette import STAGES, colors_of
from affinelens.plot.partition_rows import Panel, draw_panel
from affinelens.regions import all_vertices

if TYPE_CHECKING:
    from affinelens.regions import Regions

# The width and the height of a partition with its name, and of a chart, in inches.
_PANEL, _CHART = (2.6, 3.1), (3.6, 2.9)
_MOST_ACROSS = 4
_SMALLEST = 0.01
_LONGEST_NAME = 32
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def comparison(sets: Mapping[str, Regions]) -> Figure:
    """Draw region sets of one domain: partitions of a plane, cells by stage, and how large regions are.

    Volumes are left out where they cannot be found, as in high dimensions.
    """
    if not isinstance(sets, Mapping) or not sets:
        raise AffineLensError("there is nothing to compare; give at least one set of regions in a dictionary by name")
    for found in sets.values():
        require_regions(found)
    drawable = {name: found for name, found in sets.items() if found.domain.dim == 2 and len(found)}
    sizes = {name: volumes(found) for name, found in sets.items() if _has_volumes(found)}
    across = min(len(drawable), _MOST_ACROSS)
    down = -(-len(drawable) // across) if drawable else 0
    charts = 2 if sizes else 1
    heights = [_PANEL[1]] * down + [_CHART[1]]
    figure = new_figure((max(_CHART[0] * charts, _PANEL[0] * across), sum(heights)))
    strips = figure.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0]
    for place, (name, found) in enumerate(drawable.items()):
        ax = strips[place // across].add_subplot(1, across, place % across + 1)
        color = "class" if found.network.output_size else "neighbors"
        draw_panel(ax, found, Panel(found, _short(name)).text, color=color)
    _draw_stages(strips[-1].add_subplot(1, charts, 1), sets)
    if sizes:
        _draw_volumes(strips[-1].add_subplot(1, charts, 2), list(sets), sizes)
    return figure


def _short(name: str) -> str:
    """A name that fits under a panel: of a long one its beginning and its end, which tell models apart."""
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME // 2 - 1]}…{name[-_LONGEST_NAME // 2 :]}"


def _has_volumes(found: Regions) -> bool:
    try:
        return bool(len(found) and len(all_vertices(found).offsets))
    except AffineLensError:
        return False


def _draw_stages(ax: Axes, sets: Mapping[str, Regions]) -> None:
    colors = colors_of(np.arange(len(sets)), STAGES)
    for place, (name, found) in enumerate(sets.items()):
        stages = np.arange(1, len(found.layer_counts) + 1)
        mark = _MARKS[place % len(_MARKS)]
        ax.plot(stages, found.layer_counts, color=colors[place], marker=mark, markersize=4, label=_short(name))
    counts = [float(count) for found in sets.values() for count in found.layer_counts]
    scale_counts(ax, np.array(counts or [1.0]))
    count_places(ax)
    frame_chart(ax, "stages", "cells")
    ax.legend(frameon=False, fontsize="small")


def _draw_volumes(ax: Axes, names: list[str], volumes: Mapping[str, Floats]) -> None:
    """The share of regions that have at most a volume, without the smallest hundredth of them."""
    colors = colors_of(np.arange(len(names)), STAGES)
    for name, sizes in volumes.items():
        ordered = np.sort(sizes[sizes > 0])
        shares = np.arange(1, len(ordered) + 1) / len(ordered)
        ax.step(ordered, shares, where="post", color=colors[names.index(name)])
    ax.set_xscale("log")
    ax.set_xlim(left=min(float(np.quantile(sizes[sizes > 0], _SMALLEST)) for sizes in volumes.values()))
    ax.set_ylim(0, 1.02)
    frame_chart(ax, "volume of a region", "share of regions up to this")
