"""The affine map of every region, as columns.

On a region every switching unit is on one piece, so the outputs follow from the switching units' rows by one matrix
product a stage, for many regions at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.network import Activation, MaxGroups, PiecewiseLinear
from affinelens.regions import RegionSet
from affinelens.restrict import CompactRows, Kept

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
# Regions are composed together as long as no stage of theirs takes more numbers than this.
_NUMBERS_AT_ONCE = 1 << 20
# All maps of a set are kept if they take no more numbers than this.
_NUMBERS_KEPT = 1 << 24


@dataclass(frozen=True, eq=False)
class AffineMaps:
    """On region i the outputs are ``slopes[i] @ t + constants[i]``, t being the domain's own coordinates.

    Everywhere in the domain that is within ``error[k]`` of what region i's map gives in exact arithmetic, for output k.
    """

    slopes: Floats
    constants: Floats
    error: Floats

    def __len__(self) -> int:
        return len(self.slopes)

    def at(self, points: Floats) -> Floats:
        """Outputs at one point of each region, given in the domain's own coordinates."""
        outputs: Floats = np.einsum("nkd,nd->nk", self.slopes, points) + self.constants
        return outputs


def affine_maps(regions: RegionSet) -> AffineMaps:
    """The affine map of every region, in float64."""
    composition = Composition(regions)
    count, outputs, dim = len(regions), regions.network.output_size, regions.domain.dim
    slopes, constants = np.empty((count, outputs, dim)), np.empty((count, outputs))
    for rows in composition.blocks():
        maps = composition.outputs(np.arange(rows.start, rows.stop))
        slopes[rows], constants[rows] = maps.slopes, maps.constants
    return AffineMaps(slopes, constants, composition.errors[-1])


def affine_map_blocks(regions: RegionSet) -> Iterator[tuple[slice, AffineMaps]]:
    """The affine maps of some regions after others; composed anew where all of them would take much memory."""
    composition = Composition(regions)
    kept = len(regions) * regions.network.output_size * (regions.domain.dim + 1) <= _NUMBERS_KEPT
    for rows in composition.blocks():
        if kept:
            slopes, constants = regions.column("slopes")[rows], regions.column("constants")[rows]
            yield rows, AffineMaps(slopes, constants, composition.errors[-1])
        else:
            yield rows, composition.outputs(np.arange(rows.start, rows.stop))


@dataclass(frozen=True, eq=False)
class StageFunctions:
    """A stage's functions on some regions: region i has ``table[:, place[i]]``, in units x places x (t, 1)."""

    table: Floats
    place: Indices


