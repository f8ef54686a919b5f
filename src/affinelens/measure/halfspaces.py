"""The halfspaces of every region, a row a facet, in the domain's own coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, upward
from affinelens.regions import RegionSet
from affinelens.regions.composition import Composition

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Halfspaces:
    """Those of a run of regions: ``rows[k] @ [t; 1] >= 0``, one region's after another's, up to ``ends``.

    Everywhere in the domain's bounding box a row's value is within ``error[k]`` of the exact one.
    """

    rows: Floats
    error: Floats
    ends: Indices


def halfspace_blocks(regions: RegionSet) -> Iterator[tuple[slice, Halfspaces]]:
    """The halfspaces of some regions after others, in the order of ``regions.facet_values``."""
    frame, network, offsets = regions.domain.frame, regions.network, regions.facet_offsets
    composition = Composition.of(regions)
    domain_rows = frame.rows.to_floats()
    reach = np.append(np.maximum(np.abs(frame.lower), np.abs(frame.upper)), 1.0)
    domain_error = upward(UNIT_ROUNDOFF * (np.abs(domain_rows) @ reach))
    signs = regions.outcome.table.facets.signs if regions.outcome.table.facets is not None else np.zeros(0)
    for block in composition.blocks():
        functions = list(composition.functions(np.arange(block.start, block.stop)))
        own = slice(int(offsets[block.start]), int(offsets[block.stop]))
        numbers, ends = regions.facet_values[own], offsets[block.start + 1 : block.stop + 1] - own.start
        owner = np.repeat(np.arange(block.stop - block.start), np.diff(ends, prepend=0))
        rows, error = np.empty((len(numbers), frame.dim + 1)), np.empty(len(numbers))
        on_border = numbers < len(domain_rows)
        rows[on_border], error[on_border] = domain_rows[numbers[on_border]], domain_error[numbers[on_border]]
        for index, stage in enumerate(composition.kept.stages):
            first, last = network.break_offsets[stage.stage : stage.stage + 2]
            kept = np.zeros(last - first, dtype=np.int64)
            kept[stage.breaks] = np.arange(len(stage.breaks))
            here = np.flatnonzero((numbers >= len(domain_rows) + first) & (numbers < len(domain_rows) + last))
            breaks = stage.activation.breaks[kept[numbers[here] - len(domain_rows) - first]]
            z, off, paired = functions[index].table, composition.errors[index], breaks.minus >= 0
            place = functions[index].place[owner[here]]
            found, away = z[breaks.plus, place], off[breaks.plus]
            found[paired] -= z[breaks.minus[paired], place[paired]]
            away[paired] += off[breaks.minus[paired]]
            found[:, -1] -= breaks.threshold
            rows[here] = found * signs[own][here, None]
            error[here] = upward(away + UNIT_ROUNDOFF * (np.abs(found) @ reach))
        yield block, Halfspaces(rows, error, ends)
