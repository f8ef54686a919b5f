"""How far the kernels' float64 numbers may be off.

Every function here returns an upper bound; docs/exactness.md derives them. All coordinates lie in [-1, 1], ``size`` is
the sum of a row's absolute coefficients, and ``off`` bounds a vertex's error in each coordinate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from affinelens.kernels.compilation import inlined
from affinelens.kernels.lanes import above, chosen, splat

# Evaluating a row of at most 60 coefficients: (terms + 2) roundings, with room for the bound's own rounding.
_ROUNDING = 2.0**-53
_SLACK = 1.0 + 2.0**-20
# Rows above this may overflow when evaluated; squares of what is not zero are at least this.
_LARGEST = 2.0**1000
_SQUARE_UNDERFLOW = 2.0**-1000


@inlined
def row_base(error: Any, constant_error: Any, size: Any, constant: Any, dim: int) -> Any:
    """Error of eight rows' values at an exactly known point of the domain; infinite if values may overflow."""
    reach = size + abs(constant)
    base = _SLACK * (error + constant_error + (dim + 3) * _ROUNDING * reach)
    return chosen(above(splat(_LARGEST), reach), base, splat(np.inf))


@inlined
def value_bound(base: Any, size: Any, off: Any) -> Any:
    """Error of a row's value at a vertex, or of eight rows' values."""
    return base + size * (_SLACK * off)


@inlined
def crossing_error(
    base: float, size: float, p_off: float, q_off: float, share: float, steepness: float, length: float
) -> float:
    """Error of the point where a row vanishes on the edge from p to q.

    ``share`` is how far from p to q it was found and ``steepness`` the inverse of the row's computed drop along the
    edge; ``length`` is the largest coordinate difference between the ends.
    """
    off = max(p_off, q_off)
    share_error = value_bound(base, size, off) * steepness
    if not share_error < 1.0:
        share_error = 1.0
    # the ends' errors count by how near they are
    change = q_off - p_off
    mixed = p_off + share * change + (share_error + 8.0 * _ROUNDING) * abs(change)
    if mixed < off:
        off = mixed
        less = value_bound(base, size, off) * steepness
        if less < share_error:
            share_error = less
    return _SLACK * (off + share_error * length) + 12.0 * _ROUNDING


@inlined
def squared(amplitude: float, error: float, rounding: float, size: float, gap: float) -> float:
    """One term's part in the error of a later stage's sums, squared (see the use of Cauchy and Schwarz in the docs)."""
    term = amplitude * (error + rounding * size) + gap
    return _SLACK * term * term + (_SQUARE_UNDERFLOW if error + rounding * size + gap > 0.0 else 0.0)


@inlined
def squares(amplitude: Any, error: Any, rounding: float, size: Any, gap: Any) -> Any:
    """As :func:`squared`, for eight terms."""
    reach = error + rounding * size
    term = amplitude * reach + gap
    guard = chosen(above(reach + gap, splat(0.0)), splat(_SQUARE_UNDERFLOW), splat(0.0))
    return _SLACK * term * term + guard


@inlined
def summed(fixed: Any, norm: Any, root: float) -> Any:
    """Error of sums over earlier units: that of their fixed part, and of the terms by Cauchy and Schwarz."""
    return _SLACK * (fixed + norm * root)
