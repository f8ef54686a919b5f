"""The faces of regions in space as polygons, plane sections through them, and how they are lit and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from affinelens.array_types import Bools, Floats
from affinelens.measure.geometry.facet_vertices import facet_vertices
from affinelens.plot.canvas import line_width
from affinelens.plot.palette import INK
from affinelens.plot.polygons import Polygons
from affinelens.regions import facets_with_vertices

if TYPE_CHECKING:
    from affinelens.regions import Regions


def region_faces(regions: Regions) -> Polygons:
    """Every facet of every region of a three-dimensional domain, as the region's own polygon."""
    facets, vertices = facets_with_vertices(regions)
    corners = facet_vertices(vertices, facets, np.arange(len(facets.numbers)))
    owner = np.repeat(np.arange(len(regions)), np.diff(facets.offsets))
    return Polygons.around(corners.points, corners.offsets, owner)


def border_faces(regions: Regions) -> Bools:
    """Which of them lie on the border of the domain."""
    facets, _ = facets_with_vertices(regions)
    return facets.numbers < regions.domain.frame.rows.shape[0]


def section(faces: Polygons, axis: int, place: float, beyond: float = 1.0) -> Polygons:
    """Where the plane ``t[axis] = place`` meets the regions that the faces enclose.

    Where it runs along facets, it is the regions before it that are meant; beyond it are larger coordinates, or with -1
    smaller ones.
    """
    crosses, crossings = faces.crossings(beyond * (faces.corners[:, :, axis] - place))
    region, points = np.repeat(faces.region, crosses.sum(axis=1)), crossings[crosses]
    points[:, axis] = place
    order = np.argsort(region, kind="stable")
    region, points = region[order], points[order]
    starts = np.flatnonzero(np.diff(region, prepend=-1))
    walls = Polygons.around(points, np.append(starts, len(region)), region[starts])
    return walls[np.asarray(walls.normals.any(axis=1))]


def lit(faces: Polygons, paint: Floats, light: Floats, in_shade: float) -> Floats:
    """Colors of faces under a light; those along it keep so much of theirs."""
    normals = faces.normals
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    units = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    towards = np.abs(units @ (light / np.linalg.norm(light)))
    result = paint.copy()
    result[:, :3] *= (in_shade + (1 - in_shade) * towards)[:, None]
    return result


def add_faces(ax: Any, faces: Polygons, paint: Floats, width: float = 1.0) -> None:
    """Draw faces with outlines so many times as wide as usual."""
    # Matplotlib leaves out the last side of those that have fewer corners than others, unless they end as they begin.
    rings = [np.concatenate([ring, ring[:1]]) for ring in faces.rings()]
    lines = width * line_width(len(faces))
    ax.add_collection3d(Poly3DCollection(rings, facecolors=paint, edgecolors=INK, linewidths=lines))
