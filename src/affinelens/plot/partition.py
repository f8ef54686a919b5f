"""The regions of a two-dimensional domain: the paper's Figures 1b and 1c."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError, Option
from affinelens.measure.decision.decision_boundary import decision_boundary
from affinelens.measure.geometry.shared_sides import shared_sides
from affinelens.plot.canvas import add_lines, flat_axes, frame_axes, line_width, plane_size
from affinelens.plot.fills import CLASS, NEIGHBORS, explain, painted_parts
from affinelens.plot.given import classes, numbers, require_dimension
from affinelens.plot.palette import CLASSES, INK, STAGES, colors_of
from affinelens.plot.polygons import Polygons, clipped_to_rectangle, region_polygons

if TYPE_CHECKING:
    from affinelens.regions import Regions


def partition(
    regions: Regions,
    ax: Axes | None = None,
    *,
    color: str | ArrayLike = NEIGHBORS,
    boundary: bool | None = None,
    hyperplanes: bool = False,
    points: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    window: Sequence[float] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the regions of a two-dimensional domain.

    Parameters
    ----------
    ax
        Axes to draw on; without them a figure is made, ``ax.figure``.
    color
        ``"neighbors"`` (neighbors differ), ``"class"`` (regions are cut where the class changes), ``"volume"``,
        ``"gradient"``, ``"facets"``, ``"vertices"``, ``"output"``, ``"plain"`` (all alike), or a number a region.
    boundary
        Draw the decision boundary; by default only with ``color="class"``.
    hyperplanes
        Draw the units' bent hyperplanes, colored by stage.
    points, labels
        Data to show on top, as inputs or in the domain's own coordinates, and a class each.
    window
        ``(left, right, bottom, top)``: show only this part.
    legend
        Explain the colors beside the picture.

    Examples
    --------
    >>> import affinelens as al
    >>> regions = al.enumerate([([[1, 0], [0, 1]], [0, 0]), ([[1, 1]], [-0.5])], al.Box(-1, 1, dim=2))
    >>> ax = regions.plot(color="class", window=(0, 1, 0, 1))
    >>> print(*ax.get_xlim())
    0.0 1.0
    """
    require_dimension(regions, 2)
    lower, upper = _window(regions, window)
    ax = flat_axes(ax, plane_size(lower, upper))
    by_class = isinstance(color, str) and color == CLASS
    parts, fills = painted_parts(regions, color)
    polygons, outline = region_polygons(parts), "white" if by_class else INK
    if window is not None:
        polygons = clipped_to_rectangle(polygons, lower, upper)
    _add(ax, polygons, fills.paint[polygons.region], "face" if hyperplanes else outline)
    if legend:
        fills.explain(ax, polygons.region)
    if hyperplanes:
        _draw_hyperplanes(ax, regions, legend=legend)
    if boundary or (by_class and boundary is None):
        draw_boundary(ax, decision_boundary(regions).local_segments)
    if points is not None:
        draw_points(ax, plane_points(regions, points), labels)
    frame_axes(ax, lower, upper, axis_names(regions))
    return ax


def axis_names(regions: Regions) -> list[str]:
    """Coordinates are inputs or, where some are fixed or on a slice, the domain's own."""
    letter = "x" if regions.domain.frame.is_plain else "t"
    return [f"{letter}{i}" for i in range(regions.domain.dim)]


def draw_boundary(ax: Axes, segments: Floats) -> None:
    """The decision boundary: dark on a light band, so that it shows on every color."""
    add_lines(ax, segments, "white", 3.2, above=3)
    add_lines(ax, segments, INK, 1.4, above=4, name="decision boundary")


def draw_points(ax: Axes, points: Floats, labels: ArrayLike | None) -> None:
    """Data points, colored by class."""
    fill = [INK] if labels is None else 0.8 * colors_of(classes(labels, len(points)), CLASSES)[:, :3]
    ax.scatter(points[:, 0], points[:, 1], s=12, c=fill, edgecolors="white", linewidths=0.5, zorder=5)


def plane_points(regions: Regions, points: ArrayLike) -> Floats:
    """Points in the domain's own coordinates; they may be given so, or as inputs."""
    given = numbers(points, f"points must be rows of {regions.domain.dim} coordinates")
    domain = regions.domain
    flat = given.reshape(len(given), -1) if given.ndim > 1 else given
    if flat.ndim == 2 and flat.shape[1] == domain.dim and (domain.has_own_coordinates or domain.frame.is_plain):
        return flat
    if flat.ndim == 2 and flat.shape[1] == domain.inputs:
        return np.asarray(domain.frame.inverse.coordinates(flat)[0])
    raise AffineLensError(f"points must be rows of {domain.dim} coordinates, but have shape {given.shape}")


def _window(regions: Regions, window: Sequence[float] | None) -> tuple[Floats, Floats]:
    if window is None:
        return regions.domain.frame.lower, regions.domain.frame.upper
    name = Option("window", in_python="window")
    accepted = " must be (left, right, bottom, top) with left < right, bottom < top"
    sides = numbers(window, f"window{accepted}")
    if sides.shape != (4,) or not np.isfinite(sides).all() or sides[0] >= sides[1] or sides[2] >= sides[3]:
        raise AffineLensError(name, f"{accepted}; got {window!r:.80}")
    lower, upper = sides[[0, 2]], sides[[1, 3]]
    frame = regions.domain.frame
    if (lower >= frame.upper).any() or (upper <= frame.lower).any():
        (left, bottom), (right, top) = frame.lower.tolist(), frame.upper.tolist()
        raise AffineLensError(
            name,
            f" {tuple(sides.tolist())} shows nothing of the domain, which lies within "
            f"({left:g}, {right:g}, {bottom:g}, {top:g})",
        )
    return lower, upper


def _add(ax: Axes, polygons: Polygons, paint: Floats, edges: str) -> None:
    """One collection for all polygons; without outlines of their own they are drawn a little over their seams."""
    width = 0.3 if edges == "face" else line_width(len(polygons))
    collection = PolyCollection(
        polygons.rings(), facecolors=paint, edgecolors=edges, linewidths=width, joinstyle="round", zorder=1
    )
    ax.add_collection(collection)


def _draw_hyperplanes(ax: Axes, regions: Regions, *, legend: bool) -> None:
    sides = shared_sides(regions)
    add_lines(ax, sides.ends, colors_of(sides.stages, STAGES), 1.4 * line_width(len(regions)), above=2)
    stages = np.unique(sides.stages)
    if legend:
        named = colors_of(stages, STAGES)
        explain(
            ax,
            [Line2D([], [], color=named[i], label=f"stage {stage + 1}") for i, stage in enumerate(stages.tolist())],
        )
