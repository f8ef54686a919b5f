"""Networks for tests: the brute force's layers compiled, and exact evaluation that is not the package's own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from affinelens import Network, RegionSet
from affinelens.network import MaxGroups, PiecewiseLinear
from affinelens.network.build.builder import GraphBuilder
from support.brute_force import Layer

Pieces = tuple[Sequence[float], Sequence[float], Sequence[float]]

RELU: Pieces = ([0.0], [0.0, 1.0], [0.0, 0.0])
LEAKY: Pieces = ([0.0], [0.25, 1.0], [0.0, 0.0])
NEGATIVE_SLOPE: Pieces = ([0.0], [-0.5, 1.0], [0.0, 0.0])
ABSOLUTE: Pieces = ([0.0], [-1.0, 1.0], [0.0, 0.0])
HARD_TANH: Pieces = ([-1.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0])
ZIGZAG: Pieces = ([-1.0, 0.0, 1.0], [-1.0, 1.0, -1.0, 1.0], [-1.0, 1.0, 1.0, -1.0])
LINEAR: Pieces = ([], [1.0], [0.0])


def activation(pieces: Sequence[Pieces]) -> PiecewiseLinear:
    """One unit for each of the given functions."""
    width = max(len(breakpoints) for breakpoints, _, _ in pieces)
    padded = [
        (
            [*breakpoints, *[np.inf] * (width - len(breakpoints))],
            [*slopes, *[slopes[-1]] * (width + 1 - len(slopes))],
            [*offsets, *[offsets[-1]] * (width + 1 - len(offsets))],
        )
        for breakpoints, slopes, offsets in pieces
    ]
    columns = [np.array([row[k] for row in padded], dtype=np.float64) for k in range(3)]
    return PiecewiseLinear(columns[0].reshape(len(pieces), width), columns[1], columns[2])


def compiled(
    layers: Sequence[Layer], output: tuple[Sequence[Sequence[float]], Sequence[float]] | None = None
) -> Network:
    """The network of the layers, followed by a linear output if one is given."""
    builder = GraphBuilder((len(layers[0].weight[0]),))
    tensor = builder.input()
    for index, layer in enumerate(layers):
        tensor = builder.matmul_right(tensor, np.array(layer.weight, dtype=np.float64).T)
        tensor = builder.add_constant(tensor, np.array(layer.bias, dtype=np.float64))
        if layer.groups is not None:
            groups = MaxGroups(np.cumsum([0, *layer.groups]))
            tensor = builder.activate(tensor, groups, f"layer {index}", (len(layer.groups),))
        else:
            tensor = builder.activate(tensor, activation(layer.pieces or [RELU] * len(layer.bias)), f"layer {index}")
    if output is not None:
        tensor = builder.matmul_right(tensor, np.array(output[0], dtype=np.float64).T)
        tensor = builder.add_constant(tensor, np.array(output[1], dtype=np.float64))
    return builder.finish(tensor)


def relu_layers(*layers: tuple[Sequence[Sequence[float]], Sequence[float]]) -> list[Layer]:
    return [Layer(weight, bias) for weight, bias in layers]


def patterns(regions: RegionSet) -> set[tuple[int, ...]]:
    """The patterns of a complete set, after making sure that none comes twice."""
    found = {tuple(pattern) for pattern in regions.patterns.tolist()}
    assert len(found) == len(regions)
    return found


def evaluate(layers: Sequence[Layer], x: Sequence[Fraction | float]) -> tuple[list[Fraction], list[int]]:
    """The last layer's outputs at x, and the pattern there (on a breakpoint: the piece below; in a draw: the first)."""
    values = [Fraction(v) for v in x]
    pattern: list[int] = []
    for layer in layers:
        z = [
            sum((Fraction(w) * v for w, v in zip(weights, values, strict=True)), Fraction(bias))
            for weights, bias in zip(layer.weight, layer.bias, strict=True)
        ]
        values, pieces = (
            _maxima(z, layer.groups) if layer.groups is not None else _pieces(z, layer.pieces or [RELU] * len(z))
        )
        pattern += pieces
    return values, pattern


def _maxima(z: list[Fraction], groups: Sequence[int]) -> tuple[list[Fraction], list[int]]:
    starts = [sum(groups[:g]) for g in range(len(groups))]
    winners = [max(range(size), key=lambda i: (z[first + i], -i)) for first, size in zip(starts, groups, strict=True)]
    return [z[first + winner] for first, winner in zip(starts, winners, strict=True)], winners


def _pieces(z: list[Fraction], pieces: Sequence[Pieces]) -> tuple[list[Fraction], list[int]]:
    taken = [
        sum(value > Fraction(t) for t in breakpoints) for value, (breakpoints, _, _) in zip(z, pieces, strict=True)
    ]
    values = [
        Fraction(slopes[piece]) * value + Fraction(offsets[piece])
        for value, piece, (_, slopes, offsets) in zip(z, taken, pieces, strict=True)
    ]
    return values, taken
