"""The regions of a small network with three inputs, moved apart."""

from pathlib import Path

import numpy as np

import affinelens as al
from affinelens.plot import save_picture


def draw():
    generator = np.random.default_rng(5)
    layers = [
        (generator.normal(size=(4, 3)), generator.normal(size=4) / 3),
        (generator.normal(size=(3, 4)), generator.normal(size=3) / 2),
        (generator.normal(size=(2, 3)), np.zeros(2)),
    ]
    return al.enumerate(layers, al.Box(-1, 1, dim=3)).plot(explode=0.7)


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
