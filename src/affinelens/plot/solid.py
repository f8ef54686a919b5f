"""The regions of a three-dimensional domain: with a corner cut away, or moved apart."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from affinelens.array_types import Bools, Floats
from affinelens.errors import AffineLensError, Option
from affinelens.plot.canvas import AZIMUTH, frame_space, solid_axes
from affinelens.plot.faces import add_faces, border_faces, lit, region_faces, section
from affinelens.plot.fills import Fills
from affinelens.plot.given import numbers, require_dimension
from affinelens.plot.partition import axis_names
from affinelens.plot.polygons import Polygons

if TYPE_CHECKING:
    from affinelens.regions import Regions

# Proportions are true where no side is longer than this many times another.
_LONGEST_SIDE = 4.0
# How high the viewer stands, in degrees, where the light comes from, and how much there is where it does not fall.
_ELEVATION = 24.0
_LIGHT = np.array([0.35, -0.25, 0.9])
_IN_SHADE = 0.72
# The corner that is cut away is the one nearest to the viewer: high in the first coordinate, low in the second, high in
# the third.
_CUT_SIDES = (1.0, -1.0, 1.0)


def solid(
    regions: Regions,
    ax: Any = None,
    *,
    color: str | ArrayLike = "neighbors",
    cut: bool | Sequence[float] = True,
    explode: float = 0.0,
    legend: bool = True,
) -> Any:
    """Draw the regions of a three-dimensional domain.

    Parameters
    ----------
    ax
        Three-dimensional axes to draw on; without them a figure is made, ``ax.figure``.
    color
        As for a partition of the plane; ``"class"`` is the class at each region's interior point.
    cut
        Cut a corner away, down to the middle of the domain or to the point given, to show the inside.
    explode
        Move every region away from the center by this share of its distance; then nothing is cut.
    legend
        Explain the colors beside the picture.
    """
    require_dimension(regions, 3)
    ax = solid_axes(ax)
    fills = Fills.by(regions, color)
    faces = region_faces(regions)
    lower, upper = regions.domain.frame.lower, regions.domain.frame.upper
    if isinstance(explode, bool) or not isinstance(explode, Real) or not 0 <= explode < np.inf:
        raise AffineLensError(Option("explode", in_python="explode"), f" must be 0 or more, but is {explode!r:.40}")
    if explode > 0:
        away = regions.local.points - 0.5 * (lower + upper)
        shown = faces.with_corners(faces.corners + explode * away[faces.region][:, None])
        seen = np.ones(len(shown), dtype=bool)
        lower, upper = shown.corners.min(axis=(0, 1)), shown.corners.max(axis=(0, 1))
    else:
        shown, seen = _outside(regions, faces, _corner(cut, lower, upper))
    add_faces(ax, shown, lit(shown, fills.paint[shown.region], _LIGHT, _IN_SHADE))
    aspect = _proportions(upper - lower).tolist()
    frame_space(ax, lower, upper, axis_names(regions), sides=aspect, elevation=_ELEVATION)
    if legend:
        fills.explain(ax, shown.region[seen])
    return ax


def _corner(cut: bool | Sequence[float], lower: Floats, upper: Floats) -> Floats | None:
    """Where the corner that is cut away begins, if one is."""
    if isinstance(cut, bool):
        return 0.5 * (lower + upper) if cut else None
    accepted = "cut must be True, False or a point of three numbers"
    corner = numbers(cut, accepted)
    if corner.shape != (3,) or not np.isfinite(corner).all():
        raise AffineLensError(f"{accepted}, but got {cut!r:.60}")
    return corner


def _outside(regions: Regions, faces: Polygons, corner: Floats | None) -> tuple[Polygons, Bools]:
    """Faces on the domain's border and, inside the corner that is cut away, its walls; and which the viewer sees."""
    border = faces[border_faces(regions)]
    if corner is None:
        return border, _towards_viewer(regions, border)
    parts = []
    for axis, side in enumerate(_CUT_SIDES):  # the border without the corner, as three convex parts
        part = border
        for before in range(axis):
            part = part.beyond(before, corner[before], _CUT_SIDES[before])
        parts.append(part.beyond(axis, corner[axis], -side))
    for axis in range(3):
        wall = section(faces, axis, float(corner[axis]), _CUT_SIDES[axis])
        for other in range(3):
            if other != axis:
                wall = wall.beyond(other, corner[other], _CUT_SIDES[other])
        parts.append(wall)
    shown = Polygons.joined(parts)
    is_wall = np.arange(len(shown)) >= len(shown) - sum(map(len, parts[3:]))
    return shown, is_wall | _towards_viewer(regions, shown)


def _towards_viewer(regions: Regions, border: Polygons) -> Bools:
    """Whether faces on the border, which turn their back to their region, turn to the viewer."""
    away = border.corners[:, 0] - regions.local.points[border.region]
    outwards = border.normals * np.sign((border.normals * away).sum(axis=1))[:, None]
    azimuth, elevation = np.radians([AZIMUTH, _ELEVATION])
    viewer = [np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)]
    sides = regions.domain.frame.upper - regions.domain.frame.lower
    return np.asarray(outwards @ (viewer * sides / _proportions(sides)) > 0)


def _proportions(sides: Floats) -> Floats:
    """How long the sides are in the picture."""
    return sides / sides.max() if sides.max() <= _LONGEST_SIDE * sides.min() else np.ones(3)
