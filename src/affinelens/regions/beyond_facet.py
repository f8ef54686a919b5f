"""The pattern just beyond a facet, exactly.

A function that vanishes on the facet is a multiple of the facet's own beyond it, whose sign there is known; any other
keeps the sign that it has near the facet on this side. Float64 tells most functions from multiples of the facet's; the
few others are looked at in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.domain import Frame
from affinelens.engine.linear_program.coinciding_breaks import proportion
from affinelens.network import Activation, MaxGroups
from affinelens.network.enclosure import Enclosure
from affinelens.restrict import ExactBreaks, RestrictedFunctions

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Bools = NDArray[np.bool_]
Pattern = NDArray[np.unsignedinteger[Any]]


class PatternsBeyond:
    """Patterns beyond facets of the regions on one domain."""

    def __init__(self, part: RestrictedFunctions, frame: Frame) -> None:
        self._part = part
        self._middle = frame.lower + (frame.upper - frame.lower) / 2
        self._radius = np.minimum(frame.upper - self._middle, self._middle - frame.lower)

    def pattern(self, own: Pattern, number: int, sign: int) -> Pattern:
        """The network's pattern beyond a break of it, of which the region with the given pattern is on one side."""
        restricted = self._part.restricted
        facet = _Facet(self._exact_row(own, number), sign, self._middle, self._radius)
        pattern = own.astype(restricted.network.pattern_type)
        passage = self._part.functions()
        for index, stage in enumerate(restricted.stages):
            forms, vanish = passage.breaks()
            signs = _SignsBeyond(facet, facet.may_be_multiples(forms), vanish, self._part.exact, index, pattern)
            numbers = restricted.network.choice_offsets[stage.stage] + stage.choices
            before = np.argmax(stage.pieces == own[numbers].astype(np.int64)[:, None], axis=1)
            after = _across(stage.activation, before, signs)
            pattern[numbers] = np.take_along_axis(stage.pieces, after[:, None], axis=1)[:, 0]
            passage.choose(after)
        return pattern

    def _exact_row(self, own: Pattern, number: int) -> list[fmpz]:
        network = self._part.restricted.network
        of, inner = network.locate_break(number)
        for index, stage in enumerate(self._part.restricted.stages):
            if stage.stage == of:
                place = int(np.flatnonzero(stage.breaks == inner)[0])
                return self._part.exact.row(index, place, own.astype(network.pattern_type))
        raise AssertionError("a facet's break can be crossed")


@dataclass(frozen=True, eq=False)
class _SignsBeyond:
    """The signs beyond the facet of those breaks of a stage that vanish on it."""

    facet: _Facet
    may_vanish: Bools
    are_zero: Bools
    exact: ExactBreaks
    stage: int
    pattern: Pattern

    def __call__(self, index: int) -> int | None:
        """A break's sign, or None if it does not vanish on the facet."""
        if self.are_zero[index]:
            return 0
        return (
            self.facet.sign_beyond(self.exact.row(self.stage, index, self.pattern)) if self.may_vanish[index] else None
        )


def _across(activation: Activation, before: Indices, sign: _SignsBeyond) -> Indices:
    """The choices of a stage beyond the facet, given those on this side."""
    after, breaks, candidates = before.copy(), activation.breaks, np.flatnonzero(sign.may_vanish)
    if isinstance(activation, MaxGroups):
        for group in np.unique(breaks.choice[candidates]).tolist():
            after[group] = _winner_beyond(activation, group, int(before[group]), sign)
        return after
    position = np.arange(len(breaks)) - np.searchsorted(breaks.choice, breaks.choice)
    signs = np.where(before[breaks.choice] > position, 1, -1).astype(np.int8)
    for b in candidates.tolist():
        found = sign(b)
        signs[b] = signs[b] if found is None else found
    return activation.pattern_from_signs(signs).astype(np.int64)


def _winner_beyond(groups: MaxGroups, group: int, old: int, sign: _SignsBeyond) -> int:
    """The winner among those that equal the old one on the facet; of equal functions the first."""
    rivals = [piece for piece in range(int(groups.starts[group + 1] - groups.starts[group])) if piece != old]
    with_old = zip(rivals, groups.constraints(group, old), strict=True)
    equal = sorted([old, *(piece for piece, (b, _) in with_old if sign(b) is not None)])
    for piece in equal:
        found = [(side, sign(b)) for b, side in groups.constraints(group, piece)]
        if all(s is None or (s == -1 if side < 0 else s >= 0) for side, s in found):
            return piece
    raise AssertionError("one of the candidates is the largest")


class _Facet:
    """A facet's function, and on which side of it the region is.

    ``scaled`` are its slopes over the domain's box and its value in the middle, the largest of them being 1.
    """

    def __init__(self, row: Sequence[fmpz], sign: int, middle: Floats, radius: Floats) -> None:
        self._row = row
        self._sign = sign
        self._middle = middle
        self._radius = radius
        slopes = [Fraction(int(a)) for a in row[:-1]]
        value = sum((a * Fraction(t) for a, t in zip(slopes, middle.tolist(), strict=True)), Fraction(int(row[-1])))
        scaled = [*(a * Fraction(r) for a, r in zip(slopes, radius.tolist(), strict=True)), value]
        largest = max(abs(a) for a in scaled)
        self._scaled = np.array([float(a / largest) for a in scaled])

    def sign_beyond(self, row: Sequence[fmpz]) -> int | None:
        """The sign beyond the facet of a function that vanishes on it, or None if it does not."""
        if not any(row):
            return 0
        ratio = proportion(list(row), list(self._row))
        return None if ratio is None else -self._sign * ((ratio > 0) - (ratio < 0))

    def may_be_multiples(self, forms: Enclosure) -> Bools:
        """Which functions are not proved to be other than a multiple of the facet's.

        If one is, so are its slopes and its value in the middle, and all 2 x 2 determinants of those are zero. A
        function that is off by at most e all over the box has them off by at most e.
        """
        rows = forms.rows
        values = np.hstack([rows[:, :-1] * self._radius, rows[:, :-1] @ self._middle[:, None] + rows[:, -1:]])
        off = upward(forms.error + (gamma(rows.shape[1] + 2) + 16 * UNIT_ROUNDOFF) * forms.magnitude)
        pivot = int(np.argmax(np.abs(self._scaled)))
        determinants = values * self._scaled[pivot] - values[:, pivot : pivot + 1] * self._scaled
        refuted: Bools = np.any(np.abs(determinants) > 2 * off, axis=1)
        return ~refuted
