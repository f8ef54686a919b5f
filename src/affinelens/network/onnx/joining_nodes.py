"""ONNX operators that put several values together: scattering with a reduction, Einsum, sequences of tensors."""

from __future__ import annotations

from collections import Counter
from math import prod
from string import ascii_letters

import numpy as np

from affinelens.errors import AffineLensError
from affinelens.network.build.builder import Tensor
from affinelens.network.build.replay import Operator
from affinelens.network.build.scattering import scattered
from affinelens.network.build.shapes import checked_axis, require_size
from affinelens.network.build.values import Constant, RefusedError, Value, lifted
from affinelens.network.linear_map import Sparse
from affinelens.network.note import evaluated
from affinelens.network.onnx.node_call import NodeCall
from affinelens.network.onnx.reference import moved, result_shape

_REDUCTIONS = {"add": "sum", "max": "amax", "min": "amin"}


def scatter(call: NodeCall) -> Tensor | list[Value]:
    """ScatterElements and ScatterND: entries replaced, or put together with those that are there."""
    reduction = call.node.text("reduction", "none")
    if reduction == "none":
        return moved(call)
    target, index = call.tensor(0), call.constant(1).values
    if index.dtype.kind not in "iu":
        raise AffineLensError(f"{call.constant(1).name} holds {index.dtype}; integers are needed")
    if call.node.operator == "ScatterND":
        where = list(np.moveaxis(index, -1, 0))
    else:
        where = list(np.indices(index.shape))
        where[call.axis(0, len(target.shape))] = index
    places = target.positions[tuple(where)]
    return scattered(call.builder, target, call.tensor(2), places, _REDUCTIONS.get(reduction, reduction), call.name)


def einsum(call: NodeCall) -> Tensor:
    """Einsum of one tensor that depends on the network's input and of constants, as a matrix."""
    values = call.values()
    varying = [place for place, value in enumerate(values) if not isinstance(value, Constant)]
    if len(varying) > 1:
        raise RefusedError("several factors depend on the network's input; one may, or it is not piecewise affine")
    terms, output = _equation(call.node.text("equation", ""))
    if len(terms) != len(values):
        raise AffineLensError(f"the equation has {len(terms)} terms, but there are {len(values)} inputs")
    place = varying[0] if varying else 0
    source, shape = call.tensor(place), result_shape(call)
    require_size(source.size * max(source.size, prod(shape)), f"a tensor of shape {source.shape} to one of {shape}")
    if len(values) > 2:
        require_size(prod(prod(value.shape) for value in values), "what Einsum multiplies on its way")
    # The tensor's place is taken by unit vectors, which an axis of their own counts.
    counting = next(letter for letter in ascii_letters if letter not in "".join(terms))
    units = np.eye(source.size).reshape(*source.shape, source.size)
    factors = [units if number == place else call.numbers(number) for number in range(len(values))]
    written = ",".join(f"{term}{counting if number == place else ''}" for number, term in enumerate(terms))
    matrix = np.einsum(f"{written}->{counting}{output}", *factors, optimize=True).reshape(source.size, prod(shape)).T
    if len(values) > 2 or set("".join(terms)) - set(terms[place]) - set(output):
        call.builder.note(evaluated(call.name, "Einsum"))
    rows, used = np.nonzero(matrix)
    starts = np.cumsum([0, *np.bincount(rows, minlength=len(matrix))])
    return call.builder.linear(source, Sparse(starts, used, matrix[rows, used], source.size), shape)


def _equation(given: str) -> tuple[list[str], str]:
    """The letters of the inputs' axes and of the output's: in order those that appear once, where that is left open."""
    read, arrow, output = given.replace(" ", "").partition("->")
    terms = read.split(",")
    if not arrow:
        counts = Counter(read)
        once = sorted(letter for letter, count in counts.items() if letter in ascii_letters and count == 1)
        output = f"{'...' if '...' in read else ''}{''.join(once)}"
    if len(set(read) & set(ascii_letters)) == len(ascii_letters):
        raise AffineLensError(f"the equation {given!r:.40} uses up all letters")
    return terms, output


def sequence(call: NodeCall) -> tuple[Value, ...]:
    """SequenceConstruct: several values as one."""
    return tuple(call.values())


def joined_sequence(call: NodeCall) -> Tensor:
    """ConcatFromSequence: the tensors of a sequence along an axis, which is a new one where the attribute says so."""
    parts = [lifted(call.builder, part) for part in call.sequence(0)]
    new = call.node.integer("new_axis", 0)
    axis = checked_axis(call.node.integer("axis", 0), len(parts[0].shape) + new)
    if new:
        shapes = [(*part.shape[:axis], 1, *part.shape[axis:]) for part in parts]
        parts = [call.builder.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]
    return call.builder.concatenate(parts, axis)


def entry_of_sequence(call: NodeCall) -> Value:
    """SequenceAt: one of the values of a sequence."""
    parts, index = call.sequence(0), call.integers(1)
    if len(index) != 1 or not -len(parts) <= index[0] < len(parts):
        raise AffineLensError(f"asks for entry {index} of a sequence of {len(parts)}")
    return parts[index[0]]


OPERATORS: dict[str, Operator] = {
    "ConcatFromSequence": joined_sequence,
    "Einsum": einsum,
    "ScatterElements": scatter,
    "ScatterND": scatter,
    "SequenceAt": entry_of_sequence,
    "SequenceConstruct": sequence,
}
