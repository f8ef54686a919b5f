"""Image data as the convolution study takes it: pixels with labels, and the scale they are shown to a network in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError

CLASSES = 10


@dataclass(frozen=True, eq=False)
class Images:
    """``pixels`` are whole numbers, image x channel x row x column; ``labels`` are classes from 0 to 9."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]

    @classmethod
    def read_from(cls, path: Path, pixels: NDArray[np.uint8], labels: NDArray[np.integer]) -> Images:
        """Images with a label each, or an error that says what is wrong with those in the file."""
        if not len(pixels):
            raise AffineLensError(f"{path}: there is no image in it")
        if labels.shape != (len(pixels),):
            raise AffineLensError(f"{path}: there are {len(pixels)} images but labels of shape {labels.shape}")
        if labels.min() < 0 or labels.max() >= CLASSES:
            raise AffineLensError(
                f"{path}: labels go from {labels.min()} to {labels.max()}, but classes are numbered 0 to {CLASSES - 1}"
            )
        return cls(np.ascontiguousarray(pixels), labels.astype(np.int64))

    @classmethod
    def joined(cls, parts: list[Images]) -> Images:
        return cls(np.concatenate([part.pixels for part in parts]), np.concatenate([part.labels for part in parts]))

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images to train on and to test with; ``white`` is the brightest pixel, ``mean`` and ``deviation`` are those of
    the pixels over ``white``, a number a channel."""

    title: str
    train: Images
    test: Images
    white: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, rows and columns of an image."""
        _, channels, rows, columns = self.train.pixels.shape
        return channels, rows, columns

    def inputs(self, images: Images) -> NDArray[np.float32]:
        """What a network is shown: pixels between 0 and 1, less the mean, over the deviation."""
        mean, deviation = (
            np.array(numbers, dtype=np.float32)[:, None, None] for numbers in (self.mean, self.deviation)
        )
        scaled = images.pixels.astype(np.float32) / np.float32(self.white)
        normal: NDArray[np.float32] = (scaled - mean) / deviation
        return normal
