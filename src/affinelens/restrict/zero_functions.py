"""Which pre-activations of switching units are the zero function, where that follows from which outputs are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from affinelens.array_types import Bools, Indices
from affinelens.restrict.restricted_network import RestrictedNetwork
from affinelens.restrict.restricted_rows import RestrictedRows


class ZeroFunctions:
    """Stage by stage: the next one's pre-activations, then what is left of them on the pieces chosen.

    With ``columns`` there are several patterns, a column each; otherwise one.
    """

    def __init__(self, restricted: RestrictedNetwork, rows: Sequence[RestrictedRows], *, columns: bool) -> None:
        self._restricted = restricted
        self._rows = rows
        self._shape = (-1, 1) if columns else (-1,)
        self._outputs: list[Bools] = []
        self._current: Bools = np.zeros(0, dtype=bool)

    def units(self) -> Bools:
        """Which of the next stage's pre-activations are known to be zero."""
        rows = self._rows[len(self._outputs)]
        zero: Bools = (rows.error == 0.0).reshape(self._shape)  # then it is a sum of outputs, exactly
        for source, weight in rows.maps.items():
            zero = zero & ~((weight != 0.0) @ ~self._outputs[source])
        self._current = zero
        return zero

    def choose(self, chosen: Indices) -> None:
        """Go on with the stage's outputs on the given pieces."""
        lines = self._restricted.stages[len(self._outputs)].activation.lines(chosen)
        flat = (lines.slopes == 0.0) | lines.taken(self._current)
        self._outputs.append(flat & (lines.offsets == 0.0))
