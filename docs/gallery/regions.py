"""Every region has a color of its own among its neighbors (Figure 1b)."""

from pathlib import Path

from training import trained, two_moons

import affinelens as al
from affinelens.plot import save_picture


def draw():
    points, labels = two_moons()
    layers = trained((2, 16, 16, 2), points, labels, epochs=400)
    return al.enumerate(layers, al.Box(-1, 1, dim=2)).plot()


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
