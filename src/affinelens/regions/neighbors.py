"""Which region lies beyond each facet.

The functions of all units are continuous, so across a facet only those units change piece whose hyperplane contains the
facet. Usually that is the one the facet is named after, and the neighbor is looked up under the pattern with that one
choice changed. In an incomplete set it may be missing. But where several hyperplanes coincide, or a unit is zero on all
of one side, no region has that pattern: unless :mod:`affinelens.regions.single_changes` proves that this is not so, the
pattern beyond is found by :mod:`affinelens.regions.beyond_facet`.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from affinelens.array_types import Bools, Indices
from affinelens.regions.beyond_facet import PatternsBeyond
from affinelens.regions.keeping import kept
from affinelens.regions.pattern_index import pattern_index
from affinelens.regions.region_functions import restricted_functions
from affinelens.regions.single_changes import SingleChanges
from affinelens.walk import Facets

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions


@kept
def neighbors(regions: Regions) -> Neighbors:
    """What lies beyond the facets of a set's regions."""
    return Neighbors(regions, regions.facets)


@kept
def neighbor_values(regions: Regions) -> Indices:
    """The region beyond each facet, in the order of ``facet_values``, or -1."""
    return neighbors(regions).beyond(np.arange(len(regions.facet_values)))


class Neighbors:
    """The regions of a set, to be looked up by what lies beyond their facets, given as some walk found these."""

    def __init__(self, regions: Regions, facets: Facets) -> None:
        self._regions = regions
        self._network = regions.network
        self._hyperplanes = regions.hyperplanes
        self._patterns = np.asarray(regions.switching_patterns)
        self._facets = facets
        self._switching = regions.outcome.switching
        self._choices = regions.switching
        self._index = pattern_index(regions)

    @cached_property
    def _beyond(self) -> PatternsBeyond:
        return PatternsBeyond(restricted_functions(self._regions))

    def beyond(self, facets: Indices) -> Indices:
        """For each facet, by its place among all, the index of the region beyond it, or -1."""
        result = np.full(len(facets), -1, dtype=np.int64)
        inner = np.flatnonzero(~self._hyperplanes.of_domain(self._facets.numbers[facets]))
        numbers = self._hyperplanes.breaks(self._facets.numbers[facets[inner]])
        signs = self._facets.signs[facets[inner]]
        regions = np.searchsorted(self._facets.offsets, facets[inner], side="right") - 1
        column, piece = self._change_across(self._facets.numbers[facets[inner]], regions)
        result[inner] = self._index.with_one_changed(regions, column, piece)
        missing = np.flatnonzero(result[inner] < 0)
        missing = missing[~self._change_alone(regions[missing], column[missing], piece[missing], numbers[missing])]
        of_region: dict[int, list[int]] = {}
        for i in missing.tolist():
            of_region.setdefault(int(regions[i]), []).append(i)
        for i in missing.tolist():
            if result[inner[i]] >= 0:
                continue
            region = int(regions[i])
            found = self._looked_up_exactly(region, int(numbers[i]), int(signs[i]))
            result[inner[i]] = found
            # across the same facet: a choice that changes as it would there has its hyperplane through it
            for back in of_region.get(found, ()):
                if self._patterns[region, column[back]] == piece[back]:
                    result[inner[back]] = region
        return result

    def _change_alone(self, regions: Indices, columns: Indices, pieces: Indices, numbers: Indices) -> Bools:
        """For which facets it is proved that only the choice that they are named after changes."""
        proved = np.zeros(len(regions), dtype=bool)
        exist = np.flatnonzero((pieces >= 0) & (pieces < self._network.choice_pieces[self._choices[columns]]))
        if len(exist):
            before = self._patterns[regions[exist]]
            beyond = before.copy()
            beyond[np.arange(len(exist)), columns[exist]] = pieces[exist]
            changes = SingleChanges(
                restricted_functions(self._regions),
                self._switching,
                before,
                beyond,
                numbers[exist],
            )
            proved[exist] = changes.proved()
        return proved

    def _looked_up_exactly(self, region: int, number: int, sign: int) -> int:
        beyond = self._beyond.pattern(self._regions.pattern(region), number, sign)[self._choices]
        return int(self._index.places(beyond[None])[0])

    def _change_across(self, numbers: Indices, regions: Indices) -> tuple[Indices, Indices]:
        """The column of a region's pattern that changes where a break on its border is crossed, and the new piece."""
        column, piece = np.empty(len(numbers), dtype=np.int64), np.empty(len(numbers), dtype=np.int64)
        for stage, here, inner in self._hyperplanes.by_stage(numbers):
            activation = self._network.stages[stage].activation
            choice = self._network.choice_offsets[stage] + activation.breaks.choice[inner]
            column[here] = np.searchsorted(self._choices, choice)
            below, above = activation.sides.below[inner], activation.sides.above[inner]
            piece[here] = np.where(self._patterns[regions[here], column[here]] == above, below, above)
        return column, piece
