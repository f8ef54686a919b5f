"""Breaks that are the same hyperplane whatever the pattern, because their parameters are proportional."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.engine.vertex.stage_parts import multiplied_out
from affinelens.network import MaxGroups, Network
from affinelens.network.canonical import Stage

Indices = NDArray[np.int64]


def duplicates(network: Network) -> tuple[Indices, Indices]:
    """For every break the first that is the same hyperplane, and how the two are oriented.

    ``leader[b]`` is the first of them (b itself if none is before it) and ``orientation[b]`` the sign of the ratio; a
    break that is identically zero follows itself with orientation 0.
    """
    leader = np.arange(network.break_offsets[-1])
    signs = np.ones(len(leader), dtype=np.int64)
    for stage, offset in zip(network.stages, network.break_offsets, strict=False):
        grouped = isinstance(stage.activation, MaxGroups)
        first_of: dict[tuple[int, ...], tuple[int, int]] = {}
        suspects = _possible_duplicates(stage)
        for index, row in zip(suspects, _parameter_rows(stage, suspects), strict=True):
            direction, sign = _direction(row)
            if grouped or sign == 0:  # candidates of a group are compared pair by pair
                signs[offset + index] = sign * sign
                continue
            first, orientation = first_of.setdefault(direction, (offset + index, sign))
            leader[offset + index] = first
            signs[offset + index] = sign * orientation
    return leader, signs


def _possible_duplicates(stage: Stage) -> list[int]:
    """Breaks whose parameters, in float64 and scaled, look like those of another or like nothing.

    One that is overlooked costs time only: it is then recognised wherever it matters, at each vertex.
    """
    maps = [multiplied_out(linear)[0] for _, linear in stage.linear.sources]
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


def _parameter_rows(stage: Stage, breaks: Sequence[int]) -> Iterator[list[int]]:
    """Breaks as integers: their coefficients on all sources and their constant, times a common denominator."""
    if not breaks:
        return
    sizes = [linear.size_in for _, linear in stage.linear.sources]
    width = sum(sizes) + 1
    table = ExactMatrix.zeros(stage.linear.size, width)
    start = 0
    for (_, linear), size in zip(stage.linear.sources, sizes, strict=True):
        unit = np.zeros((size, width))
        unit[:, start : start + size] = np.eye(size)
        table = table + linear.apply_exact(ExactMatrix.from_floats(unit))
        start += size
    if stage.linear.bias is not None:
        table = table + stage.linear.bias.apply_exact(
            ExactMatrix.from_floats(np.append(np.zeros(width - 1), 1.0)[None])
        )
    rows = stage.activation.breaks[np.array(breaks)].exact(table)
    entries = [int(n) for n in rows.numerators.entries()]
    for index in range(rows.shape[0]):
        yield entries[index * width : (index + 1) * width]


def _direction(row: list[int]) -> tuple[tuple[int, ...], int]:
    """The row divided by its content, first entry positive; and the sign that was taken out (0 for a row of zeros)."""
    content = gcd(*row)
    if content == 0:
        return tuple(row), 0
    sign = 1 if next(n for n in row if n) > 0 else -1
    return tuple(sign * n // content for n in row), sign
