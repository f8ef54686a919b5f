"""MNIST from its four IDX files."""

from __future__ import annotations

from pathlib import Path

from affinelens.errors import AffineLensError
from affinelens.study.data.data_folder import folder_with, required_file
from affinelens.study.data.idx_file import read_idx
from affinelens.study.data.images import Images, ImageSet

TITLE = "MNIST"
_FOLDERS = ("mnist", "MNIST", "mnist/raw", "MNIST/raw")
_SIDE = 28
_WHITE, _MEAN, _DEVIATION = 255, 0.1307, 0.3081
_TRAIN, _TEST = "train", "t10k"
WHERE = (
    f"put {_TRAIN}-images-idx3-ubyte, {_TRAIN}-labels-idx1-ubyte, {_TEST}-images-idx3-ubyte and "
    f"{_TEST}-labels-idx1-ubyte, as they are or gzipped, into it or into a folder mnist in it"
)


def _names(part: str, content: str) -> list[str]:
    """The names that one of the files goes by; content is images-idx3 or labels-idx1."""
    styles = (content, content.replace("-idx", ".idx"))
    return [f"{part}-{style}-ubyte{packed}" for style in styles for packed in ("", ".gz")]


def find_mnist(data: Path) -> Path | None:
    """The folder with MNIST's files in a data directory, if there is one."""
    return folder_with(data, _FOLDERS, _names(_TRAIN, "images-idx3"))


def read_mnist(folder: Path) -> ImageSet:
    """All of MNIST."""
    train, test = (_read_part(folder, part) for part in (_TRAIN, _TEST))
    return ImageSet(TITLE, train, test, _WHITE, (_MEAN,), (_DEVIATION,))


def _read_part(folder: Path, part: str) -> Images:
    images, classes = (
        required_file(folder, _names(part, content), TITLE, WHERE) for content in ("images-idx3", "labels-idx1")
    )
    pixels, labels = read_idx(images, 3), read_idx(classes, 1)
    if pixels.shape[1:] != (_SIDE, _SIDE):
        raise AffineLensError(
            f"{images}: holds images of {pixels.shape[1]} x {pixels.shape[2]} pixels, but those of {TITLE} have "
            f"{_SIDE} x {_SIDE}; download it again"
        )
    return Images.read_from(classes, pixels[:, None], labels)
