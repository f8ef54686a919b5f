"""Bounds on what float64 rounding can do to sums of products.

``gamma(n)`` is the classical constant of Higham: an inner product of n terms, summed in any order, with or
without fused multiply-add, is off by at most ``gamma(n) * sum |a_i b_i|``. Bounds are themselves computed in
float64, so they pass through :func:`upward`, which covers their own rounding and underflow.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

UNIT_ROUNDOFF = 2.0**-53
# A bound is a sum of fewer than 2**30 non-negative terms, so its relative error is below 2**-22.
_SLACK = 1.0 + 2.0**-20
# Products below the smallest normal number lose at most 2**-1074 each; 2**-1000 covers 2**74 of them.
_UNDERFLOW = 2.0**-1000

FloatOrArray = TypeVar("FloatOrArray", float, np.ndarray)


def gamma(terms: int) -> float:
    """Relative error bound of an inner product of ``terms`` products."""
    product = (terms + 1) * UNIT_ROUNDOFF
    return product / (1.0 - product)


def upward(bound: FloatOrArray) -> FloatOrArray:
    """Return a value certainly no smaller than the exact value of a computed non-negative bound."""
    return bound * _SLACK + _UNDERFLOW
