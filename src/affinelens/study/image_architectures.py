"""The networks that are trained on images: convolutional ones and, to compare, plain layers on the same pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from torch import nn

from affinelens.study.architectures import initialised
from affinelens.study.setup import Setup

Shape = tuple[int, int, int]
Activation = Callable[[], nn.Module]


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
