"""The faces of regions in space as polygons, and plane sections through them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from affinelens.array_types import Bools, Floats, Indices
from affinelens.plot.polygons import Polygons, around, around_order
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
    corners = _around_in_space(vertices.points[kept], offsets)
    return Polygons.whole(corners, offsets, owner[kept[offsets[:-1]]])


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
    halves = faces.clipped(faces.corners[:, :, axis] - place, label=0, keep_touching=True)
    ends, _, polygon = halves.cut_sides()
    region = np.repeat(halves.region[polygon], 2)
    points = ends.reshape(-1, 3)
    order = np.argsort(region, kind="stable")
    region, points = region[order], points[order]
    starts = np.flatnonzero(np.diff(region, prepend=-1))
    offsets = np.append(starts, len(region))
    flat = around(np.delete(points, axis, axis=1), offsets)
    in_plane = Polygons.whole(flat, offsets, region[starts])
    whole = Polygons.whole(np.insert(flat, axis, place, axis=1), offsets, region[starts])
    return whole[in_plane.areas > 0]


def normals(faces: Polygons) -> Floats:
    """A unit vector at right angles to each face, on either side of it."""
    here = faces.corners - faces.corners[:, :1]
    here = np.ldexp(here, -np.frexp(np.abs(here).max(initial=0.0))[1])
    after = np.take_along_axis(here, faces.following[:, :, None], axis=1)
    normal = (np.cross(here, after) * faces.is_corner[:, :, None]).sum(axis=1)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    units: Floats = np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)
    return units


def lit(faces: Polygons, paint: Floats, light: Floats, in_shade: float) -> Floats:
    """Colors of faces under a light; those along it keep so much of theirs."""
    towards = np.abs(normals(faces) @ (light / np.linalg.norm(light)))
    result = paint.copy()
    result[:, :3] *= (in_shade + (1 - in_shade) * towards)[:, None]
    return result


def _around_in_space(points: Floats, offsets: Indices) -> Floats:
    """As :func:`around`, each polygon in its own plane: that of its two widest directions."""
    if len(offsets) < 2:
        return points
    counts = np.diff(offsets)
    owner = np.repeat(np.arange(len(counts)), counts)
    away = points - (np.add.reduceat(points, offsets[:-1], axis=0) / counts[:, None])[owner]
    away = np.ldexp(away, -np.frexp(np.abs(away).max())[1])
    _, axes = np.linalg.eigh(np.add.reduceat(away[:, :, None] * away[:, None, :], offsets[:-1], axis=0))
    plane = np.einsum("nd,ndk->nk", away, axes[owner][:, :, 1:])
    return points[around_order(plane, offsets)]
