"""Which region lies beyond each facet.

The functions of all units are continuous, so across a facet only those units change piece whose hyperplane contains the
facet. Usually that is the one the facet is named after, and the neighbour is looked up under the pattern with that one
choice changed. In an incomplete set it may be missing. But where several hyperplanes coincide, or a unit is zero on all
of one side, no region has that pattern: unless :mod:`affinelens.regions.single_changes` proves that this is not so, the
pattern beyond is found by :mod:`affinelens.regions.beyond`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.domain import Frame
from affinelens.engine import Columns, Facets, Switching
from affinelens.network import MaxGroups, Network
from affinelens.regions.beyond import Beyond
from affinelens.regions.pattern_table import PatternTable
from affinelens.regions.single_changes import SingleChanges
from affinelens.restrict import SwitchingPart

Bools = NDArray[np.bool_]
Indices = NDArray[np.int64]
Patterns = NDArray[np.unsignedinteger[Any]]


class Neighbors:
    """The regions of a set, to be looked up by what lies beyond their facets."""

    def __init__(
        self,
        network: Network,
        frame: Frame,
        columns: Columns,
        facets: Facets,
        switching: Switching | None,
        table: PatternTable,
        part: Callable[[], SwitchingPart],
    ) -> None:
        """The part of the network that can switch is only made if it is needed."""
        self._network = network
        self._domain_rows = frame.rows.shape[0]
        self._patterns = columns.patterns
        self._facets = facets
        self._switching = switching
        self._choices = np.arange(columns.patterns.shape[1]) if switching is None else switching.choices
        self._frame = frame
        self._part = part
        self._beyond = cache(lambda: Beyond(part(), frame))
        self._table = table

    def beyond(self, facets: Indices) -> Indices:
        """For each facet, by its place among all, the index of the region beyond it, or -1."""
        result = np.full(len(facets), -1, dtype=np.int64)
        inner = np.flatnonzero(self._facets.numbers[facets] >= self._domain_rows)
        numbers, signs = self._facets.numbers[facets[inner]] - self._domain_rows, self._facets.signs[facets[inner]]
        regions = np.searchsorted(self._facets.offsets, facets[inner], side="right") - 1
        column, piece = _change_across(self._network, self._patterns, self._choices, regions, numbers, signs)
        result[inner] = self._table.with_one_changed(regions, column, piece)
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
            changes = SingleChanges(self._part(), self._frame, self._switching, before, beyond, numbers[exist])
            proved[exist] = changes.proved()
        return proved

    def _looked_up_exactly(self, region: int, number: int, sign: int) -> int:
        own = self._patterns[region]
        whole = own if self._switching is None else self._switching.whole(own)
        beyond = self._beyond().pattern(whole, number, sign)[self._choices]
        return int(self._table.places(beyond[None])[0])


def _change_across(
    network: Network,
    patterns: Patterns,
    choices: Indices,
    region: Indices,
    number: Indices,
    sign: NDArray[np.int8],
) -> tuple[Indices, Indices]:
    """The column of the pattern that changes when a facet is crossed, and the piece beyond."""
    column, piece = np.empty(len(number), dtype=np.int64), np.empty(len(number), dtype=np.int64)
    for stage, (first, last) in enumerate(zip(network.break_offsets[:-1], network.break_offsets[1:], strict=True)):
        here = np.flatnonzero((number >= first) & (number < last))
        activation = network.stages[stage].activation
        breaks = activation.breaks
        local = number[here] - first
        column[here] = np.searchsorted(choices, network.choice_offsets[stage] + breaks.choice[local])
        before = patterns[region[here], column[here]].astype(np.int64)
        if isinstance(activation, MaxGroups):
            start = activation.starts[breaks.choice[local]]
            plus, minus = breaks.plus[local] - start, breaks.minus[local] - start
            piece[here] = np.where(before == plus, minus, plus)
        else:
            piece[here] = before - sign[here]
    return column, piece
