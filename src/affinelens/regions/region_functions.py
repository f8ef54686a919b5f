"""The functions behind a set's regions: those of its switching units on many regions at once, and single exact ones.

On a region every switching unit is on one piece, so the next stage's functions, and at last the outputs, follow from
the switching units' rows by one matrix product a stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, upward
from affinelens.array_types import Bools, Floats, Indices, Patterns
from affinelens.blocks import blocks
from affinelens.network import Activation
from affinelens.network.adjoint import Adjoint
from affinelens.regions.keeping import kept
from affinelens.restrict import RestrictedFunctions, RestrictedNetwork, RestrictedRows, SwitchingChoices, restrict

if TYPE_CHECKING:
    from affinelens.regions.regions import Regions

# Regions are composed together as long as no stage of theirs takes more numbers than this.
_NUMBERS_AT_ONCE = 1 << 20


@kept
def restricted_functions(regions: Regions) -> RestrictedFunctions:
    """The functions of the units that can switch on the domain."""
    return RestrictedFunctions(regions.outcome.restricted or restrict(regions.network, regions.domain.frame))


@kept
def exact_functions(regions: Regions) -> Adjoint:
    """The network's functions of the domain's coordinates, one at a time."""
    return Adjoint(regions.network, regions.domain.frame.chart)


def exact_halfspaces(regions: Regions, index: int) -> ExactMatrix:
    """One region's minimal description in rationals: rows ``[W | b]`` of ``W t + b >= 0``, a row a facet."""
    region = regions[index]
    return regions.hyperplanes.exact_rows(
        region.facet_numbers, region.facet_signs, region.pattern, exact_functions(regions)
    )


class RegionPieces:
    """Which piece each switching choice of each region is on, as the restricted stages number pieces."""

    def __init__(self, restricted: RestrictedNetwork, patterns: Patterns, switching: SwitchingChoices | None) -> None:
        self._restricted = restricted
        self._patterns = patterns
        self._switching = SwitchingChoices.of_all(patterns.shape[1]) if switching is None else switching

    @classmethod
    def of_set(cls, regions: Regions) -> RegionPieces:
        """Those of all regions of a set."""
        return cls(restricted_functions(regions).restricted, regions.switching_patterns, regions.outcome.switching)

    def of(self, index: int, regions: Indices) -> Indices:
        """Those of a switching stage, a row a choice and a column a region."""
        return self._restricted.stages[index].from_network(self.in_network(index, regions))

    def in_network(self, index: int, regions: Indices) -> Indices:
        """The same as the network numbers pieces."""
        choices = self._restricted.stages[index].choice_numbers
        columns, stored = self._switching.columns(choices)
        pieces = np.repeat(self._switching.pattern[choices].astype(np.int64)[:, None], len(regions), axis=1)
        pieces[stored] = self._patterns[regions[:, None], columns[stored]].T
        return pieces

    def change(self, index: int, regions: Indices) -> Bools:
        """Whether a region is on other pieces of a switching stage than the one listed before it."""
        columns, stored = self._switching.columns(self._restricted.stages[index].choice_numbers)
        changed = np.zeros(len(regions), dtype=np.bool_)
        if stored.any():
            own = self._patterns[regions, columns[stored][0] : columns[stored][-1] + 1]
            changed[1:] = (own[1:] != own[:-1]).any(axis=1)
        return changed


@dataclass(frozen=True, eq=False)
class StageFunctions:
    """A stage's functions on some regions: region i has ``table[:, place[i]]``, in units x places x (t, 1).

    Where coordinates are at most ``reach``, a unit's functions are off by at most its ``error``.
    """

    table: Floats
    place: Indices
    error: Floats
    reach: Floats

    @np.errstate(over="ignore", invalid="ignore")
    def differences(
        self, plus: Indices, minus: Indices, threshold: Floats, regions: Indices | slice = slice(None)
    ) -> tuple[Floats, Floats]:
        """Functions ``z[plus] - z[minus] - threshold`` and their errors; the last axis is that of the regions.

        A ``minus`` of -1 subtracts nothing.
        """
        place = np.broadcast_to(self.place[regions], plus.shape)
        rows, error, paired = self.table[plus, place], self.error[plus], minus >= 0
        if paired.any():
            rows[paired] -= self.table[minus[paired], place[paired]]
            error[paired] += self.error[minus[paired]]
        rows[..., -1] -= threshold
        return rows, upward(error + UNIT_ROUNDOFF * (np.abs(rows) @ self.reach))


