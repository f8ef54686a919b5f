"""Count a classifier's regions while it learns two moons: six layers of 32 units on [-1, 1]^2; needs torch.

Run ``python examples/track_training.py [EPOCHS] [DIRECTORY]`` to train (100 epochs unless told otherwise), print the
table and, if a directory is given, save it there with the snapshots.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import torch
from torch import nn

import affinelens as al
from affinelens.study.data.samples import two_moons

SAMPLES, NOISE, BATCH, RATE = 200, 0.2, 32, 1e-4
SIZES = (2, 32, 32, 32, 32, 32, 32, 2)


def classifier() -> nn.Module:
    layers = [part for a, b in pairwise(SIZES) for part in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def train(epochs: int) -> al.Tracker:
    torch.manual_seed(0)
    moons = two_moons(0, SAMPLES, NOISE)
    points, labels = torch.tensor(moons.points, dtype=torch.float32), torch.tensor(moons.labels)
    model = classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    tracker = al.track(al.Box(-1, 1, dim=2), every=10)
    tracker(model, 0)
    for epoch in range(1, epochs + 1):
        for batch in torch.randperm(SAMPLES).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(points[batch]), labels[batch]).backward()
            optimizer.step()
        tracker(model, epoch)
    return tracker


def main(arguments: list[str]) -> None:
    tracker = train(int(arguments[0]) if arguments else 100)
    print(f"{'epoch':>6} {'regions':>8}  cells after each layer")
    for row in tracker.table:
        layers = [row[name] for name in tracker.columns if name.startswith("layer_")]
        print(f"{row['epoch']:>6} {row['regions']:>8}  {' '.join(f'{cells:>6}' for cells in layers)}")
    if len(arguments) > 1:
        print(f"saved {tracker.save(arguments[1])}; affinelens.load_record reads it")


if __name__ == "__main__":
    main(sys.argv[1:])
