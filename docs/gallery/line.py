"""The outputs along a line through two points, with a mark wherever a unit switches."""

from pathlib import Path

from training import trained, two_moons

import affinelens as al
from affinelens.plot import save_picture


def draw():
    points, labels = two_moons()
    layers = trained((2, 16, 16, 2), points, labels, epochs=400)
    return al.enumerate(layers, al.Slice.through([-1.0, -1.0], [1.0, 1.0])).plot()


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
