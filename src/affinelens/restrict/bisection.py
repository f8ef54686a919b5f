"""Bounds of a domain box by box: a smaller one has tighter bounds, and what switches in none switches nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.deadline import NEVER, Deadline
from affinelens.network import Network
from affinelens.network.activation import OPEN
from affinelens.restrict.break_signs import StageBounds, bound_stages
from affinelens.restrict.enclosing_box import EnclosingBox


def bound_by_bisection(
    network: Network,
    chart: ExactMatrix,
    box: EnclosingBox,
    sides: Mapping[int, int] | None = None,
    deadline: Deadline = NEVER,
    *,
    most: int = 64,
) -> list[StageBounds]:
    """Bounds of all stages on a box; where they are loose, on at most so many that make it up."""
    finished: list[list[StageBounds]] = []
    waiting = [box]
    while waiting:
        some = waiting.pop(0)
        is_last = len(finished) + len(waiting) + 2 > most
        bounds = bound_stages(network, chart, some, sides, deadline, finish=is_last)
        if bounds is None:
            waiting += some.halves(chart)
        else:
            finished.append(bounds)
    return merged(finished)


def count_open(bounds: Sequence[StageBounds]) -> int:
    return sum(int((stage.signs == OPEN).sum()) for stage in bounds)


def merged(everywhere: Sequence[list[StageBounds]]) -> list[StageBounds]:
    """What holds wherever one of several bounds does."""
    return [
        StageBounds(
            np.where(np.all([s.signs == stages[0].signs for s in stages], axis=0), stages[0].signs, OPEN).astype(
                np.int8
            ),
            np.max([s.pre_activation for s in stages], axis=0),
            np.max([s.output for s in stages], axis=0),
        )
        for stages in zip(*everywhere, strict=True)
    ]
