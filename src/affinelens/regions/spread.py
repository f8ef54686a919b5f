"""Functions by how they spread over a domain's box: their slopes along its axes, and their value in its middle.

A function vanishes where another does, all along a hyperplane, just if it is a multiple of it, and then these numbers
are. A function that is off by at most e all over the box has each of them off by at most e.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from affinelens.arithmetic import UNIT_ROUNDOFF, gamma, upward
from affinelens.arithmetic.proportional_rows import differ_from
from affinelens.array_types import Bools, Floats
from affinelens.domain import Frame


class Spread(NamedTuple):
    """The numbers of some functions, along the last axis, and how far these may be off."""

    values: Floats
    off: Floats

    @classmethod
    def over(cls, frame: Frame, rows: Floats, error: Floats, size: Floats) -> Spread:
        """Those of functions ``[w | b]`` that are off by at most ``error``; their terms add up to at most ``size``."""
        middle, radius = middle_and_radius(frame)
        in_middle = (rows[..., :-1] @ middle + rows[..., -1])[..., None]
        rounding = (gamma(rows.shape[-1] + 4) + 16 * UNIT_ROUNDOFF) * size
        return cls(np.concatenate([rows[..., :-1] * radius, in_middle], axis=-1), upward(error + rounding))

    def differ_from(self, others: Spread) -> Bools:
        """Which functions are proved not to be multiples of their column's other, the largest value of which is 1."""
        return differ_from(self.values, self.off, others.values, others.off)


def middle_and_radius(frame: Frame) -> tuple[Floats, Floats]:
    """The middle of a domain's box, and how far it reaches from there at least."""
    middle = frame.lower + (frame.upper - frame.lower) / 2
    return middle, np.minimum(frame.upper - middle, middle - frame.lower)
