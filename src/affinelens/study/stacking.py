"""Networks of the same shape as one: a step of training then costs little more than for one of them alone.

Small networks spend their time in calling operators, not in arithmetic. A stack calls each operator once for all.
Nothing passes from one network to another, so each is trained as it would be by itself, up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import cast

import torch
from torch import nn

from affinelens.study.architectures import ResidualBlock

# Modules that do the same to a stack of batches as to a batch, once what they hold is stacked.
_ALIKE = (nn.Sequential, ResidualBlock, nn.ReLU, nn.LeakyReLU, nn.Identity)


class Alone:
    """One module, whatever it is; inputs have a network each in the first axis, and samples in the second."""

    def __init__(self, model: nn.Module) -> None:
        self.module = model

    def outputs(self, points: torch.Tensor) -> torch.Tensor:
        return self.module(points[0])[None]

    def write_back(self) -> None:
        """Nothing to do: the module itself is trained."""


class Stack:
    """Several networks from the same builder, all made of linear layers, batch norms and element-wise activations."""

    def __init__(self, models: Sequence[nn.Module]) -> None:
        self.module = _stacked(models)
        self._models = models

    def outputs(self, points: torch.Tensor) -> torch.Tensor:
        return cast(torch.Tensor, self.module(points))

    def write_back(self) -> None:
        """Give the networks the values that the stack has now."""
        parts = dict(self.module.named_modules())
        with torch.no_grad():
            for number, model in enumerate(self._models):
                for name, part in model.named_modules():
                    if isinstance(part, nn.Linear | nn.BatchNorm1d):
                        parts[name].write_to(part, number)


def _stacked(parts: Sequence[nn.Module]) -> nn.Module:
    """A copy of the first module in which every layer is that of all."""
    first = parts[0]
    if isinstance(first, nn.Linear):
        return _StackedLinear(parts)
    if isinstance(first, nn.BatchNorm1d):
        return _StackedNorm(parts)
    if not isinstance(first, _ALIKE):
        raise TypeError(f"{type(first).__name__} cannot be stacked")
    result = deepcopy(first)
    for name, _ in first.named_children():
        setattr(result, name, _stacked([getattr(part, name) for part in parts]))
    return result


class _StackedLinear(nn.Module):  # type: ignore[misc]
    """Weights (network, in, out) and biases (network, 1, out)."""

    def __init__(self, parts: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.stack([part.weight.detach().T for part in parts]).contiguous())
        self.bias = nn.Parameter(torch.stack([part.bias.detach()[None] for part in parts]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.baddbmm(self.bias, x, self.weight)

    def write_to(self, part: nn.Linear, number: int) -> None:
        part.weight.copy_(self.weight[number].T)
        part.bias.copy_(self.bias[number, 0])


class _StackedNorm(nn.BatchNorm1d):  # type: ignore[misc]
    """The features of all networks side by side, each normalised by itself as always."""

    def __init__(self, parts: Sequence[nn.BatchNorm1d]) -> None:
        first = parts[0]
        super().__init__(len(parts) * first.num_features, first.eps, first.momentum, dtype=first.weight.dtype)
        states = [part.state_dict() for part in parts]
        self.load_state_dict(
            {
                name: torch.cat([state[name] for state in states]) if value.ndim else value
                for name, value in states[0].items()
            }
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        side_by_side = super().forward(x.transpose(0, 1).flatten(1))
        return cast(torch.Tensor, side_by_side.unflatten(1, (len(x), -1)).transpose(0, 1))

    def write_to(self, part: nn.BatchNorm1d, number: int) -> None:
        own = slice(number * part.num_features, (number + 1) * part.num_features)
        part.load_state_dict({name: value[own] if value.ndim else value for name, value in self.state_dict().items()})