class RegionFunctions:
    """Switching units' functions, stage by stage, for some regions at a time.

    A stage's functions depend on the pieces of the stages before it only. Walks find regions that agree in these one
    after another, and for such a run of regions the stage is composed once.
    """

    def __init__(self, functions: RestrictedFunctions, patterns: Patterns, switching: SwitchingChoices | None) -> None:
        self._functions = functions
        self._count = len(patterns)
        self.pieces = RegionPieces(functions.restricted, patterns, switching)
        self._dim = len(functions.reach) - 1

    @classmethod
    def of(cls, regions: Regions) -> RegionFunctions:
        """Those of a set's regions."""
        return cls(restricted_functions(regions), regions.switching_patterns, regions.outcome.switching)

    @property
    def restricted(self) -> RestrictedNetwork:
        return self._functions.restricted

    def blocks(self) -> Iterator[slice]:
        """Runs of regions that take little enough memory to be composed together."""
        widest = max([len(self._functions.outputs.fixed), *(len(rows.fixed) for rows in self._functions.rows)])
        return blocks(self._count, widest * (self._dim + 1), _NUMBERS_AT_ONCE)

    def functions(self, regions: Indices) -> Iterator[StageFunctions]:
        """The pre-activations of every switching stage and, last, the outputs, on the given regions."""
        starts: Bools = np.arange(len(regions)) == 0
        places = [np.cumsum(starts) - 1]
        values: list[Floats] = []
        for index, rows in enumerate(self._functions.rows):
            table = self._summed(rows, values, places, np.flatnonzero(starts))
            yield StageFunctions(table, places[-1], self.errors[index], self._functions.reach)
            starts = starts | self.pieces.change(index, regions)
            firsts = np.flatnonzero(starts)
            chosen = self.pieces.of(index, regions[firsts])
            values.append(_on_pieces(self.restricted.stages[index].activation, table, chosen, places[-1][firsts]))
            places.append(np.cumsum(starts) - 1)
        table = self._summed(self._functions.outputs, values, places, np.flatnonzero(starts))
        yield StageFunctions(table, places[-1], self.errors[-1], self._functions.reach)

    @np.errstate(over="ignore", invalid="ignore")
    def _summed(self, rows: RestrictedRows, values: list[Floats], places: list[Indices], firsts: Indices) -> Floats:
        """A stage's functions on the first region of each run; those of earlier stages have longer runs."""
        units, width = rows.fixed.shape
        total = np.repeat(rows.fixed[:, None, :], len(firsts), axis=1)
        for source, weight in rows.maps.items():
            known = values[source]
            if known.shape[1] != len(firsts):
                known = np.take(known, places[source + 1][firsts], axis=1)
            total += (weight @ known.reshape(weight.shape[1], -1)).reshape(units, len(firsts), width)
        return total

    @cached_property
    def errors(self) -> list[Floats]:
        """How far the functions may be off anywhere in the domain: every rounding, carried on by absolute values."""
        sizes: list[Floats] = []
        errors: list[Floats] = []
        found: list[Floats] = []
        for index, rows in enumerate(self._functions.rows):
            size, error = self._grown(rows, sizes, errors)
            found.append(error)
            activation = self.restricted.stages[index].activation
            steepest, offset = (np.abs(table).max(axis=1) for table in (activation.slopes, activation.offsets))
            size, error = (np.maximum.reduceat(of_units, activation.starts[:-1]) for of_units in (size, error))
            sizes.append(upward(steepest * size + offset))
            errors.append(upward(steepest * error + 4 * UNIT_ROUNDOFF * (steepest * size + offset)))
        return [*found, self._grown(self._functions.outputs, sizes, errors)[1]]

    @np.errstate(over="ignore", invalid="ignore")
    def _grown(self, rows: RestrictedRows, sizes: list[Floats], errors: list[Floats]) -> tuple[Floats, Floats]:
        """How large functions of a stage and their errors can be, given those before it."""
        size, error, terms = np.abs(rows.fixed) @ self._functions.reach, rows.error, 2
        for source, weight in rows.maps.items():
            size = size + np.abs(weight) @ sizes[source]
            error = error + np.abs(weight) @ errors[source]
            terms += weight.shape[1] + 1
        return upward(size), upward(error + 2 * (terms + self._dim) * UNIT_ROUNDOFF * size)


@np.errstate(over="ignore", invalid="ignore")
def _on_pieces(activation: Activation, z: Floats, chosen: Indices, place: Indices) -> Floats:
    """A stage's outputs where choice c of run i is on piece ``chosen[c, i]`` and its units have ``z[:, place[i]]``."""
    lines = activation.lines(chosen)
    result: Floats = np.take(z, place, axis=1) if lines.unit is None else z[lines.unit, place]
    result *= lines.slopes[:, :, None]
    if lines.offsets.any():
        result[:, :, -1] += lines.offsets
    return result
