"""The two outputs over the plane: class-conditional affine pieces, and where they meet (Figures 1d and 7b)."""

from pathlib import Path

from training import trained, two_moons

import affinelens as al
from affinelens.plot import save_picture, surface


def draw():
    points, labels = two_moons()
    layers = trained((2, 12, 12, 2), points, labels, epochs=400)
    return surface(al.enumerate(layers, al.Box(-1, 1, dim=2)))


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
