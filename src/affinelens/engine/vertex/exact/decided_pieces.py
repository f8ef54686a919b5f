"""The pieces that a walk's choices are on, followed from one moment to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from affinelens.network import Activation

if TYPE_CHECKING:
    from affinelens.engine.vertex.layout.state import Rows


class DecidedPieces:
    """What a walk over some activations has decided, as changes since it was last looked at.

    At first every choice is on its first piece. Those of element-wise activations are counted from the signs of their
    breaks, those of groups are their winners.
    """

    def __init__(self, activations: Sequence[Activation]) -> None:
        self._break_offsets = np.cumsum([0, *(len(activation.breaks) for activation in activations)]).tolist()
        self._choice_offsets = np.cumsum([0, *(activation.choices for activation in activations)]).tolist()
        firsts = zip(activations, self._choice_offsets, strict=False)
        self._choice_of = np.concatenate(
            [np.zeros(0, dtype=np.int64), *(first + activation.breaks.choice for activation, first in firsts)]
        )
        grouped = [activation.grouped for activation in activations]
        self._counts = np.repeat(~np.array(grouped, dtype=bool), np.diff(self._break_offsets))
        self._positive = np.zeros(len(self._choice_of), dtype=bool)
        self._pieces = np.zeros(self._choice_offsets[-1], dtype=np.int64)
        self._winner = self._pieces.copy()

    def changes(self, rows: Rows, stage: int) -> list[tuple[int, int]]:
        """The choices before a stage that have changed, and the pieces they are on."""
        breaks, choices = self._break_offsets[stage], self._choice_offsets[stage]
        positive = (rows.sign[:breaks] > 0) & self._counts[:breaks]
        switched = np.flatnonzero(positive != self._positive[:breaks])
        self._positive[:breaks] = positive
        changed = self._choice_of[switched]
        for choice, is_passed in zip(changed.tolist(), positive[switched].tolist(), strict=True):
            self._pieces[choice] += 1 if is_passed else -1
        won = np.flatnonzero(rows.winner[:choices] != self._winner[:choices])
        self._winner[won] = self._pieces[won] = rows.winner[won]
        return [(choice, int(self._pieces[choice])) for choice in {*changed.tolist(), *won.tolist()}]
