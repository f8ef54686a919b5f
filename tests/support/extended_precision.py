"""Numbers in extended precision, read exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def as_fraction(value: np.longdouble) -> Fraction:
    high = float(value)
    return Fraction(high) + Fraction(float(value - np.longdouble(high)))
