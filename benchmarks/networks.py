"""Networks and domains that the benchmarks run on."""

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
