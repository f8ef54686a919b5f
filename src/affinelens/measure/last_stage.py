"""What can switch on a region of a network that has one more stage: only that stage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.network import Activation, MaxGroups
from affinelens.restrict import Kept
from affinelens.restrict.bounds import OPEN, Signs

Pattern = NDArray[np.unsignedinteger[Any]]


def last_stage_on_region(kept: Kept, pattern: Pattern) -> Kept:
    """The switching part of a network where the given pattern of all stages but the last holds."""
    network = kept.network
    *earlier, last = kept.bounds
    decided = [
        replace(bounds, signs=_signs(stage.activation, network.stage_pattern(pattern, i).astype(np.int64)))
        for i, (stage, bounds) in enumerate(zip(network.stages, earlier, strict=False))
    ]
    return Kept(network, [*decided, last], kept.chart)


def _signs(activation: Activation, pieces: NDArray[np.int64]) -> Signs:
    """The signs of breaks where every choice is on its piece; those between losers of a group do not matter."""
    breaks = activation.breaks
    if isinstance(activation, MaxGroups):
        winner = (activation.starts[:-1] + pieces)[breaks.choice]
        return np.where(breaks.plus == winner, 1, np.where(breaks.minus == winner, -1, OPEN)).astype(np.int8)
    position = np.arange(len(breaks)) - np.searchsorted(breaks.choice, breaks.choice)
    return np.where(pieces[breaks.choice] > position, 1, -1).astype(np.int8)
