"""The networks that the studies train, as plain torch modules: of points, and of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn

from affinelens.study.setup import Setup

Shape = tuple[int, int, int]
Activation = Callable[[], nn.Module]
NORMS = {"batch": nn.BatchNorm1d, "none": lambda width: nn.Identity()}


def mlp(sizes: Sequence[int], setup: Setup, slope: float = 0.0) -> nn.Module:
    """Linear layers of the given sizes, inputs first and outputs last, with ReLU between them, or LeakyReLU."""
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.LeakyReLU(slope) if slope else nn.ReLU()]
    return initialised(nn.Sequential(*layers[:-1]), setup)


def residual_network(
    inputs: int, width: int, blocks: int, setup: Setup, *, skips: bool, norm: str = "batch", outputs: int = 2
) -> nn.Module:
    """Linear, norm, ReLU, linear, then residual blocks, then linear; without skips blocks only follow each other."""
    stem = [nn.Linear(inputs, width), NORMS[norm](width), nn.ReLU(), nn.Linear(width, width)]
    body = [ResidualBlock(width, skips, norm) for _ in range(blocks)]
    return initialised(nn.Sequential(*stem, *body, nn.Linear(width, outputs)), setup)


class ResidualBlock(nn.Module):  # type: ignore[misc]
    """Linear, norm, ReLU, linear, norm; the input is added to that, if skips are asked for; ReLU."""

    def __init__(self, width: int, skips: bool, norm: str) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Linear(width, width), NORMS[norm](width), nn.ReLU(), nn.Linear(width, width), NORMS[norm](width)
        )
        self.skips = skips

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.inner(x)
        return torch.relu(inner + x if self.skips else inner)


def image_mlp(shape: Shape, hidden: Sequence[int], classes: int, activation: Activation, setup: Setup) -> nn.Module:
    """Linear layers on all pixels, each but the last followed by batch norm and an activation."""
    channels, rows, columns = shape
    layers: list[nn.Module] = [nn.Flatten()]
    for n_in, n_out in pairwise((channels * rows * columns, *hidden)):
        layers += [nn.Linear(n_in, n_out), nn.BatchNorm1d(n_out), activation()]
    return initialised(nn.Sequential(*layers, nn.Linear(hidden[-1], classes)), setup)


def strided_cnn(
    shape: Shape, channels: Sequence[int], hidden: int, classes: int, activation: Activation, setup: Setup
) -> nn.Module:
    """AlexNet in small: 3 x 3 convolutions of stride 2 with batch norm, an average pool of 2, two linear layers."""
    depth, rows, columns = shape
    layers: list[nn.Module] = []
    for before, after in pairwise((depth, *channels)):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), activation()]
        rows, columns = (rows + 1) // 2, (columns + 1) // 2
    features = channels[-1] * (rows // 2) * (columns // 2)
    layers += [nn.AvgPool2d(2), nn.Flatten(), nn.Linear(features, hidden), activation(), nn.Linear(hidden, classes)]
    return initialised(nn.Sequential(*layers), setup)


def lenet(shape: Shape, kernel: int, classes: int, activation: Activation, setup: Setup) -> nn.Module:
    """LeNet-5 with batch norm: convolutions of 6 and 16 channels, average pools, linear layers of 120 and 84.

    The first convolution keeps the size of the image, as that of LeNet-5 does with images that have a border.
    """
    depth, rows, columns = shape
    features = 16 * ((rows // 2 - kernel + 1) // 2) * ((columns // 2 - kernel + 1) // 2)
    layers = [
        nn.Conv2d(depth, 6, kernel, padding=kernel // 2), nn.BatchNorm2d(6), activation(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, kernel), nn.BatchNorm2d(16), activation(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(features, 120), activation(), nn.Linear(120, 84), activation(), nn.Linear(84, classes),
    ]  # fmt: skip
    return initialised(nn.Sequential(*layers), setup)


def initialised(model: nn.Module, setup: Setup) -> nn.Module:
    """The module with the weights and biases that the set-up asks for, in its number format."""
    for part in model.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            if setup.weights == "kaiming":
                nn.init.kaiming_uniform_(part.weight, nonlinearity="relu")
            if setup.biases == "zero" and part.bias is not None:
                nn.init.zeros_(part.bias)
    return model.to(getattr(torch, setup.number_format))
