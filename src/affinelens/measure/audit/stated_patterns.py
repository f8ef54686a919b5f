"""Does every region's interior point have the stated pattern, strictly, and lie inside the domain?

Every switching unit is evaluated at the point with the stated pieces before it. Float64 decides where the value is
further from zero than its error; the others are evaluated in rational arithmetic. A function that is zero all over a
region separates nothing there, and has the piece that ties have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from flint import fmpq, fmpz

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.array_types import Indices
from affinelens.blocks import blocks
from affinelens.regions import Regions, restricted_functions
from affinelens.regions.region_functions import RegionPieces

# Points are evaluated together as long as no stage of theirs takes more numbers than this.
_AT_ONCE = 1 << 17


# A region whose point is not where it is said to be, and why.
Misplaced: TypeAlias = tuple[int, str]


@dataclass
class PointTally:
    """How many signs were checked, and how many of those in rational arithmetic."""

    signs: int = 0
    exactly: int = 0


class StatedPatterns:
    """The patterns and points that a set of regions states."""

    def __init__(self, regions: Regions) -> None:
        self._regions = regions
        self._functions = restricted_functions(regions)
        self._pieces = RegionPieces.of_set(regions)
        self._rational = np.array(sorted(regions.outcome.exact_points), dtype=np.int64)
        self.tally = PointTally()

    def first_misplaced(self) -> Misplaced | None:
        """The first region that is not as stated, or None if all are."""
        constant = self._wrong_constant()
        if constant is not None:
            return constant
        stages = self._functions.restricted.stages
        widest = max([self._regions.hyperplanes.domain_count, *(len(stage.breaks) for stage in stages)])
        checked = (
            self._outside(rows) or self._misplaced(rows) for rows in blocks(len(self._regions), widest, _AT_ONCE)
        )
        return next(filter(None, checked), None)

    def _wrong_constant(self) -> Misplaced | None:
        """A stated piece that bounds over the whole domain exclude."""
        possible, regions = self._functions.restricted.switching, self._regions
        number = np.arange(len(possible.pattern))
        fixed = ~np.isin(number, possible.choices)
        stored = regions.switching
        outside = fixed & ~np.isin(number, stored)
        switching = regions.outcome.switching
        if switching is not None and np.any(switching.pattern[outside] != possible.pattern[outside]):
            return 0, "a unit that cannot switch on the domain is on another piece than all regions state"
        columns = np.flatnonzero(fixed[stored])
        for column in columns.tolist():
            differs = regions.switching_patterns[:, column] != possible.pattern[stored[column]]
            if differs.any():
                return int(np.argmax(differs)), f"choice {stored[column]} cannot be on the stated piece"
        return None

    def _outside(self, block: slice) -> Misplaced | None:
        """A point that is not strictly inside the domain."""
        frame, points = self._regions.domain.frame, self._regions.outcome.points[block]
        rows = frame.rows.to_floats()
        with np.errstate(over="ignore", invalid="ignore"):
            values = points @ rows[:, :-1].T + rows[:, -1]
            size = np.abs(points) @ np.abs(rows[:, :-1]).T + np.abs(rows[:, -1])
            inside = values > upward((gamma(frame.dim + 2) + 4 * UNIT_ROUNDOFF) * size)
        inside[self._rational_in(block)] = False
        self.tally.signs += inside.size
        for i, number in np.argwhere(~inside).tolist():
            region = block.start + i
            if self._sign_at(frame.rows.row(number), region) <= 0:
                described = self._regions.describe_hyperplane(number)
                return region, f"its point is not strictly inside the {described}"
        return None

    def _misplaced(self, block: slice) -> Misplaced | None:
        """A point that is not strictly on the stated side of a unit's hyperplane."""
        restricted = self._functions.restricted
        passage = self._functions.at(self._regions.outcome.points[block])
        rows = np.arange(block.start, block.stop)
        for index, stage in enumerate(restricted.stages):
            chosen, stated = self._pieces.of(index, rows), self._pieces.in_network(index, rows)
            impossible = stage.in_network(chosen) != stated
            if impossible.any():
                choice, region = np.argwhere(impossible)[0].tolist()
                number = stage.choice_numbers[choice]
                return block.start + region, f"choice {number} cannot be on the stated piece"
            values, vanish = passage.breaks()
            expected = stage.activation.signs_on(chosen)
            tie = stage.activation.tie_sign
            with np.errstate(invalid="ignore"):
                clear = expected * values.rows > values.error
            settled = (expected == 0) | np.where(vanish, expected == tie, clear)
            settled[:, self._rational_in(block)] = False
            self.tally.signs += int(np.count_nonzero(expected))
            for b, i in np.argwhere(~settled & (expected != 0)).tolist():
                region, side = block.start + i, int(expected[b, i])
                row = self._functions.exact.row(index, b, self._regions.pattern(region))
                found = self._sign_at(row, region) if any(row) else tie
                if found != side:
                    return region, self._wrong_side(index, b, found)
            passage.choose(chosen)
        return None

    def _wrong_side(self, index: int, place: int, found: int) -> str:
        stage = self._functions.restricted.stages[index]
        network = self._functions.restricted.network
        named = network.describe_break(int(stage.break_numbers[place]))
        return f"its point is {'on the hyperplane' if found == 0 else 'on the other side'} of {named}"

    def _rational_in(self, block: slice) -> Indices:
        """The regions of a block, counted from its start, whose points are rational."""
        first, last = np.searchsorted(self._rational, [block.start, block.stop])
        inside: Indices = self._rational[first:last] - block.start
        return inside

    def _sign_at(self, row: list[fmpz], region: int) -> int:
        """The sign of a function at a region's point, exactly."""
        self.tally.exactly += 1
        point = self._regions[region].local.exact_point
        value = sum((a * fmpq(t.numerator, t.denominator) for a, t in zip(row, point, strict=False)), fmpq(row[-1]))
        return int(value > 0) - int(value < 0)


def first_repeated(regions: Regions) -> tuple[int, int] | None:
    """Two regions with the same pattern, or None if all differ. Different sums mean different patterns."""
    patterns = np.ascontiguousarray(regions.switching_patterns)
    sums = np.zeros(len(patterns), dtype=np.uint64)
    weights = np.random.default_rng(0).integers(1, 2**63, size=(patterns.shape[1],), dtype=np.uint64)
    for weight, column in zip(weights, patterns.T, strict=True):
        sums += weight * column.astype(np.uint64)
    order = np.argsort(sums, kind="stable")
    same = np.diff(sums[order]) == 0
    shared = np.flatnonzero(np.concatenate([same, [False]]) | np.concatenate([[False], same]))
    seen: dict[tuple[Any, bytes], int] = {}
    for region in np.sort(order[shared]).tolist():
        first = seen.setdefault((sums[region], patterns[region].tobytes()), region)
        if first != region:
            return first, region
    return None
