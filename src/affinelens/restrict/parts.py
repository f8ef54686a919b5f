"""Bounds of a domain part by part: a smaller box has tighter bounds, and what switches in no part switches nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from affinelens.deadline import NEVER, Deadline
from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict.bounds import OPEN, StageBounds, bound_stages

Floats = NDArray[np.float64]

# A domain is cut into at most so many parts, only where bounds have become loose.
_MOST_PARTS = 64


def bound_by_parts(network: Network, frame: Frame, deadline: Deadline = NEVER) -> list[StageBounds]:
    """Bounds of all stages on a domain; where they are loose, on as many as a few dozen parts of it."""
    finished: list[list[StageBounds]] = []
    waiting = [frame]
    while waiting:
        part = waiting.pop(0)
        is_last = len(finished) + len(waiting) + 2 > _MOST_PARTS
        bounds = bound_stages(network, part, deadline, finish=is_last)
        if bounds is None:
            waiting += _cut(part)
        else:
            finished.append(bounds)
    return merged(finished)


def _cut(frame: Frame) -> tuple[Frame, Frame]:
    """Two halves of the box around a domain, along its longest side in the space of inputs."""
    width = frame.upper - frame.lower
    steepness = np.abs(frame.chart.to_floats()[:, :-1]).max(axis=0)
    axis = int(np.argmax(width * steepness))
    middle = frame.lower[axis] + width[axis] / 2
    below, above = frame.upper.copy(), frame.lower.copy()
    below[axis] = above[axis] = middle
    return replace(frame, upper=below), replace(frame, lower=above)


def count_open(bounds: Sequence[StageBounds]) -> int:
    return sum(int((stage.signs == OPEN).sum()) for stage in bounds)


def merged(parts: Sequence[list[StageBounds]]) -> list[StageBounds]:
    """What holds on all parts."""
    return [
        StageBounds(
            np.where(np.all([s.signs == stages[0].signs for s in stages], axis=0), stages[0].signs, OPEN).astype(
                np.int8
            ),
            np.max([s.pre_activation for s in stages], axis=0),
            np.max([s.output for s in stages], axis=0),
        )
        for stages in zip(*parts, strict=True)
    ]
