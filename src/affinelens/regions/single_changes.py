"""Facets across which one choice alone changes, as far as float64 can prove it.

Let p be the pattern of the region on this side of a facet, and q the same with the one choice changed that the facet is
named after. Stage by stage, q is the pattern beyond the facet if no other function of the stage, as it is under q,
vanishes on the facet: then its sign is the same on both sides. One that is zero on both sides does not matter either,
and of a group only the leads of the winner on this side do.

A function that vanishes on the facet is a multiple of the facet's own, which :mod:`affinelens.regions.spread` refutes.
"""

from __future__ import annotations

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.array_types import Bools, Floats, Indices, Patterns
from affinelens.network.activation import Decisive
from affinelens.regions.region_functions import RegionFunctions, RegionPieces, StageFunctions
from affinelens.regions.spread import Spread
from affinelens.restrict import RestrictedFunctions, RestrictedStage, SwitchingChoices, ZeroFunctions


class SingleChanges:
    """Facets by their breaks, as the network numbers them, with the patterns p and q of each."""

    def __init__(
        self,
        functions: RestrictedFunctions,
        switching: SwitchingChoices | None,
        before: Patterns,
        beyond: Patterns,
        numbers: Indices,
    ) -> None:
        self._functions = functions
        self._region_functions = RegionFunctions(functions, beyond, switching)
        self._before = RegionPieces(functions.restricted, before, switching)
        self._numbers = numbers

    def proved(self) -> Bools:
        """For which facets q is proved to be the pattern beyond."""
        if not len(self._numbers):
            return np.zeros(0, dtype=bool)
        parts = (self._proved(np.arange(rows.start, rows.stop)) for rows in self._region_functions.blocks())
        return np.concatenate(list(parts))

    def _proved(self, facets: Indices) -> Bools:
        restricted = self._functions.restricted
        pairs = [stage.activation.decisive(self._before.of(i, facets)) for i, stage in enumerate(restricted.stages)]
        composed = self._region_functions.functions(facets)
        functions = [self._spread(pair, stage) for pair, stage in zip(pairs, composed, strict=False)]
        own = [pair.are(*self._own(stage, facets)) for pair, stage in zip(pairs, restricted.stages, strict=True)]
        facet, is_one = _chosen(functions, own)
        before, beyond = (ZeroFunctions(restricted, self._functions.rows, columns=True) for _ in range(2))
        for index, (pair, found, is_own) in enumerate(zip(pairs, functions, own, strict=True)):
            zero = pair.vanish(before.units()) & pair.vanish(beyond.units())
            before.choose(self._before.of(index, facets))
            beyond.choose(self._region_functions.pieces.of(index, facets))
            is_one &= np.all(is_own | zero | (pair.plus == pair.minus) | found.differ_from(facet), axis=0)
        return is_one

    def _own(self, stage: RestrictedStage, facets: Indices) -> tuple[Indices, Indices, Floats]:
        """The two units and the threshold of each facet's break; where it is another stage's, the units are -2."""
        breaks, numbers = stage.activation.breaks, self._numbers[facets]
        place = np.minimum(np.searchsorted(stage.break_numbers, numbers), len(stage.break_numbers) - 1)
        here = stage.break_numbers[place] == numbers
        return np.where(here, breaks.plus[place], -2), np.where(here, breaks.minus[place], -2), breaks.threshold[place]

    def _spread(self, pair: Decisive, composed: StageFunctions) -> Spread:
        """The functions of a stage's pairs over the domain's box."""
        rows, error = composed.differences(pair.plus, pair.minus, pair.threshold[:, None])
        return Spread.over(self._functions.restricted.frame, rows, error, np.abs(rows) @ composed.reach)


def _chosen(functions: list[Spread], chosen: list[Bools]) -> tuple[Spread, Bools]:
    """The function chosen for each facet, its largest value scaled to 1, and whether there is just one."""
    count = np.sum([which.sum(axis=0) for which in chosen], axis=0)
    values, off = np.zeros((len(count), functions[0].values.shape[-1])), np.zeros(len(count))
    for function, which in zip(functions, chosen, strict=True):
        row, facet = np.nonzero(which)
        values[facet], off[facet] = function.values[row, facet], function.off[row, facet]
    largest = np.abs(values).max(axis=1)
    usable = (count == 1) & (largest > 0) & np.isfinite(largest)
    scale = np.where(usable, largest, 1.0)
    return Spread(values / scale[:, None], upward(off / scale + 4 * UNIT_ROUNDOFF)), usable
