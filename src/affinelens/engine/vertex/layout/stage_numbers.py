"""One stage's functions as float64: its parameters multiplied out exactly and rounded once, or rows that are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from affinelens.arithmetic import UNIT_ROUNDOFF, ExactMatrix, gamma
from affinelens.array_types import Floats, Indices
from affinelens.network import Activation
from affinelens.network.canonical import AffineSum, Stage
from affinelens.network.composed_maps import Chain
from affinelens.network.linear_map import Dense, LinearMap, Select
from affinelens.restrict import RestrictedRows

# Bounds are sums of few non-negative terms computed in float64; this factor covers their own rounding.
SLACK = 1.0 + 2.0**-30
# Integers up to this size are exact in float64.
EXACT_INTEGERS = 2.0**53
# Rows whose entries are multiples of a power of two above this never underflow.
LOWEST_EXPONENT = -960
SMALLEST_ACCURATE = 2.0**LOWEST_EXPONENT
_SMALLEST = 5e-324


@dataclass(frozen=True, eq=False)
class StageNumbers:
    """A stage's pre-activations as float64: ``fixed [y; 1] + sum of maps applied to earlier stages' outputs``.

    ``fixed`` includes what earlier units output below all their breaks. A map comes with whether its entries are
    exact; each is correctly rounded otherwise. ``error``, if it is given, is how far the true functions may be from
    these on the domain, and then all numbers are taken as they are. ``first_like`` says for every unit which one is
    known to be the same function.
    """

    activation: Activation
    fixed: Floats
    fixed_is_exact: bool
    maps: tuple[tuple[int, Floats, bool], ...]
    first_like: Indices
    error: Floats | None = None

    @classmethod
    def of_stage(cls, stage: Stage, chart: ExactMatrix, earlier: Sequence[Activation]) -> StageNumbers:
        """From the model's own parameters: multiplied out exactly and rounded once."""
        width = chart.shape[1]
        maps = tuple((k - 1, *multiplied_out(linear)) for k, linear in stage.linear.sources if k > 0)
        first_like = np.arange(stage.activation.size_in)
        constants = _constants_alone(stage.linear, earlier)
        if constants is not None:
            table = np.zeros((len(constants), width))
            table[:, -1] = constants
            return cls(stage.activation, table, True, maps, first_like)
        one = ExactMatrix.from_floats(np.append(np.zeros(width - 1), 1.0)[None, :])
        sources = [chart]
        for activation in earlier:
            constants = np.zeros((activation.size_out, width))
            constants[:, -1] = _lowest_offsets(activation)
            sources.append(ExactMatrix.from_floats(constants))
        total = stage.linear.propagate_exact(sources, one)
        table = total.to_floats()
        table[(table == 0) & _nonzero(total)] = _SMALLEST
        exact = False
        if np.isfinite(table).all():
            again = ExactMatrix.from_floats(table)
            exact = bool(again.numerators * total.denominator == total.numerators * again.denominator)
        return cls(stage.activation, table, exact, maps, first_like)

    @classmethod
    def of_rows(
        cls, rows: RestrictedRows, activation: Activation, earlier: Sequence[Activation], first_like: Indices
    ) -> StageNumbers:
        """From the rows of switching units, whose error on the domain is known."""
        fixed, error = rows.fixed.copy(), rows.error
        for k, matrix in rows.maps.items():
            offsets = _lowest_offsets(earlier[k])
            if offsets.any():
                fixed[:, -1] += matrix @ offsets
                error = error + SLACK * gamma(len(offsets) + 2) * (np.abs(matrix) @ np.abs(offsets))
                error = error + SLACK * 2 * UNIT_ROUNDOFF * np.abs(fixed[:, -1])
        maps = tuple((k, matrix, True) for k, matrix in rows.maps.items())
        return cls(activation, fixed, False, maps, first_like, error)


def _constants_alone(linear: AffineSum, earlier: Sequence[Activation]) -> Floats | None:
    """The bias of a stage that takes nothing from the input, nor constants from earlier stages; None if it is rounded.

    That is the usual case, and spares it rational arithmetic.
    """
    if any(k == 0 or _lowest_offsets(earlier[k - 1]).any() for k, _ in linear.sources):
        return None
    if linear.bias is None:
        return np.zeros(linear.size)
    column, exact = multiplied_out(linear.bias)
    return column[:, 0] if exact else None


def _lowest_offsets(activation: Activation) -> Floats:
    """The constant of each unit's lowest piece."""
    return activation.offsets[:, 0]


def _nonzero(matrix: ExactMatrix) -> NDArray[np.bool_]:
    return np.array([bool(n) for n in matrix.numerators.entries()], dtype=bool).reshape(matrix.shape)


def multiplied_out(linear: LinearMap) -> tuple[Floats, bool]:
    """A linear map multiplied out, each entry correctly rounded; and whether nothing was rounded."""
    if isinstance(linear, Dense):
        return linear.weight, True
    unrounded = _multiplied_without_rounding(linear)
    if unrounded is not None:
        return unrounded, True
    exact = linear.apply_exact(ExactMatrix.from_floats(np.eye(linear.size_in)))
    table = exact.to_floats()
    table[(np.abs(table) < SMALLEST_ACCURATE) & _nonzero(exact)] = np.nan
    if not np.isfinite(table).all():
        return table, False
    again = ExactMatrix.from_floats(table)
    return table, bool(again.numerators * exact.denominator == exact.numerators * again.denominator)


def _multiplied_without_rounding(linear: LinearMap) -> Floats | None:
    """A chain of matrices multiplied in float64, if all sums on the way are integers times a power of two that fit."""
    if not isinstance(linear, Chain):
        return None
    table, exponent = np.eye(linear.size_in), 0
    for part in linear.maps:
        if isinstance(part, Select):
            table = part.apply(table)
            continue
        if not isinstance(part, Dense):
            return None
        exponent = min(0, exponent + lowest_exponent(part.weight))
        with np.errstate(over="ignore"):
            largest = part.apply_absolute(np.abs(table)).max(initial=0.0)
        if exponent <= LOWEST_EXPONENT or not largest < np.ldexp(EXACT_INTEGERS, exponent):
            return None
        table = part.apply(table)
    return table


def lowest_exponent(values: Floats) -> int:
    """The largest e such that all values are multiples of ``2**e`` (a large number if all are zero)."""
    finite = values[np.isfinite(values) & (values != 0)]
    if not finite.size:
        return 2000
    mantissas, exponents = np.frexp(finite)
    whole = np.ldexp(mantissas, 53).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64)).astype(np.int64)
    return int((exponents.astype(np.int64) - 53 + trailing).min())
