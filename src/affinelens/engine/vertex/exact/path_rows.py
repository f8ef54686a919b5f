"""Hyperplanes on the current path in rational arithmetic, from the model's own parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.engine.vertex.exact.decided_pieces import DecidedPieces
from affinelens.network.affine_functions import AffineFunctions, NetworkTerms
from affinelens.restrict import ExtendedRows, ExactBreaks, RestrictedNetwork
from affinelens.array_types import Pattern

if TYPE_CHECKING:
    from affinelens.engine.vertex.layout.state import Rows

# A function's coefficients and how far it may be off on the domain.
Nearby = tuple[list[Fraction], Fraction]
_FORMS_KEPT = 4096


class ExactRows(ABC):
    """Hyperplanes as functions of the domain's coordinates, where what a walk has decided so far holds."""

    @abstractmethod
    def stand(self, rows: Rows, stage: int) -> None:
        """Take note of what the walk has decided before a stage; rows up to that stage may then be asked for."""

    @abstractmethod
    def row(self, stage: int, inner: int) -> list[int]:
        """The function of a stage's hyperplane as integers: any positive multiple of it."""


class PathRows(ExactRows):
    """Rows from the rows that they are made of: the way for networks of moderate size."""

    def __init__(self, terms: NetworkTerms) -> None:
        network = terms.network
        self._functions = AffineFunctions(terms, [0] * network.choice_offsets[-1])
        self._decided = DecidedPieces([stage.activation for stage in network.stages])

    def stand(self, rows: Rows, stage: int) -> None:
        self._functions.change(self._decided.changes(rows, stage))

    def row(self, stage: int, inner: int) -> list[int]:
        return self._functions.break_row(stage, inner)


class SwitchingRows(ExactRows):
    """Rows of networks of which a part switches: in extended precision, as far as that tells, one at a time.

    Exactly they come from ``terms``, or where a network is too large for that, from carrying them back to the input.
    """

    def __init__(self, restricted: RestrictedNetwork, chart: ExactMatrix, terms: NetworkTerms | None) -> None:
        self._restricted = restricted
        self._pattern: Pattern = restricted.switching.pattern.copy()
        self._decided = DecidedPieces([stage.activation for stage in restricted.stages])
        self._numbers = restricted.switching.choices.tolist()
        self._pieces = [pieces for stage in restricted.stages for pieces in stage.pieces.tolist()]
        self._functions = None if terms is None else AffineFunctions(terms, self._pattern.tolist())
        self._breaks = ExactBreaks(restricted, chart)
        self._accurate = ExtendedRows(restricted, chart)
        self._nearby: OrderedDict[bytes, Nearby] = OrderedDict()

    def stand(self, rows: Rows, stage: int) -> None:
        found = self._decided.changes(rows, stage)
        changes = [(self._numbers[choice], self._pieces[choice][piece]) for choice, piece in found]
        for choice, piece in changes:
            self._pattern[choice] = piece
        if self._functions is not None:
            self._functions.change(changes)

    def row(self, stage: int, inner: int) -> list[int]:
        if self._functions is not None:
            here = self._restricted.stages[stage]
            return self._functions.break_row(here.stage, int(here.breaks[inner]))
        return [int(n) for n in self._breaks.row(stage, inner, self._pattern)]

    def nearby_rows(self, wanted: Sequence[tuple[int, int]]) -> list[Nearby]:
        """Functions close to hyperplanes', by stage and number there, which are cheaper to have."""
        keys = [self._breaks.key(stage, inner, self._pattern) for stage, inner in wanted]
        found = {key: self._nearby[key] for key in keys if key in self._nearby}
        missing: dict[bytes, tuple[int, int]] = {}
        for key, (stage, inner) in zip(keys, wanted, strict=True):
            if key not in found:
                here = self._restricted.stages[stage]
                exact = self._breaks.direct_row(stage, inner, self._pattern)
                if exact is not None:
                    found[key] = exact.to_fractions()[0], Fraction(0)
                else:
                    missing[key] = here.stage, int(here.breaks[inner])
        if missing:
            rows_found = self._accurate.break_rows(list(missing.values()), self._pattern)
            for key, (row, error) in zip(missing, rows_found, strict=True):
                found[key] = [_fraction(value) for value in row], Fraction(error)
        for key, near in found.items():
            _remember(self._nearby, key, near)
        return [found[key] for key in keys]


def _fraction(value: np.longdouble) -> Fraction:
    """An extended number, exactly."""
    high = float(value)
    return Fraction(high) + Fraction(float(value - np.longdouble(high)))


def _remember(store: OrderedDict[bytes, Any], key: bytes, value: Any) -> None:
    store[key] = value
    if len(store) > _FORMS_KEPT:
        store.popitem(last=False)
