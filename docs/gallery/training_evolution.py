"""How regions and the decision boundary form in training (Figure 7a), as a strip and as an animation."""

from dataclasses import dataclass
from pathlib import Path

from training import train, two_moons

import affinelens as al
from affinelens.plot import animation, evolution, save_picture

EPOCHS = (1, 10, 50, 100, 200, 500)


@dataclass
class Snapshot:
    label: str
    regions: al.RegionSet


def snapshots():
    points, labels = two_moons()
    square = al.Box(-1, 1, dim=2)
    for epoch, layers in train((2, 10, 10, 2), points, labels, epochs=max(EPOCHS)):
        if epoch in EPOCHS:
            yield Snapshot(f"epoch {epoch}", al.enumerate(layers, square))


def draw():
    return evolution(list(snapshots()), columns=3)


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=75)
    animation(list(snapshots()), Path(__file__).with_suffix(".gif"), seconds=0.8)
