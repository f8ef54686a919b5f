"""How the search goes deeper: the cell of a point and the cells beside it, stage by stage (Figure 2)."""

from pathlib import Path

from training import trained, two_moons

import affinelens as al
from affinelens.plot import save_picture, search_stages


def draw():
    points, labels = two_moons()
    layers = trained((2, 8, 8, 8, 2), points, labels, epochs=300)
    return search_stages(al.enumerate(layers, al.Box(-1, 1, dim=2)), at=[0.3, 0.5])


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=130)
