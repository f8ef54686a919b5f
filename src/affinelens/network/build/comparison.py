"""Choosing between two tensors by a comparison, where what comes out is continuous.

``where(t > 0, a, b)`` is continuous if a - b is a multiple of t, entry by entry: then it is the larger or the smaller
of a and b, as the multiple's sign says. This is decided from the exact coefficients.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from affinelens.array_types import Floats
from affinelens.network.build import nonlinear
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.shapes import common_shape
from affinelens.network.build.values import Comparison, RefusedError, SignOf, Value, lifted

# Coefficients of all entries together; more take too long to compare.
_MOST_COEFFICIENTS = 2**22
_ACCEPTED = "the branches must agree where the comparison turns, as in where(x > c, x, c)"

Row = dict[tuple[int, int], Fraction]


def compare(builder: GraphBuilder, left: Value, right: Value) -> Comparison:
    """``left > right``; a tie may go either way, since what is continuous does not tell."""
    return Comparison(builder.subtract(lifted(builder, left), lifted(builder, right)))


def sign(builder: GraphBuilder, value: Value) -> SignOf:
    """1 where a tensor is above 0, and -1 below."""
    return SignOf(lifted(builder, value))


def negation(builder: GraphBuilder, condition: Value) -> Comparison:
    """Where the comparison does not hold."""
    if not isinstance(condition, Comparison):
        raise RefusedError("a negation is read of a comparison alone")
    return Comparison(nonlinear.negated(builder, condition.lead))


def choose_by(builder: GraphBuilder, condition: Comparison, first: Value, second: Value, name: str) -> Tensor:
    """``first`` where the comparison holds, and ``second`` elsewhere."""
    left, right = lifted(builder, first), lifted(builder, second)
    shape = common_shape(condition.shape, common_shape(left.shape, right.shape))
    lead, left, right = (builder.broadcast(each, shape) for each in (condition.lead, left, right))
    work = lead.size * sum(linear.size_in for linear in lead.sources.values())
    if work > _MOST_COEFFICIENTS:
        raise RefusedError(
            f"that the choice is continuous takes {work} coefficients to prove, more than the {_MOST_COEFFICIENTS} "
            f"accepted; write it with relu or clamp"
        )
    signs = _signs(lead, builder.subtract(left, right)).reshape(shape)
    larger = nonlinear.maximum(builder, [builder.scale(left, signs), builder.scale(right, signs)], name)
    return builder.scale(larger, signs)


def _signs(lead: Tensor, difference: Tensor) -> Floats:
    """The sign of what each entry of the difference is times the lead's."""
    signs = np.ones(lead.size)
    for entry in range(lead.size):
        turning, jump = _row(lead, entry), _row(difference, entry)
        if not jump:
            continue
        place = next(iter(jump))
        ratio = jump[place] / turning[place] if place in turning else Fraction(0)
        if not ratio or jump != {column: ratio * value for column, value in turning.items()}:
            if set(lead.sources) <= {0} and set(difference.sources) <= {0} and lead.sources:
                raise RefusedError(f"the choice jumps in entry {entry} and is not continuous; {_ACCEPTED}")
            raise RefusedError(f"the choice cannot be proved continuous in entry {entry}; {_ACCEPTED}")
        signs[entry] = 1.0 if ratio > 0 else -1.0
    return signs


def _row(tensor: Tensor, entry: int) -> Row:
    """What an entry is made of: coefficients that are not 0, by source and column; the constant has source -1."""
    parts = [*tensor.sources.items(), *([(-1, tensor.bias)] if tensor.bias is not None else [])]
    row: Row = {}
    for source, linear in parts:
        columns, numerators, denominator = linear.coefficients(entry)
        for column, numerator in zip(columns, numerators, strict=True):
            row[source, column] = Fraction(numerator, denominator)
    return row
