"""Hyperplanes on the current path in rational arithmetic, from the model's own parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpz, fmpz_mat
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix
from affinelens.network import Activation, MaxGroups, Network
from affinelens.restrict import AccurateRows, ExactBreaks, Kept

if TYPE_CHECKING:
    from affinelens.engine.vertex.state import Rows

Pattern = NDArray[np.integer[Any]]
# A function's coefficients and how far it may be off on the domain.
Nearby = tuple[list[Fraction], Fraction]
_FORMS_KEPT = 4096


class ExactRows(ABC):
    """Hyperplanes as functions of the domain's coordinates, where what a walk has decided so far holds."""

    @abstractmethod
    def row(self, rows: Rows, stage: int, inner: int) -> list[fmpz]:
        """The function of a stage's hyperplane as integers: any positive multiple of it."""

    def nearby_rows(self, rows: Rows, wanted: Sequence[tuple[int, int]]) -> list[Nearby] | None:
        """Functions close to hyperplanes', by stage and number there, where those are cheaper to have."""
        return None


class PathRows(ExactRows):
    """All hyperplanes of a stage at once: the way for networks whose stages are small."""

    def __init__(self, network: Network, chart: ExactMatrix) -> None:
        self._network = network
        self._chart = chart
        self._one = ExactMatrix.from_floats(np.append(np.zeros(chart.shape[1] - 1), 1.0)[None, :])
        self._hyperplanes: OrderedDict[bytes, fmpz_mat] = OrderedDict()
        self._sources: OrderedDict[bytes, list[ExactMatrix]] = OrderedDict()

    def row(self, rows: Rows, stage: int, inner: int) -> list[fmpz]:
        table = self._table(rows, stage)
        return [table[inner, j] for j in range(table.ncols())]

    def _table(self, rows: Rows, stage: int) -> fmpz_mat:
        key = self._key(rows, stage)
        found = self._hyperplanes.get(key)
        if found is None:
            form = self._network.stages[stage].linear.propagate_exact(self._path(rows, stage), self._one)
            found = self._network.stages[stage].activation.breaks.exact(form).numerators
            _remember(self._hyperplanes, key, found)
        return found

    def _path(self, rows: Rows, stage: int) -> list[ExactMatrix]:
        """The chart and the outputs of the stages before this one."""
        if stage == 0:
            return [self._chart]
        key = self._key(rows, stage)
        found = self._sources.get(key)
        if found is None:
            before = self._path(rows, stage - 1)
            linear, activation = self._network.stages[stage - 1].linear, self._network.stages[stage - 1].activation
            form = linear.propagate_exact(before, self._one)
            network = self._network
            pattern = _pattern(activation, rows, network.break_offsets[stage - 1], network.choice_offsets[stage - 1])
            found = [*before, activation.select_exact(form, pattern)]
            _remember(self._sources, key, found)
        return found

    def _key(self, rows: Rows, stage: int) -> bytes:
        positive = rows.sign[: self._network.break_offsets[stage]] > 0
        return stage.to_bytes(4) + positive.tobytes() + rows.winner[: self._network.choice_offsets[stage]].tobytes()


class SwitchingRows(ExactRows):
    """One hyperplane at a time, carried back to the input: the way for networks of which a small part switches."""

    def __init__(self, kept: Kept, chart: ExactMatrix) -> None:
        self._kept = kept
        self._breaks = ExactBreaks(kept, chart)
        self._accurate = AccurateRows(kept, chart)
        self._nearby: OrderedDict[bytes, Nearby] = OrderedDict()

    def row(self, rows: Rows, stage: int, inner: int) -> list[fmpz]:
        return self._breaks.row(stage, inner, self._network_pattern(rows, stage))

    def nearby_rows(self, rows: Rows, wanted: Sequence[tuple[int, int]]) -> list[Nearby]:
        if not wanted:
            return []
        pattern = self._network_pattern(rows, max(stage for stage, _ in wanted))
        keys = [self._breaks.key(stage, inner, pattern) for stage, inner in wanted]
        found = {key: self._nearby[key] for key in keys if key in self._nearby}
        missing: dict[bytes, tuple[int, int]] = {}
        for key, (stage, inner) in zip(keys, wanted, strict=True):
            if key not in found:
                here = self._kept.stages[stage]
                exact = self._breaks.direct_row(stage, inner, pattern)
                if exact is not None:
                    found[key] = exact.to_fractions()[0], Fraction(0)
                else:
                    missing[key] = here.stage, int(here.breaks[inner])
        if missing:
            rows_found = self._accurate.break_rows(list(missing.values()), pattern)
            for key, (row, error) in zip(missing, rows_found, strict=True):
                found[key] = [_fraction(value) for value in row], Fraction(error)
        for key, near in found.items():
            _remember(self._nearby, key, near)
        return [found[key] for key in keys]

    def _network_pattern(self, rows: Rows, stages: int) -> Pattern:
        """The whole network's pattern, as far as it matters before a switching stage."""
        pattern = self._kept.pattern.copy()
        breaks = choices = 0
        for stage in self._kept.stages[:stages]:
            part = _pattern(stage.activation, rows, breaks, choices)
            numbers = self._kept.network.choice_offsets[stage.stage] + stage.choices
            pattern[numbers] = stage.pieces[np.arange(len(part)), part]
            breaks += len(stage.activation.breaks)
            choices += stage.activation.choices
        return pattern


def _pattern(activation: Activation, rows: Rows, first_break: int, first_choice: int) -> Pattern:
    """A stage's pattern on the current path."""
    if isinstance(activation, MaxGroups):
        return rows.winner[first_choice : first_choice + activation.choices]
    return activation.pattern_from_signs(rows.sign[first_break : first_break + len(activation.breaks)])


def _fraction(value: np.longdouble) -> Fraction:
    """An extended number, exactly."""
    high = float(value)
    return Fraction(high) + Fraction(float(value - np.longdouble(high)))


def _remember(store: OrderedDict[bytes, Any], key: bytes, value: Any) -> None:
    store[key] = value
    if len(store) > _FORMS_KEPT:
        store.popitem(last=False)
