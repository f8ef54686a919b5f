"""Bounds of a domain part by part: a smaller box has tighter bounds, and what switches in no part switches nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from affinelens.domain import Frame
from affinelens.network import Network
from affinelens.restrict.bounds import OPEN, StageBounds, bound_stages

Floats = NDArray[np.float64]

# A domain is cut into at most so many parts, and only while that leaves clearly fewer breaks open.
_MOST_PARTS = 64
_FEW_OPEN = 1024
_WORTHWHILE = 0.9
# With more open breaks than this, a part is cut before its bounds are finished.
_TOO_MANY_OPEN = 1536


@dataclass(frozen=True, eq=False)
class _Part:
    frame: Frame
    bounds: list[StageBounds] | None

    @property
    def open(self) -> float:
        return float("inf") if self.bounds is None else count_open(self.bounds)


def bound_by_parts(network: Network, frame: Frame) -> list[StageBounds]:
    """Bounds of all stages on a domain, as tight as a few dozen parts make them."""
    finished: list[list[StageBounds]] = []
    waiting = [_bounded(network, frame, can_be_cut=True)]
    while waiting:
        part = max(waiting, key=lambda p: p.open)
        waiting.remove(part)
        if part.bounds is not None and (part.open <= _FEW_OPEN or len(finished) + len(waiting) + 2 > _MOST_PARTS):
            finished.append(part.bounds)
            continue
        can_be_cut = len(finished) + len(waiting) + 3 < _MOST_PARTS
        halves = [_bounded(network, half, can_be_cut=can_be_cut) for half in _cut(part.frame)]
        if part.bounds is not None:
            together = merged([half.bounds for half in halves if half.bounds is not None])
            if count_open(together) > _WORTHWHILE * part.open:
                finished.append(together)
                continue
        waiting += halves
    return merged(finished)


def _bounded(network: Network, frame: Frame, *, can_be_cut: bool) -> _Part:
    return _Part(frame, bound_stages(network, frame, most_open=_TOO_MANY_OPEN if can_be_cut else None))


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
