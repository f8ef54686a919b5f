"""The halfspaces of every region, a row a facet, in the domain's own coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.array_types import Floats, Indices
from affinelens.regions import Regions
from affinelens.regions.contradiction import contradiction
from affinelens.regions.region_functions import RegionFunctions

# Rows of numbers between 2**-128 and 2**128 are taken as they are.
_MODEST_EXPONENT = 128


@dataclass(frozen=True, eq=False)
class Halfspaces:
    """Those of a run of regions: ``rows[k] @ [t; 1] >= 0``, one region's after another's, up to ``ends``.

    Everywhere in the domain's bounding box a row's value is within ``error[k]`` of the exact one.
    """

    rows: Floats
    error: Floats
    ends: Indices

    def in_units(self, unit: int) -> Halfspaces:
        """The same of coordinates in units of ``2**unit``; rows beyond the modest are scaled by powers of two."""
        rows, error = self.rows, self.error
        if unit:
            rows = np.column_stack([np.ldexp(rows[:, :-1], unit), rows[:, -1]])
        size = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
        if np.all(np.abs(size) < _MODEST_EXPONENT):
            return Halfspaces(rows, error, self.ends)
        return Halfspaces(np.ldexp(rows, -size[:, None]), upward(np.ldexp(error, -size)), self.ends)


def halfspace_blocks(regions: Regions) -> Iterator[tuple[slice, Halfspaces]]:
    """The halfspaces of some regions after others, in the order of ``regions.facet_values``."""
    frame, offsets, hyperplanes = regions.domain.frame, regions.facet_offsets, regions.hyperplanes
    region_functions = RegionFunctions.of(regions)
    domain_rows = frame.rows.to_floats()
    domain_error = upward(UNIT_ROUNDOFF * (np.abs(domain_rows) @ frame.reach))
    signs = regions.facet_signs
    can_switch = np.isin(regions.facet_values, hyperplanes.of_restricted(region_functions.restricted))
    if not can_switch.all():
        named = regions.describe_hyperplane(int(regions.facet_values[np.argmin(can_switch)]))
        raise contradiction(f"{named} does not pass through the domain")
    stages = {stage.stage: (index, stage) for index, stage in enumerate(region_functions.restricted.stages)}
    for block in region_functions.blocks():
        functions = list(region_functions.functions(np.arange(block.start, block.stop)))
        own = slice(int(offsets[block.start]), int(offsets[block.stop]))
        numbers, ends = regions.facet_values[own], offsets[block.start + 1 : block.stop + 1] - own.start
        owner = np.repeat(np.arange(block.stop - block.start), np.diff(ends, prepend=0))
        rows, error = np.empty((len(numbers), frame.dim + 1)), np.empty(len(numbers))
        on_border = hyperplanes.of_domain(numbers)
        rows[on_border], error[on_border] = domain_rows[numbers[on_border]], domain_error[numbers[on_border]]
        for number, here, inner in hyperplanes.by_stage(numbers):
            index, stage = stages[number]
            breaks = stage.activation.breaks[np.searchsorted(stage.breaks, inner)]
            found, error[here] = functions[index].differences(breaks.plus, breaks.minus, breaks.threshold, owner[here])
            rows[here] = found * signs[own][here, None]
        yield block, Halfspaces(rows, error, ends)
