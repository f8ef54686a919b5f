"""Networks that the benchmarks run on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Layers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


def kaiming_uniform(sizes: Sequence[int], seed: int) -> Layers:
    """A ReLU network with Kaiming-uniform weights and biases uniform in 1 / sqrt(inputs)."""
    generator = np.random.default_rng(seed)
    layers = []
    for inputs, outputs in pairwise(sizes):
        weight = generator.uniform(-1, 1, (outputs, inputs)) * np.sqrt(6 / inputs)
        layers.append((weight, generator.uniform(-1, 1, outputs) / np.sqrt(inputs)))
    return layers


def zero_bias(sizes: Sequence[int], seed: int) -> Layers:
    """As :func:`kaiming_uniform` without biases: all hyperplanes pass through the origin."""
    return [(weight, np.zeros_like(bias)) for weight, bias in kaiming_uniform(sizes, seed)]


def integer_weights(sizes: Sequence[int], seed: int) -> Layers:
    """Weights and biases from -3 to 3: hyperplanes meet in common points, and coincide, all the time."""
    generator = np.random.default_rng(seed)
    return [
        (generator.integers(-3, 4, (outputs, inputs)).astype(float), generator.integers(-3, 4, outputs).astype(float))
        for inputs, outputs in pairwise(sizes)
    ]


def name_of(sizes: Sequence[int]) -> str:
    """``3-32x2`` for 3 inputs and two hidden layers of 32; the output is not named."""
    inputs, *hidden, _ = sizes
    width = hidden[0]
    if any(n != width for n in hidden):
        return "-".join(map(str, sizes))
    return f"{inputs}-{width}" + (f"x{len(hidden)}" if len(hidden) > 1 else "")
