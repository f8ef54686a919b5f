"""Train the two-moons classifier that comes with the package (2-16-16-2, ReLU); numpy is all it needs.

Run ``python examples/train_two_moons.py`` to write ``src/affinelens/cli/two_moons.npz`` anew.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SIZES = (2, 16, 16, 2)
SAMPLES, STEPS, BATCH, RATE, SEED = 400, 4000, 64, 3e-3, 0
TARGET = Path(__file__).resolve().parents[1] / "src" / "affinelens" / "cli" / "two_moons.npz"


def two_moons(generator: np.random.Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Two interleaved half circles with noise, scaled into [-1, 1]^2."""
    angle = generator.uniform(0, np.pi, SAMPLES)
    label = np.arange(SAMPLES) % 2
    x = np.where(label == 0, np.cos(angle), 1 - np.cos(angle))
    y = np.where(label == 0, np.sin(angle), 0.5 - np.sin(angle))
    points = np.stack([x, y], axis=1) + generator.normal(0, 0.12, (SAMPLES, 2))
    points -= 0.5 * (points.min(axis=0) + points.max(axis=0))
    return points / np.abs(points).max(axis=0), label


def forward(parameters: list[Floats], x: Floats) -> list[Floats]:
    """All layers' values, the input first and the logits last."""
    values = [x]
    for i in range(0, len(parameters), 2):
        z = values[-1] @ parameters[i].T + parameters[i + 1]
        values.append(z if i == len(parameters) - 2 else np.maximum(z, 0))
    return values


def gradients(parameters: list[Floats], x: Floats, label: NDArray[np.int64]) -> list[Floats]:
    """Gradient of the mean cross-entropy."""
    values = forward(parameters, x)
    odds = np.exp(values[-1] - values[-1].max(axis=1, keepdims=True))
    back = odds / odds.sum(axis=1, keepdims=True)
    back[np.arange(len(x)), label] -= 1
    back /= len(x)
    result: list[Floats] = []
    for i in range(len(parameters) - 2, -1, -2):
        below = values[i // 2]
        result = [back.T @ below, back.sum(axis=0), *result]
        back = (back @ parameters[i]) * (below > 0)
    return result


def train() -> tuple[list[Floats], float]:
    """Adam on cross-entropy; returns the parameters and the accuracy."""
    generator = np.random.default_rng(SEED)
    points, label = two_moons(generator)
    parameters: list[Floats] = []
    for fan_in, fan_out in pairwise(SIZES):
        parameters.append(generator.uniform(-1, 1, (fan_out, fan_in)) * np.sqrt(6 / fan_in))
        parameters.append(generator.uniform(-1, 1, fan_out) / np.sqrt(fan_in))
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    for step in range(1, STEPS + 1):
        batch = generator.integers(0, SAMPLES, BATCH)
        for i, gradient in enumerate(gradients(parameters, points[batch], label[batch])):
            first[i] = 0.9 * first[i] + 0.1 * gradient
            second[i] = 0.999 * second[i] + 0.001 * gradient**2
            rate = RATE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            parameters[i] = parameters[i] - rate * first[i] / (np.sqrt(second[i]) + 1e-8)
    accuracy = float((forward(parameters, points)[-1].argmax(axis=1) == label).mean())
    return parameters, accuracy


def main() -> None:
    parameters, accuracy = train()
    names = [f"{kind}{i // 2}" for i, kind in enumerate("Wb" * (len(parameters) // 2))]
    arrays: dict[str, Any] = {name: p.astype(np.float32) for name, p in zip(names, parameters, strict=True)}
    np.savez(TARGET, **arrays)
    print(f"accuracy {accuracy:.3f}, saved {TARGET.name}")


if __name__ == "__main__":
    main()
