"""The data that networks are trained on: two moons, and random points; the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError

# With fewer, a feature may not vary at all.
_FEWEST = 4


@dataclass(frozen=True)
class Samples:
    """Inputs, and the class of each."""

    points: NDArray[np.floating]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.labels)


def two_moons(seed: int, count: int, noise: float) -> Samples:
    """Two interleaved half circles with normal noise, each feature standardised, all divided by the largest value.

    (Scaling features to a range before standardising them, as the authors do, changes nothing.)
    """
    if count < _FEWEST:
        raise AffineLensError(f"two moons need at least {_FEWEST} samples, but got {count}")
    generator = np.random.default_rng(seed)
    upper = (count + 1) // 2
    angle = np.concatenate([np.linspace(0, np.pi, upper), np.linspace(0, np.pi, count - upper)])
    labels = np.repeat([0, 1], [upper, count - upper])
    x = np.where(labels == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(labels == 0, np.sin(angle), 0.5 - np.sin(angle))
    points = np.stack([x, y], axis=1) + generator.normal(0, noise, (count, 2))
    points -= points.mean(axis=0)
    points /= points.std(axis=0)
    return Samples(points / np.abs(points).max(), labels)


def random_points(seed: int, count: int, dimension: int) -> Samples:
    """Points spread evenly over [-1, 1]^d, half of them of either class, at random."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(-1, 1, (count, dimension))
    return Samples(points, generator.permutation(np.arange(count) % 2))
