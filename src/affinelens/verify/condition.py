"""A property's condition as one more stage of the network: a unit for each constraint, positive where it holds.

A constraint is multiplied by a positive number so that its coefficients become sums of few float64s, and then nothing
is rounded: the unit's pre-activation is the constraint's left-hand side, exactly, up to that factor.

Where a constraint holds only on the border of a region, no full-dimensional cell shows it. *Relaxed*, every constraint
is made a little easier: ``g >= 0`` and ``g > 0`` become ``g + delta > 0`` with some delta > 0. A point that satisfies
the original then has full-dimensional cells all around it that satisfy the relaxed one, so no cell means no point; and
what the few cells found mean for the original is decided in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import isfinite, lcm

import numpy as np

from affinelens.domain.numbers import outward
from affinelens.domain.vnnlib.property import Constraint
from affinelens.errors import AffineLensError
from affinelens.network import AffineSum, Network, PiecewiseLinear, Stage
from affinelens.network.composed_maps import add, chain
from affinelens.network.linear_map import LinearMap, Sparse
from affinelens.restrict import Clauses

Condition = Sequence[Sequence[Constraint]]
ALWAYS = Constraint((), (), Fraction(1))
Row = dict[int, Fraction]
# How much easier a relaxed constraint is, for its size. Any positive number is right; a large one finds cells in vain.
_RELAXED_BY = Fraction(1, 2**40)
# Numbers that need more float64s than this to be written as their sum are refused.
_MOST_PIECES = 40


def with_condition(network: Network, condition: Condition, *, relaxed: bool) -> tuple[Network, Clauses]:
    """The network with a last stage of the condition's constraints, and the conjunctions as lists of its units."""
    number = {c: i for i, c in enumerate(dict.fromkeys(c for conjunction in condition for c in conjunction))}
    clauses = tuple(tuple(number[c] for c in conjunction) for conjunction in condition)
    constraints = [_scaled(_relaxed(c) if relaxed else c) for c in number]
    stage = Stage("condition", _functions(network, constraints), PiecewiseLinear.relu(len(constraints)))
    return Network(network.input_shape, (*network.stages, stage), network.output, network.notes), clauses


def _relaxed(constraint: Constraint) -> Constraint:
    """An easier constraint, whose constant is a float64."""
    constraint = _scaled(replace(constraint, constant=Fraction(0)), constraint.constant)
    size = abs(constraint.constant) + sum(abs(c) for _, c in (*constraint.inputs, *constraint.outputs))
    constant = outward(constraint.constant + _RELAXED_BY * (size or 1), down=False)
    return replace(constraint, constant=Fraction(constant) if isfinite(constant) else constraint.constant)


def _scaled(constraint: Constraint, constant: Fraction | None = None) -> Constraint:
    """A positive multiple whose numbers have powers of two below the line; another constant can take part in it."""
    numbers = [constraint.constant, *(c for _, c in (*constraint.inputs, *constraint.outputs))]
    factor = lcm(*(_odd_part(n.denominator) for n in numbers))
    return replace(
        constraint,
        inputs=tuple((i, factor * c) for i, c in constraint.inputs),
        outputs=tuple((j, factor * c) for j, c in constraint.outputs),
        constant=factor * (constraint.constant if constant is None else constant),
    )


def _odd_part(number: int) -> int:
    return number // (number & -number)


def _functions(network: Network, constraints: Sequence[Constraint]) -> AffineSum:
    """The constraints' left-hand sides as functions of what the network's output is a function of."""
    of_outputs = _map([dict(c.outputs) for c in constraints], network.output_size)
    of_inputs = _map([dict(c.inputs) for c in constraints], network.input_size)
    constants = _map([{0: c.constant} for c in constraints], 1)
    sources: dict[int, list[LinearMap]] = {}
    bias = [] if constants is None else [constants]
    if of_inputs is not None:
        sources[0] = [of_inputs]
    if of_outputs is not None:
        for k, part in network.output.sources:
            sources.setdefault(k, []).append(chain(part, of_outputs))
        if network.output.bias is not None:
            bias.append(chain(network.output.bias, of_outputs))
    maps = tuple((k, add(sources[k])) for k in sorted(sources))
    return AffineSum(len(constraints), maps, add(bias) if bias else None)


def _map(rows: list[Row], size_in: int) -> LinearMap | None:
    """The linear map with the given rows, as a sum of maps with float64 coefficients; None if all are zero."""
    pieces: list[LinearMap] = []
    while any(any(row.values()) for row in rows):
        if len(pieces) == _MOST_PIECES:
            raise AffineLensError("the condition's numbers differ too much in size to be added up; rescale them")
        nearest = [{k: _float(c) for k, c in row.items()} for row in rows]
        starts = np.cumsum([0, *(len(row) for row in nearest)])
        columns = np.array([k for row in nearest for k in row], dtype=np.int64)
        values = np.array([v for row in nearest for v in row.values()], dtype=np.float64)
        pieces.append(Sparse(starts, columns, values, size_in))
        rows = [
            {k: c - Fraction(near[k]) for k, c in row.items() if c != near[k]}
            for row, near in zip(rows, nearest, strict=True)
        ]
    return add(pieces) if pieces else None


def _float(value: Fraction) -> float:
    """The nearest float64, if it says anything about the value."""
    try:
        nearest = float(value)
    except OverflowError:
        nearest = 0.0
    if value and not nearest:
        raise AffineLensError(
            "the condition has a number that float64s cannot add up to, beyond 1e-308 or 1e308 in size; rescale it"
        )
    return nearest
