"""A plane through three images, and the regions of an image classifier on it."""

from pathlib import Path

from training import shapes, trained

import affinelens as al
from affinelens.plot import image_slice, save_picture


def draw():
    images, labels = shapes()
    layers = trained((256, 24, 24, 3), images.reshape(len(images), -1), labels, epochs=150)
    plane = al.Slice.through(*images[:3], margin=0.25)
    return image_slice(al.enumerate(layers, plane), color="class")


if __name__ == "__main__":
    save_picture(draw(), Path(__file__).with_suffix(".png"), dpi=110)