class Composition:
    """Switching units' functions, stage by stage, for some regions at a time.

    A stage's functions depend on the pieces of the stages before it only. Walks find regions that agree in these one
    after another, and for such a run of regions the stage is composed once.
    """

    def __init__(self, regions: RegionSet) -> None:
        self._part = regions.switching_part
        self._count = len(regions)
        self._pieces = StatedPieces(self._part.kept, regions)
        self._dim = regions.domain.dim
        frame = regions.domain.frame
        self._reach = np.append(np.maximum(np.abs(frame.lower), np.abs(frame.upper)), 1.0)

    @property
    def kept(self) -> Kept:
        return self._part.kept

    def blocks(self) -> Iterator[slice]:
        """Runs of regions that take little enough memory to be composed together."""
        widest = max([len(self._part.outputs.fixed), *(len(rows.fixed) for rows in self._part.rows)])
        at_once = max(1, _NUMBERS_AT_ONCE // (widest * (self._dim + 1)))
        for start in range(0, self._count, at_once):
            yield slice(start, min(start + at_once, self._count))

    def outputs(self, regions: Indices) -> AffineMaps:
        """The affine maps of the given regions."""
        *_, last = self.functions(regions)
        found = last.table.transpose(1, 0, 2)[last.place]
        slopes, constants = np.ascontiguousarray(found[:, :, :-1]), np.ascontiguousarray(found[:, :, -1])
        return AffineMaps(slopes, constants, self.errors[-1])

    def functions(self, regions: Indices) -> list[StageFunctions]:
        """The pre-activations of every switching stage and, last, the outputs, on the given regions."""
        starts: Bools = np.arange(len(regions)) == 0
        places = [np.cumsum(starts) - 1]
        values: list[Floats] = []
        found: list[StageFunctions] = []
        for index, rows in enumerate(self._part.rows):
            table = self._summed(rows, values, places, np.flatnonzero(starts))
            found.append(StageFunctions(table, places[-1]))
            starts = starts | self._pieces.change(index, regions)
            firsts = np.flatnonzero(starts)
            chosen = self._pieces.of(index, regions[firsts])
            values.append(_on_pieces(self._part.kept.stages[index].activation, table, chosen, places[-1][firsts]))
            places.append(np.cumsum(starts) - 1)
        table = self._summed(self._part.outputs, values, places, np.flatnonzero(starts))
        return [*found, StageFunctions(table, places[-1])]

    def _summed(self, rows: CompactRows, values: list[Floats], places: list[Indices], firsts: Indices) -> Floats:
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
        for index, rows in enumerate(self._part.rows):
            size, error = self._grown(rows, sizes, errors)
            found.append(error)
            steepest, offset = _largest_pieces(self._part.kept.stages[index].activation)
            activation = self._part.kept.stages[index].activation
            if isinstance(activation, MaxGroups):
                size, error = (np.maximum.reduceat(v, activation.starts[:-1]) for v in (size, error))
            sizes.append(upward(steepest * size + offset))
            errors.append(upward(steepest * error + 4 * UNIT_ROUNDOFF * (steepest * size + offset)))
        return [*found, self._grown(self._part.outputs, sizes, errors)[1]]

    def _grown(self, rows: CompactRows, sizes: list[Floats], errors: list[Floats]) -> tuple[Floats, Floats]:
        """How large functions of a stage and their errors can be, given those before it."""
        size, error, terms = np.abs(rows.fixed) @ self._reach, rows.error, 2
        for source, weight in rows.maps.items():
            size = size + np.abs(weight) @ sizes[source]
            error = error + np.abs(weight) @ errors[source]
            terms += weight.shape[1] + 1
        return upward(size), upward(error + 2 * (terms + self._dim) * UNIT_ROUNDOFF * size)


def _on_pieces(activation: Activation, z: Floats, chosen: Indices, place: Indices) -> Floats:
    """A stage's outputs where choice c of run i is on piece ``chosen[c, i]`` and its units have ``z[:, place[i]]``."""
    if isinstance(activation, MaxGroups):
        won: Floats = z[activation.starts[:-1, None] + chosen, place]
        return won
    assert isinstance(activation, PiecewiseLinear)
    unit = np.arange(activation.size_in)[:, None]
    result: Floats = np.take(z, place, axis=1)
    result *= activation.slopes[unit, chosen][:, :, None]
    if activation.offsets.any():
        result[:, :, -1] += activation.offsets[unit, chosen]
    return result


def _largest_pieces(activation: Activation) -> tuple[Floats | float, Floats | float]:
    if isinstance(activation, MaxGroups):
        return 1.0, 0.0
    assert isinstance(activation, PiecewiseLinear)
    return np.abs(activation.slopes).max(axis=1), np.abs(activation.offsets).max(axis=1)


class StatedPieces:
    """Which piece each switching choice of each region is on, as the kept stages number pieces."""

    def __init__(self, kept: Kept, regions: RegionSet) -> None:
        self._kept = kept
        self._patterns = regions.switching_patterns
        self._stored = regions.switching
        self._switching = regions.outcome.switching

    def of(self, index: int, regions: Indices) -> Indices:
        """Those of a switching stage, a row a choice and a column a region."""
        stage, network = self._kept.stages[index], self._kept.network
        pieces = self.in_network(index, regions)
        place = np.zeros((len(pieces), network.stages[stage.stage].activation.pieces), dtype=np.int64)
        for p in range(stage.pieces.shape[1] - 1, -1, -1):
            place[np.arange(len(place)), stage.pieces[:, p]] = p
        return np.take_along_axis(place, pieces, axis=1)

    def in_network(self, index: int, regions: Indices) -> Indices:
        """The same as the network numbers pieces."""
        numbers, columns = self._columns(index)
        pieces: Indices = self._patterns[regions[:, None], columns].T.astype(np.int64)
        if self._switching is not None:
            missing = self._stored[columns] != numbers
            pieces[missing] = self._switching.pattern[numbers[missing], None]
        return pieces

    def change(self, index: int, regions: Indices) -> Bools:
        """Whether a region is on other pieces of a switching stage than the one listed before it."""
        _, columns = self._columns(index)
        changed = np.zeros(len(regions), dtype=np.bool_)
        if len(columns):
            own = self._patterns[regions, columns[0] : columns[-1] + 1]
            changed[1:] = (own[1:] != own[:-1]).any(axis=1)
        return changed

    def _columns(self, index: int) -> tuple[Indices, Indices]:
        """The choices of a switching stage, and the columns of the stored patterns that have them."""
        stage = self._kept.stages[index]
        numbers = self._kept.network.choice_offsets[stage.stage] + stage.choices
        return numbers, np.minimum(np.searchsorted(self._stored, numbers), len(self._stored) - 1)
