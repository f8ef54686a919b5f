"""How far regions are from the domain's border, in the domain's own coordinates."""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Floats
from affinelens.measure.geometry.volumes import corner_blocks
from affinelens.regions import Regions, kept


@kept
def border_distances(regions: Regions) -> Floats:
    """The distance from every region to the domain's border; exactly 0 for a region with a facet on it.

    The distance of a point inside from the border is that from the nearest constraint's hyperplane, and over a region
    it is least at a vertex.
    """
    rows = regions.domain.frame.rows.to_floats()
    lengths = np.sqrt((rows[:, :-1] ** 2).sum(axis=1))
    normals, offsets = rows[:, :-1] / lengths[:, None], rows[:, -1] / lengths
    parts = []
    for vertices in corner_blocks(regions):
        nearest = np.full(len(vertices.points), np.inf)
        for normal, offset in zip(normals, offsets.tolist(), strict=True):
            np.minimum(nearest, vertices.points @ normal + offset, out=nearest)
        parts.append(np.maximum(np.minimum.reduceat(nearest, vertices.offsets[:-1]), 0.0))
    found, facets = np.concatenate(parts), regions.outcome.table.facets
    if facets is not None:
        on_border = np.flatnonzero(regions.hyperplanes.of_domain(facets.numbers))
        found[np.searchsorted(facets.offsets, on_border, side="right") - 1] = 0.0
    return found
