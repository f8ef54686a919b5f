"""How far the kernels' float64 numbers may be off.

Every function here returns an upper bound; docs/exactness.md derives them. All coordinates lie in [-1, 1], ``size`` is
the sum of a row's absolute coefficients, and ``off`` bounds a vertex's error in each coordinate.
"""

from __future__ import annotations

import numpy as np

from affinelens.engine.vertex.jit import inlined

# Evaluating a row of at most 60 coefficients: (terms + 2) roundings, with room for the bound's own rounding.
_ROUNDING = 2.0**-53
_SLACK = 1.0 + 2.0**-20
# Rows above this may overflow when evaluated; squares of what is not zero are at least this.
_LARGEST = 2.0**1000
_SQUARE_UNDERFLOW = 2.0**-1000


@inlined
def row_base(error: float, constant_error: float, size: float, constant: float, dim: int) -> float:
    """Error of a row's value at an exactly known point of the domain; infinite if values may overflow."""
    if not size + abs(constant) < _LARGEST:
        return np.inf
    return _SLACK * (error + constant_error + (dim + 3) * _ROUNDING * (size + abs(constant)))


@inlined
def value_bound(base: float, size: float, off: float) -> float:
    """Error of a row's value at a vertex."""
    return base + _SLACK * size * off


@inlined
def crossing_error(base: float, size: float, off: float, steepness: float, length: float) -> float:
    """Error of the point where a row vanishes on an edge, given the inverse of the row's computed drop along it.

    ``off`` is the larger error of the two ends and ``length`` the largest coordinate difference between them. The point
    lies on the edge, so that its error is never more than the edge is long.
    """
    share_error = value_bound(base, size, off) * steepness
    if not share_error < 1.0:
        share_error = 1.0
    return _SLACK * (off + share_error * length) + 12.0 * _ROUNDING


@inlined
def squared(amplitude: float, error: float, rounding: float, size: float, gap: float) -> float:
    """One term's part in the error of a later stage's sums, squared (see the use of Cauchy and Schwarz in the docs)."""
    term = amplitude * (error + rounding * size) + gap
    return _SLACK * term * term + (_SQUARE_UNDERFLOW if error + rounding * size + gap > 0.0 else 0.0)


@inlined
def summed(fixed: float, norm: float, root: float) -> float:
    """Error of a sum over earlier units: that of its fixed part, and of the terms by Cauchy and Schwarz."""
    return _SLACK * (fixed + norm * root)
