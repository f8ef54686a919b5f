"""The vertices of regions: as they were kept, found again for all by one walk, or for one region from its facets.

A complete set's regions come again in the same order. Those of an incomplete one, or one that another engine found, are
looked up by their patterns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from affinelens.engine import asked_again, polytope_vertices, run
from affinelens.errors import AffineLensError
from affinelens.regions.keeping import kept, known
from affinelens.regions.pattern_index import PatternIndex, most_pieces
from affinelens.regions.region_functions import exact_halfspaces
from affinelens.walk import Facets, Request, Selection, Vertices

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


def all_vertices(regions: Regions) -> Vertices:
    """The vertices of all regions, in the domain's own coordinates; walks once if they were not kept."""
    stored = _stored_vertices(regions)
    return _found_again(regions)[1] if stored is None else stored


def known_vertices(regions: Regions) -> Vertices:
    """The vertices of all regions, in the domain's own coordinates, if they were kept or found again before."""
    found = _vertices_so_far(regions)
    if found is None:
        raise AffineLensError(
            "this set was made without vertices; call vertices(), which walks once more and keeps them, or enumerate "
            "with vertices=True"
        )
    return found


def _stored_vertices(regions: Regions) -> Vertices | None:
    return regions.outcome.table.vertices if regions.outcome.has_vertices else None


def _vertices_so_far(regions: Regions) -> Vertices | None:
    stored, again = _stored_vertices(regions), known(_found_again, regions)
    return again[1] if stored is None and again is not None else stored


def facets_with_vertices(regions: Regions) -> tuple[Facets, Vertices]:
    """Facets and vertices of all regions that know of each other; walks once if they were not kept together."""
    outcome = regions.outcome
    if not (outcome.has_facets and outcome.has_vertices):
        return _found_again(regions)
    facets, vertices = outcome.table.facets, outcome.table.vertices
    return (
        (facets, vertices)
        if facets is not None and vertices is not None and facets.bits is not None
        else _found_again(regions)
    )


@kept
def _found_again(regions: Regions) -> tuple[Facets, Vertices]:
    selection = None
    if not regions.outcome.certificate.complete:
        selection = Selection(regions.outcome, len(regions.network.stages))
    request = Request(regions.network, regions.domain.frame, vertices=True, selection=selection)
    again = run(asked_again(request, regions.engine))
    facets, found = again.table.facets, again.table.vertices
    assert facets is not None
    assert found is not None
    patterns, own = again.pieces(regions.switching), np.asarray(regions.switching_patterns)
    if not np.array_equal(patterns, own):
        places = PatternIndex(patterns, most_pieces(regions.network)).places(own)
        if (places < 0).any():
            raise AffineLensError(
                f"{np.count_nonzero(places < 0)} of the set's patterns are no regions of the network; enumerate again"
            )
        facets, found = facets.taken(places), found.taken(places)
    return facets, found


def one_regions_vertices(regions: Regions, index: int) -> Vertices:
    """The vertices of one region, in the domain's own coordinates; from its facets where they were not kept."""
    if regions.outcome.source is not None and regions.outcome.has_vertices:
        own = regions.outcome.taken(slice(index, index + 1)).vertices
        assert own is not None
        return own
    found = _vertices_so_far(regions)
    return found[index : index + 1] if found is not None else _from_facets(regions, index)


@kept
def _from_facets(regions: Regions, index: int) -> Vertices:
    frame, rows = regions.domain.frame, exact_halfspaces(regions, index)
    constraints = (-1,) * rows.shape[0]
    return polytope_vertices(replace(frame, rows=rows, constraints=constraints, irredundant=True))
