"""The largest ball in every region, and how true to the region its float64 vertices are.

All is in the domain's own coordinates: on a slice, distances are those of the slice's coordinates.
"""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Floats
from affinelens.blocks import joined
from affinelens.convex.inscribed_ball import Balls
from affinelens.convex.inscribed_ball import inscribed_balls as balls_in
from affinelens.convex.vertex_distance import vertex_distances
from affinelens.domain import Frame
from affinelens.measure.geometry.halfspaces import halfspace_blocks
from affinelens.regions import Regions, all_vertices, kept


@kept
def inscribed_balls(regions: Regions) -> Balls:
    """Chebyshev center and inradius of every region, with the proven error of the latter."""
    frame, points = regions.domain.frame, regions.outcome.points
    return joined(
        Balls,
        (balls_in(own.rows, own.error, own.ends, points[rows], frame.lower, frame.upper)
         for rows, own in halfspace_blocks(regions)),
    )  # fmt: skip


@kept
def vertex_stretch(regions: Regions) -> Floats:
    """For every region P, a number s that bounds what rounding did to its vertices.

    Their hull Q lies between ``c + (1 - s) (P - c)`` and ``c + (1 + s) (P - c)``, where c is P's Chebyshev center. For
    let e be the largest distance of a vertex of Q from a facet of P that it belongs to, or beyond one. Then all of Q is
    in P moved outwards by e. Sliding the vertices of P to those of Q moves no facet by more than e, so no point of P
    that is deeper inside is passed, and all of these are in Q. Finally every facet is at least the inradius away
    from c, so moving it by e is a stretch of at most e over the inradius.
    """
    vertices, stretch = all_vertices(regions), np.empty(len(regions))
    radius = inscribed_balls(regions).radii - inscribed_balls(regions).errors
    for rows, halfspaces in halfspace_blocks(regions):
        own = vertices[rows]
        away = vertex_distances(
            halfspaces.rows, halfspaces.error, halfspaces.ends, own.points, own.offsets[1:], own.tight,
            steepest_slope(regions.domain.frame),
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            stretch[rows] = np.where(radius[rows] > 0, away / np.maximum(radius[rows], 0.0), np.inf)
    return stretch


def steepest_slope(frame: Frame) -> float:
    """The largest slope of an affine function that is between -1 and 1 on the domain's bounding box."""
    half: Floats = (frame.upper - frame.lower) / 2
    return float(np.sqrt((half**-2.0).sum()))
