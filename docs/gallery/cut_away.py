"""The regions of a network with three inputs, a corner of the cube cut away."""

from pathlib import Path

import numpy as np

import affinelens as al
from affinelens.plot import save_picture


def draw():
    generator = np.random.default_rng(1)
    layers = [
        (generator.normal(size=(8, 3)), generator.normal(size=8) / 2),
        (generator.normal(size=(8, 8)), generator.normal(size=8)),
        (generator.normal(size=(2, 8)), np.zeros(2)),
    ]
    return al.enumerate(layers, al.Box(-1, 1, dim=3)).plot()


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
