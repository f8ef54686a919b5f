"""The function over the plane: class-conditional affine pieces and where they meet (the paper's Figures 1d and 7b)."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Line3DCollection
from numpy.typing import ArrayLike

from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError, Option
from affinelens.measure.decision.decision_boundary import decision_boundary
from affinelens.measure.maps.affine_maps import AffineMaps, affine_maps
from affinelens.plot.canvas import frame_space, solid_axes
from affinelens.plot.faces import add_faces, lit
from affinelens.plot.fills import Fills, class_fills
from affinelens.plot.given import require_dimension
from affinelens.plot.palette import INK
from affinelens.plot.partition import axis_names
from affinelens.plot.polygons import Polygons, region_polygons

if TYPE_CHECKING:
    from affinelens.measure.decision.decision_boundary import DecisionBoundary
    from affinelens.regions import Regions

# The picture's height, its base being 1 wide.
_HEIGHT = 0.7
# How high the viewer stands, in degrees: steep surfaces are seen from above.
_ELEVATION = 42.0
_LIGHT = np.array([0.3, -0.4, 0.87])
_IN_SHADE = 0.65
# How wide outlines are; beside those in other pictures they would hide the shading.
_OUTLINE = 0.6


def surface(
    regions: Regions,
    ax: Any = None,
    *,
    output: int | None = None,
    color: str | ArrayLike = "neighbors",
    legend: bool = True,
) -> Any:
    """Draw outputs as heights over a two-dimensional domain.

    Without ``output`` every region is cut by class and drawn at the height of its largest output, in the color of that
    class; of two outputs the smaller one is drawn beneath, paler. They meet in the decision boundary. Of a network with
    one output that is drawn, in two colors by sign. With ``output`` that one alone is drawn, its regions colored as
    in a partition.
    """
    require_dimension(regions, 2)
    ax = solid_axes(ax, (6.0, 5.0))
    ax.computed_zorder = False
    drawn = _draw_classes(ax, regions, legend) if output is None else _draw_output(ax, regions, output, color, legend)
    lower, upper = _extent(drawn)
    if lower[2] == upper[2]:
        upper[2] += 1.0
    names = (*axis_names(regions), "output" if output is None else f"output {output}")
    frame_space(ax, lower, upper, names, sides=(1.0, 1.0, _HEIGHT), elevation=_ELEVATION)
    return ax


def _draw_classes(ax: Any, regions: Regions, legend: bool) -> Polygons:
    maps, boundary = affine_maps(regions), decision_boundary(regions)
    cells, pieces = boundary.cells, region_polygons(boundary.cells.parts)
    outputs = maps.constants.shape[1]
    winner = cells.classes if outputs > 1 else np.zeros_like(cells.classes)
    lifted = [_lifted(pieces, maps, cells.regions, winner)]
    fills = Fills.by_class(cells.classes)
    paints = [_lit(lifted[0], fills.paint)]
    if outputs == 2:
        lifted.append(_lifted(pieces, maps, cells.regions, 1 - winner))
        beneath = class_fills(1 - winner)
        beneath[:, 3] = 0.35
        paints.append(_lit(lifted[1], beneath))
    drawn = Polygons.joined(lifted)
    add_faces(ax, drawn, np.concatenate(paints), width=_OUTLINE)
    if len(boundary):
        _draw_boundary(ax, maps, boundary)
    if legend:
        fills.explain(ax, pieces.region)
    return drawn


def _draw_boundary(ax: Any, maps: AffineMaps, boundary: DecisionBoundary) -> None:
    region, points = boundary.regions[:, 0], boundary.local_segments
    values = np.einsum("nkd,npd->npk", maps.slopes[region], points) + maps.constants[region][:, None]
    ends = np.concatenate([points, values.max(axis=2)[:, :, None]], axis=2)
    ax.add_collection3d(Line3DCollection(ends, colors=INK, linewidths=2.0, capstyle="round", zorder=2))


def _draw_output(ax: Any, regions: Regions, output: int, color: str | ArrayLike, legend: bool) -> Polygons:
    maps = affine_maps(regions)
    count = maps.constants.shape[1]
    if isinstance(output, bool) or not isinstance(output, Integral) or not 0 <= output < count:
        raise AffineLensError(
            Option("of_output", in_python="output"), f" must be from 0 to {count - 1}, but is {output!r:.40}"
        )
    fills = Fills.by(regions, color)
    polygons = region_polygons(regions)
    polygons = _lifted(polygons, maps, polygons.region, output)
    add_faces(ax, polygons, _lit(polygons, fills.paint), width=_OUTLINE)
    if legend:
        fills.explain(ax, polygons.region)
    return polygons


def _lifted(polygons: Polygons, maps: AffineMaps, region: Indices, output: Indices | int) -> Polygons:
    """Polygons of the plane at the height of one output each, as it is in one region each."""
    slopes, constants = maps.slopes[region, output], maps.constants[region, output]
    heights = np.einsum("nmd,nd->nm", polygons.corners, slopes) + constants[:, None]
    return polygons.with_corners(np.concatenate([polygons.corners, heights[:, :, None]], axis=2))


def _lit(polygons: Polygons, paint: Floats) -> Floats:
    """Colors under a light from above, slopes taken relative to the picture's own proportions."""
    lower, upper = _extent(polygons)
    size = (upper - lower) / np.array([1.0, 1.0, _HEIGHT])
    in_picture = polygons.with_corners(polygons.corners / np.where(size > 0, size, 1.0))
    return lit(in_picture, paint, _LIGHT, _IN_SHADE)


def _extent(polygons: Polygons) -> tuple[Floats, Floats]:
    """The smallest and the largest coordinates."""
    rings = polygons.corners[polygons.is_corner]
    return rings.min(axis=0), rings.max(axis=0)
