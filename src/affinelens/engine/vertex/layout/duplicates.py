"""Breaks that are the same hyperplane whatever the pattern, because their parameters are proportional."""

from __future__ import annotations

from collections import Counter

import numpy as np

from affinelens.arithmetic.proportional_rows import direction
from affinelens.network import Network
from affinelens.network.canonical import Stage
from affinelens.network.coefficients import Coefficients
from affinelens.network.linear_map import Dense
from affinelens.array_types import Indices


def duplicates(network: Network) -> tuple[Indices, Indices]:
    """For every break the first that is the same hyperplane, and how the two are oriented.

    ``leader[b]`` is the first of them (b itself if none is before it) and ``orientation[b]`` the sign of the ratio; a
    break that is identically zero follows itself with orientation 0.
    """
    leader = np.arange(network.break_offsets[-1])
    signs = np.ones(len(leader), dtype=np.int64)
    for stage, offset in zip(network.stages, network.break_offsets, strict=False):
        grouped = stage.activation.grouped
        first_of: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, int]] = {}
        for index in _possible_duplicates(stage):
            columns, numbers = _parameter_row(stage, index)
            along, sign = direction(numbers)
            if grouped or sign == 0:  # candidates of a group are compared pair by pair
                signs[offset + index] = sign * sign
                continue
            first, orientation = first_of.setdefault((columns, along), (offset + index, sign))
            leader[offset + index] = first
            signs[offset + index] = sign * orientation
    return leader, signs


def _possible_duplicates(stage: Stage) -> list[int]:
    """Breaks whose parameters, in float64 and scaled, look like those of another or like nothing.

    One that is overlooked costs time only: it is then recognised wherever it matters, at each vertex.
    """
    with np.errstate(all="ignore"):
        maps = [
            linear.weight if isinstance(linear, Dense) else linear.apply(np.eye(linear.size_in))
            for _, linear in stage.linear.sources
        ]
    bias = np.zeros((stage.linear.size, 1))
    if stage.linear.bias is not None:
        bias = stage.linear.bias.apply(np.ones((1, 1)))
    table = np.hstack([*maps, bias])
    breaks = stage.activation.breaks
    rows = table[breaks.plus] - np.where(breaks.minus[:, None] >= 0, table[breaks.minus], 0.0)
    rows[:, -1] -= breaks.threshold
    largest = np.abs(rows).argmax(axis=1)
    pivot = rows[np.arange(len(rows)), largest]
    with np.errstate(all="ignore"):
        scaled = np.where(pivot[:, None] != 0, rows / pivot[:, None], 0.0)
    keys = [row.tobytes() for row in np.round(scaled, 9) + 0.0]
    seen = Counter(keys)
    return [i for i, key in enumerate(keys) if seen[key] > 1 or pivot[i] == 0]


def _parameter_row(stage: Stage, index: int) -> tuple[tuple[int, ...], list[int]]:
    """A break's coefficients on all sources and its constant, times a positive number: their columns, and integers."""
    breaks, constant = stage.activation.breaks, np.array([-1])
    parts, weights = [Coefficients.of_floats(constant, breaks.threshold[index : index + 1])], [-1]
    for unit, weight in ((int(breaks.plus[index]), 1), (int(breaks.minus[index]), -1)):
        start = 0
        for _, linear in stage.linear.sources if unit >= 0 else ():
            found = linear.coefficients(unit)
            parts.append(found._replace(columns=[start + column for column in found.columns]))
            weights.append(weight)
            start += linear.size_in
        if stage.linear.bias is not None and unit >= 0:
            found = stage.linear.bias.coefficients(unit)
            parts.append(found._replace(columns=[-1] * len(found.columns)))
            weights.append(weight)
    total = Coefficients.combined(parts, weights)
    entries = sorted(zip(total.columns, total.numerators, strict=True))
    return tuple(column for column, _ in entries), [number for _, number in entries]
