"""Plain training: Adam on the cross-entropy, the whole data set one tensor, batches taken from it in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from affinelens.errors import AffineLensError
from affinelens.study.data.samples import Samples
from affinelens.study.setup import Setup
from affinelens.study.stacking import Alone, Stack

# How many samples are evaluated at a time.
_EVALUATED = 1024


@dataclass(frozen=True)
class Milestone:
    """The state of a network's training after an epoch; seconds are its share of the stack's, of processor time."""

    epoch: int
    training_seconds: float
    loss: float
    accuracy: float


def train(
    models: Sequence[nn.Module],
    samples: Sequence[Samples],
    seeds: Sequence[int],
    setup: Setup,
    after_epoch: Callable[[], None],
) -> Iterator[list[Milestone]]:
    """Train models at once, each on its samples; stop at each of the set-up's epochs, with the models up to date.

    Several models must be such as can be stacked. The seeds say in which order samples come.
    """
    _require_whole_batches(models[0], len(samples[0]), setup)
    trained = Alone(models[0]) if len(models) == 1 else Stack(models)
    kind = next(models[0].parameters()).dtype
    points = torch.stack([torch.as_tensor(of.points).to(kind) for of in samples])
    labels = torch.stack([torch.as_tensor(of.labels) for of in samples])
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    optimizer = torch.optim.Adam(trained.module.parameters(), lr=setup.learning_rate, fused=True)
    seconds = 0.0
    trained.module.train()
    for epoch in range(1, setup.epochs[-1] + 1):
        started = time.process_time()
        _train_epoch(trained, points, labels, generators, setup, optimizer)
        seconds += time.process_time() - started
        after_epoch()
        if epoch in setup.epochs:
            trained.write_back()
            yield [
                Milestone(epoch, seconds / len(models), *_evaluated(model, *of))
                for model, *of in zip(models, points, labels, strict=True)
            ]
            trained.module.train()


def _require_whole_batches(model: nn.Module, count: int, setup: Setup) -> None:
    """Batch norm has no deviation of a single sample."""
    normed = any(isinstance(part, nn.modules.batchnorm._BatchNorm) for part in model.modules())
    single = setup.batch_size == 1 or (setup.last_batch and count % setup.batch_size == 1)
    if normed and single:
        raise AffineLensError(
            f"{count} samples in batches of {setup.batch_size} leave a batch of one, which batch norm cannot take; "
            f"choose another batch_size, or last_batch=no"
        )


def _train_epoch(
    trained: Alone | Stack,
    points: torch.Tensor,
    labels: torch.Tensor,
    generators: Sequence[torch.Generator],
    setup: Setup,
    optimizer: torch.optim.Optimizer,
) -> None:
    count = labels.shape[1]
    network = torch.arange(len(labels))[:, None]
    used = count if setup.last_batch else max(count - count % setup.batch_size, min(count, setup.batch_size))
    for chosen in _orders(count, generators, shuffle=setup.shuffle)[:, :used].split(setup.batch_size, dim=1):
        outputs = trained.outputs(points[network, chosen]).flatten(0, 1)
        # The mean over each network's batch, summed over networks: no network's slope depends on another.
        loss = nn.functional.cross_entropy(outputs, labels[network, chosen].flatten(), reduction="sum")
        optimizer.zero_grad()
        (loss / chosen.shape[1]).backward()
        optimizer.step()


def _orders(count: int, generators: Sequence[torch.Generator], *, shuffle: bool) -> torch.Tensor:
    if not shuffle:
        return torch.arange(count).expand(len(generators), count)
    return torch.stack([torch.randperm(count, generator=generator) for generator in generators])


def accuracy(model: nn.Module, samples: Samples) -> float:
    """The share of right answers, in evaluation mode."""
    points = torch.as_tensor(samples.points).to(next(model.parameters()).dtype)
    return _evaluated(model, points, torch.as_tensor(samples.labels))[1]


def _evaluated(model: nn.Module, points: torch.Tensor, labels: torch.Tensor) -> tuple[float, float]:
    """Mean loss and share of right answers, in evaluation mode; the model stays in it."""
    model.eval()
    loss = right = 0.0
    with torch.no_grad():
        for x, y in zip(points.split(_EVALUATED), labels.split(_EVALUATED), strict=True):
            outputs = model(x)
            loss += nn.functional.cross_entropy(outputs, y, reduction="sum").item()
            right += (outputs.argmax(dim=1) == y).sum().item()
    return loss / len(labels), right / len(labels)
