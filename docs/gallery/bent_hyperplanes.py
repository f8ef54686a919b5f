"""Each unit is a line that bends where earlier units switch; lines are colored by stage."""

from pathlib import Path

from training import trained, two_moons

import affinelens as al
from affinelens.plot import save_picture


def draw():
    points, labels = two_moons()
    layers = trained((2, 10, 10, 10, 2), points, labels, epochs=400)
    return al.enumerate(layers, al.Box(-1, 1, dim=2)).plot(color="plain", hyperplanes=True, boundary=True)


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
