"""How far the kernels' float64 numbers may be off.

Every function here returns an upper bound; docs/exactness.rst derives them. All coordinates lie in [-1, 1], ``size`` is
the sum of a row's absolute coefficients, and ``off`` bounds a vertex's error in each coordinate.
"""

from __future__ import annotations

from affinelens.engine.vertex.jit import inlined

# Evaluating a row of at most 60 coefficients: (terms + 2) roundings, with room for the bound's own rounding.
_ROUNDING = 2.0**-53
_SLACK = 1.0 + 2.0**-20


@inlined
def row_base(error: float, constant_error: float, size: float, constant: float, dim: int) -> float:
    """Error of a row's value at an exactly known point of the domain."""
    return _SLACK * (error + constant_error + (dim + 3) * _ROUNDING * (size + abs(constant)))


@inlined
def value_bound(base: float, size: float, off: float) -> float:
    """Error of a row's value at a vertex."""
    return base + _SLACK * size * off


@inlined
def crossing_error(base: float, size: float, off: float, drop: float, length: float) -> float:
    """Error of the point where a row vanishes on an edge, given the row's computed drop along it.

    ``off`` is the larger error of the two ends and ``length`` the largest coordinate difference between them.
    """
    shift = value_bound(base, size, off) * length
    if shift < drop * length:
        return _SLACK * (off + shift / drop) + 12.0 * _ROUNDING
    return _SLACK * (off + length) + 12.0 * _ROUNDING


@inlined
def squared(amplitude: float, error: float, rounding: float, size: float, gap: float) -> float:
    """One term's part in the error of a later stage's sums, squared (see the use of Cauchy and Schwarz in the docs)."""
    term = amplitude * (error + rounding * size) + gap
    return _SLACK * term * term


@inlined
def summed(fixed: float, norm: float, root: float) -> float:
    """Error of a sum over earlier units: that of its fixed part, and of the terms by Cauchy and Schwarz."""
    return _SLACK * (fixed + norm * root)
