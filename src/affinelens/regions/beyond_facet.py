"""The pattern just beyond a facet, exactly.

A function that vanishes on the facet is a multiple of the facet's own beyond it, whose sign there is known; any other
keeps the sign that it has near the facet on this side. Float64 tells most functions from multiples of the facet's; the
few others are looked at in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import fmpz

from affinelens.arithmetic import UNIT_ROUNDOFF
from affinelens.arithmetic.proportional_rows import proportion
from affinelens.array_types import Bools, Patterns
from affinelens.domain import Frame
from affinelens.network.enclosure import Enclosure
from affinelens.regions.contradiction import contradiction
from affinelens.regions.spread import Spread, middle_and_radius
from affinelens.restrict import ExactBreaks, RestrictedFunctions


class PatternsBeyond:
    """Patterns beyond facets of the regions on one domain."""

    def __init__(self, functions: RestrictedFunctions) -> None:
        self._functions = functions

    def pattern(self, own: Patterns, number: int, sign: int) -> Patterns:
        """The network's pattern beyond a break of it, of which the region with the given pattern is on one side."""
        restricted = self._functions.restricted
        facet = _Facet(self._exact_row(own, number), sign, restricted.frame)
        pattern = own.astype(restricted.network.pattern_type)
        passage = self._functions.over_domain()
        for index, stage in enumerate(restricted.stages):
            forms, vanish = passage.breaks()
            signs = _SignsBeyond(facet, facet.may_be_multiples(forms), vanish, self._functions.exact, index, pattern)
            pieces = stage.from_network(own[stage.choice_numbers])
            for choice in np.unique(stage.activation.breaks.choice[signs.may_vanish]).tolist():
                pieces[choice] = stage.activation.piece_beyond(choice, int(pieces[choice]), signs)
            pattern[stage.choice_numbers] = stage.in_network(pieces)
            passage.choose(pieces)
        return pattern

    def _exact_row(self, own: Patterns, number: int) -> list[fmpz]:
        network = self._functions.restricted.network
        for index, stage in enumerate(self._functions.restricted.stages):
            for place in np.flatnonzero(stage.break_numbers == number).tolist():
                return self._functions.exact.row(index, place, own.astype(network.pattern_type))
        raise contradiction(f"{network.describe_break(number)} does not pass through the domain")


@dataclass(frozen=True, eq=False)
class _SignsBeyond:
    """The signs beyond the facet of those breaks of a stage that vanish on it."""

    facet: _Facet
    may_vanish: Bools
    are_zero: Bools
    exact: ExactBreaks
    stage: int
    pattern: Patterns

    def __call__(self, index: int) -> int | None:
        """A break's sign, or None if it does not vanish on the facet."""
        if self.are_zero[index]:
            return 0
        return (
            self.facet.sign_beyond(self.exact.row(self.stage, index, self.pattern)) if self.may_vanish[index] else None
        )


class _Facet:
    """A facet's function, and on which side of it the region is."""

    def __init__(self, row: Sequence[fmpz], sign: int, frame: Frame) -> None:
        self._row = row
        self._sign = sign
        self._frame = frame
        middle, radius = middle_and_radius(frame)
        slopes = [Fraction(int(a)) for a in row[:-1]]
        value = sum((a * Fraction(t) for a, t in zip(slopes, middle.tolist(), strict=True)), Fraction(int(row[-1])))
        spread = [*(a * Fraction(r) for a, r in zip(slopes, radius.tolist(), strict=True)), value]
        largest = max(abs(a) for a in spread)
        values = np.array([[float(a / largest) for a in spread]])
        self._spread = Spread(values, np.array([4 * UNIT_ROUNDOFF]))

    def sign_beyond(self, row: Sequence[fmpz]) -> int | None:
        """The sign beyond the facet of a function that vanishes on it, or None if it does not."""
        if not any(row):
            return 0
        ratio = proportion(row, self._row)
        return None if ratio is None else -self._sign * ((ratio > 0) - (ratio < 0))

    def may_be_multiples(self, forms: Enclosure) -> Bools:
        """Which functions are not proved to be other than a multiple of the facet's."""
        spread = Spread.over(self._frame, forms.rows[:, None], forms.error, forms.magnitude)
        return ~spread.differ_from(self._spread)[:, 0]
