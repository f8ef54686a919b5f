"""The sides that regions of a plane share: segments between two regions each, and the hyperplane behind each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from affinelens.array_types import Floats, Indices
from affinelens.measure.geometry.facet_vertices import facet_vertices
from affinelens.regions import Regions, facets_with_vertices, kept
from affinelens.regions.neighbors import Neighbors, neighbor_values


@dataclass(frozen=True, eq=False)
class SharedSides:
    """Side i has the end points ``ends[i]``, lies between ``regions[i]`` and on hyperplane ``hyperplanes[i]``.

    ``stages[i]`` is the stage that the hyperplane belongs to.
    """

    ends: Floats
    regions: Indices
    hyperplanes: Indices
    stages: Indices


@kept
def shared_sides(regions: Regions) -> SharedSides:
    """Every side that two regions of a two-dimensional domain share, once; walks if vertices were not kept."""
    facets, vertices = facets_with_vertices(regions)
    as_stated = np.array_equal(facets.numbers, regions.facet_values)
    every = np.arange(len(facets.numbers))
    beyond = neighbor_values(regions) if as_stated else Neighbors(regions, facets).beyond(every)
    own = np.repeat(np.arange(len(regions)), np.diff(facets.offsets))
    once = np.flatnonzero(beyond > own)
    ends = facet_vertices(vertices, facets, once).points.reshape(-1, 2, 2)
    numbers = facets.numbers[once]
    pairs = np.stack([own[once], beyond[once]], axis=1)
    return SharedSides(ends, pairs, numbers, regions.hyperplanes.stages(numbers))
