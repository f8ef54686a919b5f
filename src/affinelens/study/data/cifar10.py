"""CIFAR-10 from the files of its python or binary version, or from .npz files.

Any of the five training batches may be missing: what there is is trained on.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.files.npz import read_npz
from affinelens.study.data.data_folder import batch_bytes, folder_with, required_file
from affinelens.study.data.images import Images, ImageSet
from affinelens.study.data.pickled_batch import read_pickled_batch

TITLE = "CIFAR-10"
_FOLDERS = tuple(
    outer + inner
    for outer in ("", "cifar10/", "CIFAR10/", "cifar-10/")
    for inner in ("", "cifar-10-batches-py", "cifar-10-batches-bin")
    if outer + inner
)
_SHAPE = (3, 32, 32)
_SIZE = 3 * 32 * 32
_WHITE = 255
_MEAN, _DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)
_TRAIN = [f"data_batch_{number}" for number in range(1, 6)]
_TEST = "test_batch"
_IMAGE_NAMES, _LABEL_NAMES = ("images", "image", "data", "x", "X"), ("labels", "label", "y", "Y")
WHERE = (
    "put data_batch_1 to data_batch_5 and test_batch of the python version, the same with .bin of the binary one, or "
    ".npz files with images and labels, one of them with test in its name, into it or into a folder cifar10 in it"
)


def find_cifar10(data: Path) -> Path | None:
    """The folder with CIFAR-10's files in a data directory, if there is one."""
    found = folder_with(data, _FOLDERS, [*_TRAIN, *(f"{name}.bin" for name in _TRAIN)])
    if found is not None:
        return found
    folders = (data, *(data / name for name in _FOLDERS))
    return next((folder for folder in folders if any(map(_is_of_cifar, folder.glob("*.npz")))), None)


def _is_of_cifar(path: Path) -> bool:
    """In a directory with many files, CIFAR's are those that are called so, or lie in a folder called so."""
    return "cifar" in path.name.lower() or "cifar" in path.parent.name.lower()


def read_cifar10(folder: Path) -> ImageSet:
    """As much of CIFAR-10 as there is, with a test set."""
    readers: dict[str, Callable[[Path], Images]] = {"": _read_pickled, ".bin": _read_binary}
    for suffix, read in readers.items():
        batches = [folder / f"{name}{suffix}" for name in _TRAIN if (folder / f"{name}{suffix}").is_file()]
        if batches:
            last = required_file(folder, [f"{_TEST}{suffix}"], TITLE, WHERE)
            return _image_set([read(batch) for batch in batches], [read(last)])
    files = sorted(filter(_is_of_cifar, folder.glob("*.npz")))
    parts: dict[str, list[Images]] = {"train": [], "test": []}
    for file in files:
        for part, images in _read_npz(file):
            parts[part].append(images)
    for part, found in parts.items():
        if not found:
            raise AffineLensError(f"{folder}: {TITLE} has no {part} images there; {WHERE}")
    return _image_set(parts["train"], parts["test"])


def _image_set(train: list[Images], test: list[Images]) -> ImageSet:
    return ImageSet(TITLE, Images.joined(train), Images.joined(test), _WHITE, _MEAN, _DEVIATION)


def _read_pickled(path: Path) -> Images:
    batch = read_pickled_batch(path)
    missing = [name for name in ("data", "labels") if name not in batch]
    if missing:
        found = ", ".join(sorted(batch))[:100] or "nothing"
        raise AffineLensError(f"{path}: a batch of {TITLE} holds data and labels, but this one holds {found}")
    labels = batch["labels"]
    if not isinstance(labels, list) or not all(type(label) is int and 0 <= label < 256 for label in labels):
        raise AffineLensError(f"{path}: its labels are not a list of classes; download it again")
    return _checked(path, batch["data"], np.array(labels, dtype=np.int64))


def _read_binary(path: Path) -> Images:
    data = batch_bytes(path)
    if len(data) % (1 + _SIZE):
        raise AffineLensError(
            f"{path}: has {len(data)} bytes, but a batch has {1 + _SIZE} an image, {10_000 * (1 + _SIZE)} in all; "
            f"download it again"
        )
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, 1 + _SIZE)
    return _checked(path, records[:, 1:], records[:, 0])


def _read_npz(path: Path) -> list[tuple[str, Images]]:
    """The images in an .npz file and the part each belong to: x_train, x_test, or the part that the file's name says.

    Names may be images or x, labels or y.
    """
    arrays = read_npz(path)
    own = "test" if "test" in path.name.lower() else "train"
    found = []
    for part, ending in ((own, ""), ("train", "_train"), ("test", "_test")):
        pixels = next((arrays[f"{name}{ending}"] for name in _IMAGE_NAMES if f"{name}{ending}" in arrays), None)
        labels = next((arrays[f"{name}{ending}"] for name in _LABEL_NAMES if f"{name}{ending}" in arrays), None)
        if pixels is not None and labels is not None:
            found.append((part, _checked(path, pixels, labels)))
    if not found:
        held = ", ".join(sorted(arrays))[:100] or "nothing"
        raise AffineLensError(f"{path}: arrays images and labels are needed, but it holds {held}")
    return found


def _checked(path: Path, pixels: Any, labels: NDArray[Any]) -> Images:
    """Images in channel x row x column, however they were laid out."""
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or labels.dtype.kind not in "iu":
        kind = getattr(pixels, "dtype", type(pixels).__name__)
        raise AffineLensError(
            f"{path}: holds images as {kind} and labels as {labels.dtype}, but images are uint8 and labels are whole "
            f"numbers"
        )
    if pixels.shape[1:] == (*_SHAPE[1:], _SHAPE[0]):
        pixels = pixels.transpose(0, 3, 1, 2)
    elif pixels.ndim < 2 or pixels.shape[1:] not in (_SHAPE, (_SIZE,)):
        raise AffineLensError(
            f"{path}: holds an array of shape {pixels.shape}, but images of {TITLE} are N x 3 x 32 x 32, "
            f"N x 32 x 32 x 3 or N x {_SIZE}"
        )
    return Images.read_from(path, pixels.reshape(-1, *_SHAPE), labels.reshape(-1))
