"""Regions as columns, single regions, what lies beyond their facets, and the directory that a run is saved in."""

from affinelens.regions.keeping import kept
from affinelens.regions.locate import given_points, located, located_coordinates, region_at
from affinelens.regions.neighbors import neighbor_values
from affinelens.regions.pattern_index import pattern_index
from affinelens.regions.region import Region
from affinelens.regions.region_functions import exact_functions, exact_halfspaces, restricted_functions
from affinelens.regions.region_vertices import all_vertices, facets_with_vertices
from affinelens.regions.regions import Regions
from affinelens.regions.subset import parts

__all__ = [
    "Region",
    "Regions",
    "all_vertices",
    "exact_functions",
    "exact_halfspaces",
    "facets_with_vertices",
    "given_points",
    "kept",
    "located",
    "located_coordinates",
    "neighbor_values",
    "parts",
    "pattern_index",
    "region_at",
    "restricted_functions",
]
