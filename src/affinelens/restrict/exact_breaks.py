"""Breaks of switching units in rational arithmetic, one at a time, each remembered by what it depends on."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.array_types import Pattern
from affinelens.network.adjoint import Adjoint
from affinelens.restrict.restricted_network import RestrictedNetwork

_ROWS_KEPT = 4096


class ExactBreaks:
    """Functions of a chart's coordinates.

    Stages and breaks have the restricted network's numbers; patterns are of all the network's choices.
    """

    def __init__(self, restricted: RestrictedNetwork, chart: ExactMatrix) -> None:
        self._restricted = restricted
        self._adjoint = Adjoint(restricted.network, chart)
        self._rows: OrderedDict[bytes, list[fmpz]] = OrderedDict()
        self._dependencies: dict[tuple[int, int], NDArray[np.int64]] = {}

    def row(self, stage: int, index: int, pattern: Pattern) -> list[fmpz]:
        """A break's function where the pattern of earlier stages holds: integers, a positive multiple of it."""
        key = self.key(stage, index, pattern)
        found = self._rows.get(key)
        if found is None:
            here = self._restricted.stages[stage]
            found = self._adjoint.break_row(here.stage, int(here.breaks[index]), pattern)
            self._rows[key] = found
            if len(self._rows) > _ROWS_KEPT:
                self._rows.popitem(last=False)
        return found

    def direct_row(self, stage: int, index: int, pattern: Pattern) -> ExactMatrix | None:
        """The function itself, where it is at hand."""
        here = self._restricted.stages[stage]
        return self._adjoint.direct_break_row(here.stage, int(here.breaks[index]), pattern)

    def key(self, stage: int, index: int, pattern: Pattern) -> bytes:
        """The break and what its function can depend on: the same row is met under many patterns."""
        if (stage, index) not in self._dependencies:
            self._dependencies[stage, index] = self._restricted.dependencies(stage, index)
        return stage.to_bytes(4) + index.to_bytes(4) + pattern[self._dependencies[stage, index]].tobytes()
