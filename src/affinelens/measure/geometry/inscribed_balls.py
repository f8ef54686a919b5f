"""The largest ball in every region, and how true to the region its float64 vertices are.

All is in the domain's own coordinates: on a slice, distances are those of the slice's coordinates.
"""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Floats
from affinelens.blocks import joined
from affinelens.convex.inscribed_ball import Balls, steepest_slope
from affinelens.convex.inscribed_ball import inscribed_balls as balls_in
from affinelens.convex.vertex_distance import vertex_distances
from affinelens.domain import Frame
from affinelens.measure.geometry.halfspaces import halfspace_blocks
from affinelens.regions import Regions, all_vertices, kept


@kept
def inscribed_balls(regions: Regions) -> Balls:
    """Chebyshev center and inradius of every region, with the proven error of the latter."""
    frame = regions.domain.frame
    lower, upper = _in_units(frame.lower, frame), _in_units(frame.upper, frame)
    points = _in_units(regions.outcome.points, frame)
    blocks = ((rows, own.in_units(frame.unit)) for rows, own in halfspace_blocks(regions))
    found = joined(Balls, (balls_in(own.rows, own.error, own.ends, points[rows], lower, upper) for rows, own in blocks))
    errors = np.where(np.isnan(found.errors), np.inf, found.errors)  # nothing is known of what overflowed
    return Balls(*(np.ldexp(column, frame.unit) for column in found._replace(errors=errors)))


@kept
def vertex_stretch(regions: Regions) -> Floats:
    """For every region P, a number s that bounds what rounding did to its vertices.

    Their hull Q lies between ``c + (1 - s) (P - c)`` and ``c + (1 + s) (P - c)``, where c is P's Chebyshev center. For
    let e be the largest distance of a vertex of Q from a facet of P that it belongs to, or beyond one. Then all of Q is
    in P moved outwards by e. Sliding the vertices of P to those of Q moves no facet by more than e, so no point of P
    that is deeper inside is passed, and all of these are in Q. Finally every facet is at least the inradius away
    from c, so moving it by e is a stretch of at most e over the inradius.
    """
    vertices, frame, stretch = all_vertices(regions), regions.domain.frame, np.empty(len(regions))
    balls = inscribed_balls(regions)
    radius = _in_units(balls.radii - balls.errors, frame)
    steepest = steepest_slope(_in_units(frame.lower, frame), _in_units(frame.upper, frame))
    for rows, halfspaces in halfspace_blocks(regions):
        own, bounds = vertices[rows], halfspaces.in_units(frame.unit)
        points = _in_units(own.points, frame)
        away = vertex_distances(bounds.rows, bounds.error, bounds.ends, points, own.offsets[1:], own.tight, steepest)
        with np.errstate(divide="ignore"):
            stretch[rows] = np.where(radius[rows] > 0, away / np.maximum(radius[rows], 0.0), np.inf)
    return stretch


def _in_units(lengths: Floats, frame: Frame) -> Floats:
    """Lengths in units of two to the power of :attr:`Frame.unit`."""
    return np.ldexp(lengths, -frame.unit) if frame.unit else lengths
