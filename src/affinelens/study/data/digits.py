"""Scikit-learn's bundled digits: 1797 images of 8 x 8 pixels, for a study without any files."""

from __future__ import annotations

import numpy as np

from affinelens.errors import MissingExtraError
from affinelens.study.data.images import Images, ImageSet

TITLE = "digits"
_WHITE = 16
# Every fifth image is kept for testing.
_TEST_EVERY = 5


def read_digits() -> ImageSet:
    """The digits, scaled by the mean and deviation of those to train on."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise MissingExtraError.for_extra(
            "scikit-learn (for its digits; with --data DIR, MNIST and CIFAR-10 are read from there)", "study",
            "the convolution study without image files",
        ) from error  # fmt: skip
    bunch = load_digits()
    pixels, labels = bunch.images.astype(np.uint8)[:, None], bunch.target
    is_test = np.arange(len(labels)) % _TEST_EVERY == 0
    train, test = (Images(pixels[chosen], labels[chosen]) for chosen in (~is_test, is_test))
    bright = train.pixels / _WHITE
    return ImageSet(TITLE, train, test, _WHITE, (float(bright.mean()),), (float(bright.std()),))
