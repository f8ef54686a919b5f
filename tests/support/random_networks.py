"""Random networks, boxes for them and points of those: as plain arrays, and with every kind of stage."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import NDArray

from affinelens import Box, Network
from affinelens.network import MaxGroups, PiecewiseLinear
from affinelens.network.build.builder import GraphBuilder, Tensor
from affinelens.network.build.nonlinear import rectify
from affinelens.network.build.windows import Window, convolve, max_pool
from support.brute_force import Layer

Layers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


def random_layers(sizes: Sequence[int], seed: int, *, bias: float = 0.5, whole: int = 0) -> Layers:
    """A ReLU network as plain arrays: normal weights, and biases that are larger by a factor (0: none).

    If ``whole`` is given, all are whole numbers, weights up to that and biases up to the factor times that: ties are
    many, and composing layers rounds nothing.
    """
    generator = np.random.default_rng(seed)

    def numbers(factor: float, *shape: int) -> NDArray[np.float64]:
        if whole:
            limit = ceil(factor * whole)
            return generator.integers(-limit, limit + 1, shape).astype(float)
        return factor * generator.normal(size=shape)

    return [(numbers(1, n, k), numbers(bias, n)) for k, n in pairwise(sizes)]


def reference_layers(sizes: Sequence[int], seed: int, *, bias: float = 1.0, whole: int = 0) -> list[Layer]:
    """Random layers as the brute force takes them."""
    layers = random_layers(sizes, seed, bias=bias, whole=whole)
    return [Layer(weight.tolist(), offset.tolist()) for weight, offset in layers]


def wide_layers(seed: int, bias: float) -> Layers:
    """Two layers of 1200 units on the plane: on a small square, only few of them switch."""
    first, (weight, offset), last = random_layers([2, 1200, 1200, 2], seed, bias=bias)
    return [first, (weight / 30, offset), last]


def dense_network(generator: np.random.Generator, inputs: int) -> Network:
    """Dense stages of all kinds, some with integer weights, some with a skip connection."""
    builder = GraphBuilder((inputs,))
    tensors = [builder.input()]
    for _ in range(int(generator.integers(1, 5))):
        units = int(generator.integers(2, 9))
        weight = generator.normal(size=(tensors[-1].size, units))
        if generator.random() < 0.3:
            weight = np.round(2 * weight) / 2
        z = builder.add_constant(builder.matmul_right(tensors[-1], weight), generator.normal(size=units) / 2)
        if len(tensors) > 1 and tensors[-2].size == units:
            z = builder.add(z, tensors[-2])
        tensors.append(_activated(builder, z, int(generator.integers(0, 5))))
    return builder.finish(builder.matmul_right(tensors[-1], generator.normal(size=(tensors[-1].size, 2))))


def _activated(builder: GraphBuilder, z: Tensor, kind: int) -> Tensor:
    if kind == 0:
        return rectify(builder, z, np.array(0.0), "relu")
    if kind == 1:
        return rectify(builder, z, np.array(0.1), "leaky")
    if kind == 2:
        return builder.activate(z, PiecewiseLinear.of(z.size, [-0.5, 0.75], [0, 1, 0], [-0.5, 0, 0.75]), "clip")
    if kind == 3:  # ties: several candidates are zero where their ReLUs are off
        z = rectify(builder, z, np.array(0.0), "relu")
    starts = np.array(sorted({0, z.size // 2, z.size}))
    return builder.activate(z, MaxGroups(starts), "max", (len(starts) - 1,))


def pooled_network(generator: np.random.Generator, *, bias: bool) -> Network:
    """Convolution, ReLU, max pool, convolution, ReLU on a 6 x 6 image, most of which a slice leaves black."""
    builder = GraphBuilder((1, 6, 6))
    z = builder.input(batched=True)
    for channels, taken in ((3, 1), (2, 3)):
        kernel = generator.normal(size=(channels, taken, 3, 3))
        constants = generator.normal(size=channels) / 4 if bias else np.zeros(channels)
        z = convolve(builder, z, kernel, constants, Window((3, 3), (1, 1), (1, 1), (1, 1), (1, 1)))
        z = rectify(builder, z, np.array(0.0), "relu")
        z = max_pool(builder, z, Window((2, 2), (2, 2), (1, 1), (0, 0), (0, 0)), "pool") if taken == 1 else z
    return builder.finish(builder.reshape(z, (1, z.size)))


def small_box(generator: np.random.Generator, inputs: int) -> Box:
    lower = generator.normal(size=inputs) / 2
    return Box(lower, lower + generator.uniform(0.05, 1.5, size=inputs))


def rational_points(generator: np.random.Generator, box: Box, count: int) -> list[list[Fraction]]:
    """Points of a box, corners among them."""
    corners = generator.integers(0, 2, size=(count, box.inputs))
    shares = np.where(generator.random((count, 1)) < 0.3, corners, generator.random((count, box.inputs)))
    points = box.lower + shares * (box.upper - box.lower)
    return [[Fraction(v) for v in np.clip(point, box.lower, box.upper).tolist()] for point in points]
