"""How the volumes of regions are spread, and how many cells each stage makes."""

from pathlib import Path

from matplotlib.figure import Figure
from training import trained, two_moons

import affinelens as al
from affinelens.plot import layer_bars, save_picture, volume_histogram


def draw():
    points, labels = two_moons()
    layers = trained((2, 24, 24, 24, 2), points, labels, epochs=300)
    regions = al.enumerate(layers, al.Box(-1, 1, dim=2))
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    volume_histogram(regions, figure.add_subplot(1, 2, 1))
    layer_bars(regions, figure.add_subplot(1, 2, 2))
    return figure


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
