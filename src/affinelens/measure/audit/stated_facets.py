"""Do the stated facets fit the patterns, and is there a region beyond each that names it too?"""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Bools, Indices
from affinelens.regions import Regions, neighbor_values, restricted_functions


def facet_regions(regions: Regions) -> Indices:
    """The region that each facet belongs to."""
    return np.repeat(np.arange(len(regions)), np.diff(regions.facet_offsets))


def first_misfit(regions: Regions) -> str | None:
    """What is wrong with the first facet that cannot be one, or None if all can be."""
    owner, numbers = facet_regions(regions), regions.facet_values
    count = len(regions.hyperplanes)
    repeated = _first_repeated(owner * count + numbers)
    if repeated is not None:
        region, number = divmod(repeated, count)
        return f"region {region} names {regions.describe_hyperplane(number)} twice"
    fits = _on_stated_side(regions, owner)
    if fits.all():
        return None
    wrong = int(np.argmin(fits))
    named = regions.describe_hyperplane(int(numbers[wrong]))
    return f"region {owner[wrong]} cannot have a facet on {named}, on the stated side"


def beyond_and_mutual(regions: Regions) -> str | None:
    """What is wrong with the first facet beyond which there is no region that names the same border, or None."""
    owner, numbers, beyond = facet_regions(regions), regions.facet_values, neighbor_values(regions)
    inner = ~regions.hyperplanes.of_domain(numbers)
    missing = np.flatnonzero(inner & (beyond < 0))
    if len(missing):
        facet = int(missing[0])
        where = f"beyond region {owner[facet]}'s facet on {regions.describe_hyperplane(int(numbers[facet]))}"
        return f"{len(missing):,} facets lead out of the run, the first {where}"
    count = len(regions)
    there, back = owner[inner] * count + beyond[inner], beyond[inner] * count + owner[inner]
    repeated = _first_repeated(there)
    if repeated is not None:
        return f"regions {repeated // count} and {repeated % count} share more than one facet"
    one_way = np.setdiff1d(there, back, assume_unique=True)
    if not len(one_way):
        return None
    alone = int(one_way[0])
    return f"region {alone // count} names a facet towards region {alone % count}, which does not name it"


def _first_repeated(values: Indices) -> int | None:
    """The smallest value that occurs twice."""
    ordered = np.sort(values)
    same = np.diff(ordered) == 0
    return int(ordered[np.argmax(same)]) if same.any() else None


def _on_stated_side(regions: Regions, owner: Indices) -> Bools:
    """Which facets lie on a border of the domain or of the stated piece, with the sign that it has there."""
    network, restricted = regions.network, restricted_functions(regions).restricted
    fits: Bools = regions.hyperplanes.of_domain(regions.facet_values) & (regions.facet_signs == 1)
    for stage, here, inner in regions.hyperplanes.by_stage(regions.facet_values):
        activation = network.stages[stage].activation
        wanted = network.choice_offsets[stage] + activation.breaks.choice[inner]
        column = np.minimum(np.searchsorted(regions.switching, wanted), len(regions.switching) - 1)
        known = (regions.switching[column] == wanted) & np.isin(inner, restricted.all_stages[stage].breaks)
        piece = regions.switching_patterns[owner[here], column]
        side = np.where(regions.facet_signs[here] > 0, activation.sides.above[inner], activation.sides.below[inner])
        fits[here] = known & (piece == side)
    return fits
