"""The range of each output over the domain.

An affine piece has its extremes at vertices of its region. Float64 finds a region that an output is lowest or highest
on, a rational linear program the exact extreme on that region, and error bounds which other regions could go beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import fmpq, fmpz

from affinelens.arithmetic import ExactProgram, Optimum, upward
from affinelens.arithmetic.rational import fraction, nearest
from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.measure.maps.corner_outputs import Extremes, output_extremes
from affinelens.regions import Regions, exact_functions, exact_halfspaces
from affinelens.regions.contradiction import contradiction
from affinelens.short_text import point_text


class Extreme(NamedTuple):
    """Where an output is lowest or highest: a corner of a region, in input coordinates, and the region's row."""

    point: Floats
    region: int

    def __repr__(self) -> str:
        return f"{point_text(self.point)} in region {self.region}"


@dataclass(frozen=True, eq=False)
class OutputRange:
    """The smallest and largest value of an output over the regions, in rationals, both taken on by the network.

    They are taken on at ``at_lowest`` and ``at_highest``, whose ``point`` is rounded to float64. No value is more than
    ``slack`` outside of them. It is 0 if all regions that come near were looked at. ``before`` names the last operator
    of the model, such as a sigmoid, if the network leaves it out: the range is that of what goes into it.
    """

    lowest: Fraction
    highest: Fraction
    slack: float
    at_lowest: Extreme
    at_highest: Extreme
    before: str = ""

    def __repr__(self) -> str:
        slack = f", slack {self.slack:.2g}" if self.slack else ""
        low, high = (f"{nearest(value):.6g} at {place!r}" for value, place in (
            (self.lowest, self.at_lowest), (self.highest, self.at_highest)
        ))  # fmt: skip
        before = f", before {self.before}" if self.before else ""
        return f"OutputRange({low}, to {high}{slack}{before})"


class _Reached(NamedTuple):
    """The largest value that was looked for, and where it is taken on."""

    value: Fraction
    at: Extreme


def output_ranges(regions: Regions, *, decide_all: bool = True) -> list[OutputRange]:
    """The range of each output; without ``decide_all``, of regions that float64 cannot tell apart one is looked at."""
    if not len(regions):
        raise AffineLensError("a set without regions has no outputs; enumerate at least one")
    found = output_extremes(regions)
    return [_range(regions, output, found, decide_all) for output in range(regions.network.output_size)]


def _range(regions: Regions, output: int, found: Extremes, decide_all: bool) -> OutputRange:
    error = found.error[:, output]
    highest, above = _highest(regions, output, 1, found.high[:, output], error, decide_all)
    lowest, below = _highest(regions, output, -1, -found.low[:, output], error, decide_all)
    cut = next((note.place for note in regions.network.notes if note.kind.is_cut_off), "")
    return OutputRange(-lowest.value, highest.value, max(above, below), lowest.at, highest.at, cut)


@np.errstate(over="ignore", invalid="ignore")
def _highest(
    regions: Regions, output: int, sign: int, values: Floats, error: Floats, decide_all: bool
) -> tuple[_Reached, float]:
    """The largest value of an output times a sign, and how far beyond it a region not looked at may go."""
    known = np.isfinite(values) & np.isfinite(error)
    top, bottom = np.where(known, values + error, np.inf), np.where(known, values - error, -np.inf)
    first = int(np.argmax(np.where(known, values, -np.inf)))
    best = _exact_highest(regions, first, output, sign)
    rivals = np.flatnonzero(top >= bottom.max()).tolist()
    for index in rivals if decide_all else ():
        if index != first and float(top[index]) > best.value:
            best = max(best, _exact_highest(regions, index, output, sign), key=lambda reached: reached.value)
    if decide_all:
        return best, 0.0
    beyond = max((float(top[index]) for index in rivals if index != first), default=-np.inf)
    return best, 0.0 if beyond <= best.value else upward(beyond - nearest(best.value) + np.spacing(beyond))


def _exact_highest(regions: Regions, index: int, output: int, sign: int) -> _Reached:
    """The largest value of an output times a sign on one region, exactly."""
    network, frame = regions.network, regions.domain.frame
    weight = np.zeros((network.output_size, 1))
    weight[output] = sign
    function = exact_functions(regions).outputs(regions.pattern(index), weight)
    *slopes, constant = function.row(0)
    low, high = ([fmpq(*v.as_integer_ratio()) for v in bound.tolist()] for bound in (frame.lower, frame.upper))
    best, point = fmpz(0), regions[index].local.point
    if any(slopes):
        found = ExactProgram(exact_halfspaces(regions, index).numerators, low, high).maximise(slopes)
        if not isinstance(found, Optimum) or not found.reached:
            raise contradiction(f"the facets of region {index} bound nothing")
        best, point = found.value, np.array([float(fraction(t)) for t in found.point])
    value = fraction(fmpq(best + constant) / function.denominator)
    return _Reached(value, Extreme(frame.to_inputs(point[None])[0], index))
