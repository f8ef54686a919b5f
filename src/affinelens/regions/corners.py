"""The vertices of regions that were found without them: they are walked again.

A complete set's regions come again in the same order. Those of an incomplete one, or one that another engine found, are
looked up by their patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from affinelens.engine import Limits, Selection, Vertices, choose, vertex
from affinelens.errors import AffineLensError
from affinelens.regions.pattern_table import PatternTable

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
    is_complete = regions.outcome.certificate.complete
    selection = None if is_complete else Selection(regions.outcome, len(network.stages))
    again = vertex.run(network, frame, Limits(), kept=chosen.kept, facets=False, vertices=True, selection=selection)
    found = again.table.vertices
    assert found is not None
    patterns = again.pieces(regions.switching)
    if np.array_equal(patterns, regions.switching_patterns):
        return found
    places = PatternTable(patterns, regions.most_pieces).places(regions.switching_patterns)
    if (places < 0).any():
        raise AffineLensError(
            f"{np.count_nonzero(places < 0)} of the set's patterns are no regions of the network; enumerate again"
        )
    return found.taken(places)
