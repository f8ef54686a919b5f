"""The faces of regions in space as polygons, plane sections through them, and how they are lit and drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from affinelens.array_types import Bools, Floats
from affinelens.plot.canvas import line_width
from affinelens.plot.palette import INK
from affinelens.plot.polygons import Polygons
from affinelens.regions import all_vertices

if TYPE_CHECKING:
    from affinelens.regions import Regions


def region_faces(regions: Regions) -> Polygons:
    """Every facet of every region of a three-dimensional domain, as the region's own polygon."""
    vertices = all_vertices(regions)
    owner = np.repeat(np.arange(len(regions)), np.diff(vertices.offsets))
    words = vertices.tight.shape[1]
    bits = np.unpackbits(vertices.tight.astype("<u8").view(np.uint8), axis=1, bitorder="little")
    vertex, bit = np.nonzero(bits)
    key = owner[vertex] * (64 * words) + bit
    order = np.argsort(key, kind="stable")
    vertex, key = vertex[order], key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    sizes = np.diff(starts, append=len(key))
    # Three vertices or more on a hyperplane make a facet; hyperplanes that coincide there give it only once.
    codes = np.random.default_rng(0).integers(1, 2**62, len(vertices.points), dtype=np.uint64)
    names = np.add.reduceat(codes[vertex], starts) if len(starts) else codes[:0]
    _, first = np.unique(np.stack([owner[vertex[starts]].astype(np.uint64), names]), axis=1, return_index=True)
    chosen = np.zeros(len(starts), dtype=bool)
    chosen[first] = True
    chosen &= sizes >= 3
    kept = vertex[np.repeat(chosen, sizes)]
    offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
    return Polygons.around(vertices.points[kept], offsets, owner[kept[offsets[:-1]]])


def border_faces(regions: Regions, faces: Polygons) -> Bools:
    """Which faces lie on the border of the domain: of a region with a facet there, the face that is nearest to it."""
    found = np.zeros(len(faces), dtype=bool)
    rows = regions.domain.frame.rows.to_floats()
    owner = np.repeat(np.arange(len(regions)), np.diff(regions.facet_offsets))
    for number, row in enumerate(rows):
        touching = np.zeros(len(regions), dtype=bool)
        touching[owner[regions.facet_values == number]] = True
        candidates = np.flatnonzero(touching[faces.region])
        away = np.abs(faces.corners[candidates] @ row[:-1] + row[-1]).max(axis=1)
        order = np.lexsort((away, faces.region[candidates]))
        nearest = order[np.flatnonzero(np.diff(faces.region[candidates][order], prepend=-1))]
        found[candidates[nearest]] = True
    return found


def section(faces: Polygons, axis: int, place: float) -> Polygons:
    """Where the plane ``t[axis] = place`` meets the regions that the faces enclose."""
    crosses, crossings = faces.crossings(faces.corners[:, :, axis] - place)
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
