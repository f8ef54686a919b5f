"""Random ReLU networks as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Layers = list[tuple[NDArray[np.float64], NDArray[np.float64]]]


def random_layers(sizes: Sequence[int], seed: int, *, bias: bool = True) -> Layers:
    generator = np.random.default_rng(seed)
    return [(generator.normal(size=(n, k)), generator.normal(size=n) * 0.5 * bias) for k, n in pairwise(sizes)]
