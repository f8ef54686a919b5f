from __future__ import annotations

import numpy as np
import pytest

import affinelens as al
from affinelens.plot import image_slice
from support.plot_sets import drawn_set
from support.random_networks import random_layers

LAYERS = random_layers([48, 8, 3], seed=0, bias=0)


@pytest.mark.parametrize(
    ("given", "shape"), [((3, 4, 4), None), ((48,), (3, 4, 4)), ((48,), (1, 6, 8)), ((6, 8), None)]
)
def test_the_three_images_stand_beside_the_plane(given: tuple[int, ...], shape: tuple[int, ...] | None) -> None:
    images = np.random.default_rng(1).uniform(size=(3, 48))
    domain = al.Slice.through(*(image.reshape(given) for image in images), margin=0.1)
    ax = image_slice(al.enumerate(LAYERS, domain), shape=shape, color="class")
    scaled = (images - images.min()) / np.ptp(images)
    for image, beside in zip(scaled, ax.child_axes, strict=True):
        shown = np.asarray(beside.images[0].get_array())
        flat = shown.transpose(2, 0, 1) if shown.ndim == 3 else shown
        np.testing.assert_allclose(flat.ravel(), image, atol=1e-6)
    marked = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines]
    assert marked == [(0, 0), (1, 0), (0, 1)]


def test_what_is_no_plane_of_images_is_refused() -> None:
    with pytest.raises(al.AffineLensError, match=r"Slice.through\(image"):
        image_slice(drawn_set(2, 4, 2, seed=0))
    plane = al.enumerate(LAYERS, al.Slice.through(*np.random.default_rng(2).uniform(size=(3, 48))))
    with pytest.raises(al.AffineLensError, match=r"give shape="):
        image_slice(plane)
    with pytest.raises(al.AffineLensError, match="no images of shape"):
        image_slice(plane, shape=(5, 5))
