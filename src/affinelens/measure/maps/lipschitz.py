"""The local Lipschitz constant of a network over a domain: the largest slope of any of its affine pieces.

A network is continuous, so on a convex domain no two inputs differ more in output than the steepest region on the way
between them allows, and inside that region the bound is reached.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import ExactMatrix, gamma
from affinelens.arithmetic.rational import nearest, quotient
from affinelens.blocks import blocks
from affinelens.convex.inscribed_ball import steepest_slope
from affinelens.errors import AffineLensError
from affinelens.measure.geometry.lengths import lengths
from affinelens.measure.maps.affine_maps import composed_maps
from affinelens.measure.maps.slopes import slopes, spectral_norms
from affinelens.regions import Regions, exact_functions
from affinelens.regions.region_functions import RegionFunctions

NORMS = ("l2", "linf")
# Jacobians of entries beyond this are measured in units of their largest.
_LARGEST = 1 << 512
_REGIONS_AT_ONCE = 1 << 10


def lipschitz_constant(regions: Regions, norm: str = "l2") -> float:
    """The largest operator norm of a region's Jacobian, in the domain's own coordinates.

    ``"l2"`` measures inputs and outputs by their Euclidean length, ``"linf"`` by their largest entry. Every region that
    float64 cannot rule out is looked at in rational arithmetic: the result is correctly rounded, but for the spectral
    norm of a Jacobian with several rows and columns, whose last digits are those of a float64 singular value.
    """
    if norm not in NORMS:
        raise AffineLensError(f"the norm must be one of {', '.join(NORMS)}, but got {norm!r}")
    found = slopes(regions)
    norms = found.spectral if norm == "l2" else found.row_sums
    if not len(norms):
        raise AffineLensError("a set without regions has no Lipschitz constant; enumerate at least one")
    with np.errstate(over="ignore", invalid="ignore"):
        bound = norms.max() - 2 * _error(regions, norm) * (1 + gamma(4)) - 2 * gamma(16) * norms.max()
    best = Fraction(0)
    for index in _distinct(regions, np.flatnonzero(~(norms < bound))):
        best = max(best, _power(exact_functions(regions).outputs(regions.pattern(index)), norm))
    return _root(best) if norm == "l2" else nearest(best)


def _error(regions: Regions, norm: str) -> float:
    """How far the norm of a region's float64 Jacobian may be off, apart from computing it."""
    frame = regions.domain.frame
    steepest = steepest_slope(np.ldexp(frame.lower, -frame.unit), np.ldexp(frame.upper, -frame.unit))
    with np.errstate(over="ignore"):
        rows = np.ldexp(RegionFunctions.of(regions).errors[-1] * steepest, -frame.unit)
        return float(lengths(rows) if norm == "l2" else rows.max() * np.sqrt(frame.dim))


def _distinct(regions: Regions, candidates: NDArray[np.int64]) -> list[int]:
    """One region of each float64 Jacobian among the candidates."""
    region_functions, found = RegionFunctions.of(regions), dict[bytes, int]()
    for rows in blocks(len(candidates), 1, _REGIONS_AT_ONCE):
        some = candidates[rows]
        for index, jacobian in zip(some.tolist(), composed_maps(region_functions, some).slopes, strict=True):
            found.setdefault(jacobian.tobytes(), index)
    return list(found.values())


def _power(form: ExactMatrix, norm: str) -> Fraction:
    """The norm of ``W`` in ``[W | b]``, or its square in l2."""
    rows = [row[:-1] for row in form.to_fractions()]
    if norm == "linf":
        return max((sum((abs(a) for a in row), Fraction(0)) for row in rows), default=Fraction(0))
    columns = list(zip(*rows, strict=True))
    if len(rows) == 1 or len(columns) == 1:
        return sum((a * a for row in rows for a in row), Fraction(0))
    size = max((abs(a) for row in rows for a in row), default=Fraction(0)) or Fraction(1)
    if 1 / _LARGEST < size < _LARGEST:
        size = Fraction(1)
    scaled = np.array([[float(a / size) for a in row] for row in rows])
    return (Fraction(float(spectral_norms(scaled[None])[0])) * size) ** 2


def _root(square: Fraction) -> float:
    """The square root, correctly rounded but for ties that no float64 is between."""
    shift = max(0, 256 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    return quotient(isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))
