"""Plain training: Adam on the cross-entropy, the whole data set one tensor, batches taken from it in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

from affinelens.study.samples import Samples
from affinelens.study.setup import Setup

# How many samples are evaluated at a time.
_EVALUATED = 1024


@dataclass(frozen=True)
class Milestone:
    """The state of training after an epoch."""

    epoch: int
    training_seconds: float
    loss: float
    accuracy: float


def train(
    model: nn.Module, samples: Samples, setup: Setup, after_epoch: Callable[[], None] = lambda: None
) -> Iterator[Milestone]:
    """Train a model and stop at each of the set-up's epochs; only the training is timed."""
    points, labels = _tensors(model, samples)
    optimizer = torch.optim.Adam(model.parameters(), lr=setup.learning_rate, fused=True)
    seconds = 0.0
    for epoch in range(1, setup.epochs[-1] + 1):
        started = time.perf_counter()
        model.train()
        _train_epoch(model, points, labels, setup, optimizer)
        seconds += time.perf_counter() - started
        after_epoch()
        if epoch in setup.epochs:
            yield Milestone(epoch, seconds, *evaluated(model, points, labels))


def _tensors(model: nn.Module, samples: Samples) -> tuple[torch.Tensor, torch.Tensor]:
    """Points in the model's number format, and labels."""
    kind = next(model.parameters()).dtype
    return torch.as_tensor(samples.points).to(kind), torch.as_tensor(samples.labels)


def _train_epoch(
    model: nn.Module, points: torch.Tensor, labels: torch.Tensor, setup: Setup, optimizer: torch.optim.Optimizer
) -> None:
    count = len(labels)
    order = torch.randperm(count) if setup.shuffle else torch.arange(count)
    used = count if setup.last_batch else max(count - count % setup.batch_size, min(count, setup.batch_size))
    for chosen in order[:used].split(setup.batch_size):
        loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def accuracy(model: nn.Module, samples: Samples) -> float:
    """The share of right answers, in evaluation mode."""
    return evaluated(model, *_tensors(model, samples))[1]


def evaluated(model: nn.Module, points: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    """Mean loss and share of right answers, in evaluation mode; the model stays in it."""
    model.eval()
    loss = right = 0.0
    with torch.no_grad():
        for x, y in zip(points.split(_EVALUATED), labels.split(_EVALUATED), strict=True):
            outputs = model(x)
            loss += nn.functional.cross_entropy(outputs, y, reduction="sum").item()
            right += (outputs.argmax(dim=1) == y).sum().item()
    return loss / len(labels), right / len(labels)
