"""How the search goes deeper, for teaching: the cells after each stage (the paper's Figure 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError
from affinelens.measure.geometry.shared_sides import SharedSides, shared_sides
from affinelens.plot.canvas import add_lines, frame_axes, line_width, panels
from affinelens.plot.given import numbers, require_dimension
from affinelens.plot.palette import FILLS, INK, STAGES, colors_of, distinct_colors
from affinelens.plot.partition import axis_names, plane_points
from affinelens.plot.polygons import Polygons, region_polygons
from affinelens.regions import located

if TYPE_CHECKING:
    from affinelens.regions import Regions

_HERE, _BESIDE, _ELSEWHERE = "#ee8866", "#99ddff", "#f2f2f2"


def search_stages(regions: Regions, *, at: ArrayLike | None = None) -> Figure:
    """Draw the cells that the first l stages make, a panel for each l; the lines that are new are colored.

    With ``at``, a point, the cell that it is in and the cells beside it are shown instead of many colors.
    """
    require_dimension(regions, 2)
    depth = len(regions.network.stages)
    if not depth:
        raise AffineLensError("the network has no stage that could be shown")
    sides, polygons = shared_sides(regions), region_polygons(regions)
    here = None if at is None else plane_points(regions, numbers(at, "at must be a point")[None])
    home = None if at is None else int(located(regions, numbers(at, "at must be a point")))
    if home == -1:
        raise AffineLensError(f"the point {at!r:.60} lies in none of the regions; give one inside the domain")
    figure, axes = panels(depth)
    frame = regions.domain.frame
    for stage, ax in enumerate(axes):
        cell = cells_after(regions, stage + 1)
        paint = _many_colors(cell, sides) if home is None else _around_home(cell, sides, home)
        _draw(ax, polygons, sides, cell, paint, stage)
        if here is not None:
            ax.plot(*here.T, marker="o", color=INK, markersize=4, zorder=3)
        frame_axes(ax, frame.lower, frame.upper, axis_names(regions))
        ax.set(xticks=[], yticks=[], ylabel="", xlabel=f"stage {stage + 1}: {cell.max() + 1:,} cells")
    return figure


def cells_after(regions: Regions, stages: int) -> Indices:
    """For each region the number of the cell of the first so many stages that it lies in."""
    first = regions.switching_patterns[:, regions.switching < regions.network.choice_offsets[stages]]
    if not first.shape[1]:
        return np.zeros(len(regions), dtype=np.int64)
    cells: Indices = np.unique(first, axis=0, return_inverse=True)[1].reshape(-1)
    return cells


def _many_colors(cell: Indices, sides: SharedSides) -> Floats:
    one, other = cell[sides.regions].T
    return colors_of(distinct_colors(one, other, int(cell.max()) + 1), FILLS)[cell]


def _around_home(cell: Indices, sides: SharedSides, home: int) -> Floats:
    one, other = cell[sides.regions].T
    beside = np.concatenate([other[one == cell[home]], one[other == cell[home]]])
    kind = np.where(cell == cell[home], 0, np.where(np.isin(cell, beside), 1, 2))
    return to_rgba_array([_HERE, _BESIDE, _ELSEWHERE])[kind]


def _draw(ax: Axes, polygons: Polygons, sides: SharedSides, cell: Indices, paint: Floats, stage: int) -> None:
    ax.add_collection(PolyCollection(polygons.rings(), facecolors=paint, edgecolors="face", linewidths=0.4, zorder=1))
    one, other = cell[sides.regions].T
    shown = one != other
    is_new = sides.stages[shown] == stage
    paints = np.where(is_new[:, None], colors_of(np.array([stage]), STAGES), to_rgba_array(INK))
    width = line_width(int(cell.max()) + 1) * np.where(is_new, 1.6, 0.9)
    add_lines(ax, sides.ends[shown], paints, width, above=2)
