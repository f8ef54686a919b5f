"""Regions as columns, single regions, and the directory that a run is saved in."""

from affinelens.regions.region import Region
from affinelens.regions.region_set import RegionSet
from affinelens.regions.run_directory import load

__all__ = ["Region", "RegionSet", "load"]
