"""What the gallery's networks are trained with: two data sets and a few lines of Adam, in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Layers = list[tuple[Floats, Floats]]


def two_moons(count: int = 200, seed: int = 0) -> tuple[Floats, Indices]:
    """Two interleaved half circles in the square from -1 to 1, and which of them each point is of."""
    generator = np.random.default_rng(seed)
    angle, label = generator.uniform(0, np.pi, count), np.arange(count) % 2
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle)) - 0.5
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle)) - 0.25
    return np.stack([x / 1.8, y / 1.1], axis=1) + generator.normal(0, 0.05, (count, 2)), label


def shapes(count: int = 300, size: int = 16, seed: int = 0) -> tuple[Floats, Indices]:
    """Images of a disc, a cross or a ring, at some place and with some noise."""
    generator = np.random.default_rng(seed)
    rows, columns = np.mgrid[:size, :size]
    label = np.arange(count) % 3
    images = np.empty((count, size, size))
    for image, kind in zip(images, label, strict=True):
        y, x = rows - generator.uniform(6, 9), columns - generator.uniform(6, 9)
        radius = np.hypot(x, y)
        marks = (radius < 4.5, (np.minimum(abs(x), abs(y)) < 1.2) & (radius < 6), abs(radius - 5) < 1.2)
        image[:] = 0.85 * marks[kind] + generator.uniform(0, 0.15, (size, size))
    return images, label


def train(
    sizes: Sequence[int], points: Floats, labels: Indices, *, epochs: int, seed: int = 0, rate: float = 0.01
) -> Iterator[tuple[int, Layers]]:
    """Full-batch Adam on the cross-entropy of a ReLU network: yields every epoch and the layers after it."""
    generator = np.random.default_rng(seed)
    parameters: list[Floats] = []
    for n_in, n_out in pairwise(sizes):
        parameters += [
            generator.normal(size=(n_out, n_in)) * np.sqrt(2 / n_in),
            generator.uniform(-1, 1, n_out) / np.sqrt(n_in),
        ]
    means, squares = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    for epoch in range(1, epochs + 1):
        for i, slope in enumerate(_slopes(parameters, points, labels)):
            means[i] = 0.9 * means[i] + 0.1 * slope
            squares[i] = 0.99 * squares[i] + 0.01 * slope**2
            step = means[i] / (1 - 0.9**epoch) / (np.sqrt(squares[i] / (1 - 0.99**epoch)) + 1e-8)
            parameters[i] = parameters[i] - rate * step
        yield epoch, list(zip(parameters[::2], parameters[1::2], strict=True))


def trained(sizes: Sequence[int], points: Floats, labels: Indices, *, epochs: int, seed: int = 0) -> Layers:
    """The layers after the last epoch."""
    *_, (_, layers) = train(sizes, points, labels, epochs=epochs, seed=seed)
    return layers


def _slopes(parameters: list[Floats], points: Floats, labels: Indices) -> list[Floats]:
    values = [points]
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        z = values[-1] @ weight.T + bias
        values.append(np.maximum(z, 0) if len(values) < len(parameters) // 2 else z)
    odds = np.exp(values[-1] - values[-1].max(axis=1, keepdims=True))
    back = odds / odds.sum(axis=1, keepdims=True)
    back[np.arange(len(points)), labels] -= 1
    back /= len(points)
    result: list[Floats] = []
    for weight, below in zip(parameters[-2::-2], values[-2::-1], strict=True):
        result = [back.T @ below, back.sum(axis=0), *result]
        back = (back @ weight) * (below > 0)
    return result
