"""What is asked of some rows at once, and which combinations of sides are known to hold nowhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from affinelens.array_types import Indices, Signs

# A row of a ledger and the side of it, 1 or -1.
Side = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Conditions:
    """Rows of a ledger, each with the side that is asked for; the same as two bit masks of row numbers.

    The bounds of single coordinates hold as well, but for one that is turned round: the one at ``beyond``.
    """

    rows: Indices
    signs: Signs
    positive: int
    negative: int
    beyond: int | None = None

    @classmethod
    def all_positive(cls, count: int) -> Conditions:
        """The positive side of rows 0 .. count-1."""
        return cls(np.arange(count), np.ones(count, dtype=np.int8), (1 << count) - 1, 0)

    @property
    def sides(self) -> list[Side]:
        return list(zip(self.rows.tolist(), self.signs.tolist(), strict=True))

    def joined(self, sides: Collection[Side]) -> Conditions:
        """These conditions and the given sides of further rows."""
        rows = np.concatenate([self.rows, np.fromiter((row for row, _ in sides), np.int64, len(sides))])
        signs = np.concatenate([self.signs, np.fromiter((sign for _, sign in sides), np.int8, len(sides))])
        positive, negative = masks(sides)
        return Conditions(rows, signs, self.positive | positive, self.negative | negative, self.beyond)

    def flipped(self, position: int) -> Conditions:
        """The same conditions with one of them turned round."""
        signs = self.signs.copy()
        signs[position] = -signs[position]
        bit = 1 << int(self.rows[position])
        return Conditions(self.rows, signs, self.positive ^ bit, self.negative ^ bit, self.beyond)

    def same_as(self, other: Conditions) -> bool:
        return self.positive == other.positive and self.negative == other.negative


def masks(sides: Iterable[Side]) -> tuple[int, int]:
    """Rows on their positive and on their negative side, as bit masks."""
    positive = negative = 0
    for row, sign in sides:
        if sign > 0:
            positive |= 1 << row
        else:
            negative |= 1 << row
    return positive, negative


def bound_turned(entry: int) -> Side:
    """What a bound turned round is called among sides."""
    return -1 - entry, -1


class Refuted:
    """Combinations of sides that hold nowhere around a parent, kept by every side in them that may be asked for.

    What was refuted with a bound turned round is kept by that one, since all else in it is known to hold together.
    """

    def __init__(self, facets: int) -> None:
        self._facets = facets
        self._by_side: dict[Side, list[tuple[int, int]]] = defaultdict(list)

    def contains(self, positive: int, negative: int, asked: Iterable[Side]) -> bool:
        """Whether the sides in two bit masks contain a refuted combination, one that involves a side asked for."""
        outside_positive, outside_negative = ~positive, ~negative
        for side in asked:
            for needed_positive, needed_negative in self._by_side[side]:
                if not (needed_positive & outside_positive or needed_negative & outside_negative):
                    return True
        return False

    def add(self, sides: Collection[Side], beyond: int | None) -> None:
        """Keep a combination."""
        found = masks(sides)
        for row, sign in [bound_turned(beyond)] if beyond is not None else sides:
            if sign < 0 or row >= self._facets:  # nobody asks for the positive side of a facet of the parent
                self._by_side[row, sign].append(found)
