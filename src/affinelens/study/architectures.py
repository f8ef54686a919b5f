"""The networks that the studies train, as plain torch modules."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

from affinelens.study.setup import Setup

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


def initialised(model: nn.Module, setup: Setup) -> nn.Module:
    """The module with the weights and biases that the set-up asks for, in its number format."""
    for part in model.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            if setup.weights == "kaiming":
                nn.init.kaiming_uniform_(part.weight, nonlinearity="relu")
            if setup.biases == "zero" and part.bias is not None:
                nn.init.zeros_(part.bias)
    return model.to(getattr(torch, setup.number_format))
