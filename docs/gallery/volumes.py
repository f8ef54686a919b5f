"""The volume of each region on a logarithmic scale, in a window of the plane."""

from pathlib import Path

from training import trained, two_moons

import affinelens as al
from affinelens.plot import save_picture


def draw():
    points, labels = two_moons()
    layers = trained((2, 24, 24, 2), points, labels, epochs=400)
    regions = al.enumerate(layers, al.Box(-1, 1, dim=2))
    return regions.plot(color="volume", boundary=True, window=(-0.5, 0.5, -0.5, 0.5))


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
