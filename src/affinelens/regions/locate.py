"""Which pattern holds at a point, with border points assigned by a consistent rule.

A point on a border belongs to several closed regions. It is assigned to the one met on moving from it by
infinitesimals: first toward the interior of the domain, then along the axes, each of a smaller order. That region is
always full-dimensional, and the rule needs no tolerance: float64 decides where its error bound allows, rational
arithmetic elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.network.enclosure import Enclosure

Floats = NDArray[np.float64]
# Points are evaluated together as long as no layer of theirs takes more numbers than this.
_NUMBERS_AT_ONCE = 1 << 22


def patterns_at(
    network: Network, frame: Frame, coordinates: Floats, interior: Sequence[Fraction]
) -> NDArray[np.unsignedinteger[Any]]:
    """Patterns of points in the domain, one row a point."""
    widest = max(frame.inputs, *(stage.activation.size_in for stage in network.stages), 1)
    at_once = max(1, _NUMBERS_AT_ONCE // widest)
    parts = [
        _decided_by_rounding_bound(network, frame, coordinates[start : start + at_once])
        for start in range(0, len(coordinates), at_once)
    ]
    patterns, undecided = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    for i in np.flatnonzero(undecided).tolist():
        patterns[i] = _decided_exactly(network, frame, coordinates[i], interior)
    return patterns


def _decided_by_rounding_bound(
    network: Network, frame: Frame, coordinates: Floats
) -> tuple[NDArray[np.unsignedinteger[Any]], NDArray[np.bool_]]:
    count = len(coordinates)
    reach = np.append(np.maximum(np.abs(frame.lower), np.abs(frame.upper)), 1.0)
    chart = Enclosure.affine(frame.chart, reach)
    homogeneous = np.hstack([coordinates, np.ones((count, 1))]).T
    inputs = chart.rows @ homogeneous
    spread = np.abs(chart.rows) @ np.abs(homogeneous)
    start = Enclosure.values(inputs)
    sources = [start.replaced(inputs, chart.error + 2.0**-51 * (frame.dim + 2) * spread)]
    patterns = np.zeros((count, network.choice_offsets[-1]), dtype=network.pattern_type)
    undecided = np.zeros(count, dtype=bool)
    for index, stage in enumerate(network.stages):
        z = stage.linear.propagate(sources)
        breaks = stage.activation.breaks
        rows = z.differences(breaks.plus, breaks.minus, breaks.threshold)
        undecided |= np.any(~(np.abs(rows.rows) > rows.error), axis=0)
        signs = np.sign(rows.rows).astype(np.int8)
        columns = [stage.activation.pattern_from_signs(signs[:, j]) for j in range(count)]
        chosen = np.array(columns, dtype=np.int64).reshape(count, stage.activation.choices).T
        patterns[:, network.choice_offsets[index] : network.choice_offsets[index + 1]] = chosen.T
        sources.append(stage.activation.select(z, chosen))
    return patterns, undecided


def _decided_exactly(
    network: Network, frame: Frame, point: Floats, interior: Sequence[Fraction]
) -> NDArray[np.unsignedinteger[Any]]:
    here = [Fraction(v) for v in point.tolist()]
    inward = [[a - b] for a, b in zip(interior, here, strict=True)]
    value_at = ExactMatrix.from_fractions([[v] for v in [*here, Fraction(1)]])
    slope_along = ExactMatrix.from_fractions([*inward, [Fraction(0)]])
    pattern = np.zeros(network.choice_offsets[-1], dtype=network.pattern_type)
    for index, stage in enumerate(network.stages):
        z = network.exact_forms(frame.chart, pattern, index)[-1]
        rows = stage.activation.breaks.exact(z)
        values = (rows.numerators * value_at.numerators).entries()
        slopes = (rows.numerators * slope_along.numerators).entries()
        signs = np.zeros(rows.shape[0], dtype=np.int8)
        for i in range(rows.shape[0]):
            first = next((a for a in [values[i], slopes[i], *rows.row(i)[:-1]] if a), fmpz(0))
            signs[i] = (first > 0) - (first < 0)
        network.stage_pattern(pattern, index)[:] = stage.activation.pattern_from_signs(signs)
    return pattern
