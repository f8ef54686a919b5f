"""The vertices of regions that were found without them.

A complete set is walked again, which gives the same regions in the same order. Of an incomplete one, or one that
another engine found, each region is walked as a domain of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from affinelens.domain import Frame
from affinelens.engine import Limits, Vertices, choose, vertex
from affinelens.errors import AffineLensError

if TYPE_CHECKING:
    from affinelens.regions.region_set import RegionSet


def corners(regions: RegionSet) -> Vertices:
    """The vertices of all regions, in the domain's own coordinates."""
    stored = regions.outcome.table.vertices
    if stored is not None:
        return stored
    network, frame = regions.network, regions.domain.frame
    chosen = choose(network, frame, "auto", keep=True)
    if chosen.name != vertex.NAME:
        raise AffineLensError(f"the regions' vertices cannot be found here: {chosen.reason}")
    if regions.outcome.certificate.complete:
        again = vertex.run(network, frame, Limits(workers=1), kept=chosen.kept, facets=False, vertices=True)
        found = again.table.vertices
        assert found is not None
        if np.array_equal(again.patterns, regions.switching_patterns):
            return found
    return Vertices.joined([_own_corners(regions, i) for i in range(len(regions))])


def _own_corners(regions: RegionSet, index: int) -> Vertices:
    """The vertices of one region, walked as a domain in which nothing switches."""
    frame = regions.domain.frame
    rows = regions.exact_halfspaces(index)
    own = Frame(frame.chart, rows, tuple(range(rows.shape[0])), frame.lower, frame.upper)
    nothing = replace(regions.network, stages=())
    found = vertex.run(nothing, own, Limits(), facets=False, vertices=True).table.vertices
    assert found is not None
    return found
