"""Which image sets the convolution study finds, and how each is read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from affinelens.errors import AffineLensError
from affinelens.study.data import cifar10, digits, mnist
from affinelens.study.data.data_folder import require_folder
from affinelens.study.data.images import ImageSet

_FINDERS = {cifar10.TITLE: cifar10.find_cifar10, mnist.TITLE: mnist.find_mnist}
_READERS = {cifar10.TITLE: cifar10.read_cifar10, mnist.TITLE: mnist.read_mnist}


def find_image_sets(data: Path | None) -> dict[str, Path | None]:
    """The image sets in a data directory and the folder of each; without a directory, the digits that need none."""
    if data is None:
        return {digits.TITLE: None}
    require_folder(data)
    found: dict[str, Path | None] = {}
    for title, find in _FINDERS.items():
        folder = find(data)
        if folder is not None:
            found[title] = folder
    if not found:
        raise AffineLensError(
            f"{data}: holds neither {mnist.TITLE} nor {cifar10.TITLE}; for {mnist.TITLE}, {mnist.WHERE}; for "
            f"{cifar10.TITLE}, {cifar10.WHERE}"
        )
    return found


@lru_cache(maxsize=2)
def image_set(title: str, folder: Path | None) -> ImageSet:
    """One of the image sets that were found."""
    return digits.read_digits() if folder is None else _READERS[title](folder)
