"""Facets across which one choice alone changes, as far as float64 can prove it.

Let p be the pattern of the region on this side of a facet, and q the same with the one choice changed that the facet is
named after. Stage by stage, q is the pattern beyond the facet if no other function of the stage, as it is under q,
vanishes on the facet: then its sign is the same on both sides. One that is zero on both sides does not matter either,
and of a group only the leads of the winner on this side do.

A function that vanishes on the facet is a multiple of the facet's own, and so are its slopes over the domain's box and
its value in the middle: all 2 x 2 determinants of these are zero. A function that is off by at most e all over the box
has them off by at most e.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.domain import Frame
from affinelens.network.activation import Decisive
from affinelens.regions.region_functions import RegionFunctions, StageFunctions
from affinelens.regions.region_pieces import RegionPieces
from affinelens.restrict import RestrictedFunctions, RestrictedStage, SwitchingChoices, ZeroFunctions

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
Patterns = NDArray[np.unsignedinteger[Any]]


class SingleChanges:
    """Facets by their breaks, as the network numbers them, with the patterns p and q of each."""

    def __init__(
        self,
        part: RestrictedFunctions,
        frame: Frame,
        switching: SwitchingChoices | None,
        before: Patterns,
        beyond: Patterns,
        numbers: Indices,
    ) -> None:
        self._part = part
        self._middle = frame.lower + (frame.upper - frame.lower) / 2
        self._radius = np.minimum(frame.upper - self._middle, self._middle - frame.lower)
        self._composition = RegionFunctions(part, beyond, switching)
        self._before = RegionPieces(part.restricted, before, switching)
        self._beyond = RegionPieces(part.restricted, beyond, switching)
        self._numbers = numbers

    def proved(self) -> Bools:
        """For which facets q is proved to be the pattern beyond."""
        found = [self._proved(np.arange(rows.start, rows.stop)) for rows in self._composition.blocks()]
        return np.concatenate([np.zeros(0, dtype=bool), *found])

    def _proved(self, facets: Indices) -> Bools:
        restricted = self._part.restricted
        pairs = [stage.activation.decisive(self._before.of(i, facets)) for i, stage in enumerate(restricted.stages)]
        composed = zip(pairs, self._composition.functions(facets), self._composition.errors, strict=False)
        functions = [self._spread(*stage) for stage in composed]
        own = [pair.are(*self._own(stage, facets)) for pair, stage in zip(pairs, restricted.stages, strict=True)]
        facet, is_one = _Spread.at(functions, own)
        before, beyond = (ZeroFunctions(restricted, self._part.rows, columns=True) for _ in range(2))
        for index, (pair, found, is_own) in enumerate(zip(pairs, functions, own, strict=True)):
            zero = pair.vanish(before.units()) & pair.vanish(beyond.units())
            before.choose(self._before.of(index, facets))
            beyond.choose(self._beyond.of(index, facets))
            is_one &= np.all(is_own | zero | (pair.plus == pair.minus) | found.differ_from(facet), axis=0)
        return is_one

    def _own(self, stage: RestrictedStage, facets: Indices) -> tuple[Indices, Indices, Floats]:
        """The two units and the threshold of each facet's break, as kept; nothing where it is another stage's."""
        breaks = stage.activation.breaks
        inner = self._numbers[facets] - self._part.restricted.network.break_offsets[stage.stage]
        place = np.minimum(np.searchsorted(stage.breaks, inner), len(stage.breaks) - 1)
        here = stage.breaks[place] == inner
        return np.where(here, breaks.plus[place], -2), np.where(here, breaks.minus[place], -2), breaks.threshold[place]

    def _spread(self, pair: Decisive, composed: StageFunctions, error: Floats) -> _Spread:
        """The functions of a stage's pairs over the domain's box."""
        table, reach, paired = composed.table, self._part.reach, pair.minus >= 0
        rows, off = table[pair.plus, composed.place], error[pair.plus]
        size = np.abs(rows) @ reach + np.abs(pair.threshold)[:, None]
        if paired.any():
            size += np.abs(table[pair.minus, composed.place]) @ reach
            rows -= table[pair.minus, composed.place]
            off = off + error[pair.minus]
        rows[..., -1] -= pair.threshold[:, None]
        values = np.concatenate(
            [rows[..., :-1] * self._radius, (rows[..., :-1] @ self._middle + rows[..., -1])[..., None]], axis=-1
        )
        return _Spread(values, upward(off + (gamma(len(reach) + 4) + 16 * UNIT_ROUNDOFF) * size))


class _Spread(NamedTuple):
    """Functions by their slopes over the domain's box and their value in the middle, and how far these may be off."""

    values: Floats
    off: Floats

    @classmethod
    def at(cls, functions: list[_Spread], chosen: list[Bools]) -> tuple[_Spread, Bools]:
        """The function chosen for each facet, its largest value scaled to 1, and whether there is just one."""
        count = np.sum([which.sum(axis=0) for which in chosen], axis=0)
        values, off = np.zeros((len(count), functions[0].values.shape[-1])), np.zeros(len(count))
        for function, which in zip(functions, chosen, strict=True):
            row, facet = np.nonzero(which)
            values[facet], off[facet] = function.values[row, facet], function.off[row, facet]
        largest = np.abs(values).max(axis=1)
        usable = (count == 1) & (largest > 0) & np.isfinite(largest)
        scale = np.where(usable, largest, 1.0)
        return cls(values / scale[:, None], upward(off / scale + 4 * UNIT_ROUNDOFF)), usable

    def differ_from(self, facet: _Spread) -> Bools:
        """Which functions are proved not to be multiples of the facet's; the largest value of that is 1."""
        facets = np.arange(len(facet.off))
        pivot = np.abs(facet.values).argmax(axis=1)
        with np.errstate(invalid="ignore", over="ignore"):
            at_pivot = self.values[:, facets, pivot][..., None]
            determinants = self.values * facet.values[facets, pivot][:, None] - at_pivot * facet.values
            size = np.abs(self.values).max(axis=-1)
            bound = upward(2 * (self.off + (size + self.off) * facet.off))
            differ: Bools = np.any(np.abs(determinants) > bound[..., None], axis=-1)
        return differ
