"""Euclidean lengths of any size: squares that would overflow or underflow are taken in units of a power of two."""

from __future__ import annotations

import numpy as np

from affinelens.array_types import Floats

_SMALLEST_PLAIN, _LARGEST_PLAIN = 2.0**-450, 2.0**450


def lengths(values: Floats, axis: int = -1) -> Floats:
    """The Euclidean length along an axis."""
    with np.errstate(over="ignore", under="ignore"):
        found: Floats = np.asarray(np.linalg.norm(values, axis=axis))
        if np.all((found > _SMALLEST_PLAIN) & (found < _LARGEST_PLAIN)):
            return found
        unit = np.frexp(np.abs(values).max(axis=axis, initial=0.0, keepdims=True))[1]
        scaled = np.linalg.norm(np.ldexp(values, -unit), axis=axis)
        return np.asarray(np.ldexp(scaled, unit.squeeze(axis)))
