"""Small image files in the formats that MNIST and CIFAR-10 come in."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
NUMPY = b"numpy.core.multiarray\n_reconstruct\n"


def random_images(count: int, *shape: int, seed: int) -> tuple[Bytes, Bytes]:
    """Images and labels, every class among them if there are ten or more."""
    generator = np.random.default_rng(seed)
    pixels = generator.integers(0, 256, (count, *shape), dtype=np.uint8)
    return pixels, (np.arange(count) % 10).astype(np.uint8)


def idx_bytes(array: Bytes) -> bytes:
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def write_mnist(folder: Path, train: int = 40, test: int = 10, style: str = "-", *, packed: bool = True) -> Path:
    """The four files, in the style train-images-idx3-ubyte or train-images.idx3-ubyte."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", train), ("t10k", test)):
        pixels, labels = random_images(count, 28, 28, seed=count)
        for content, array in ((f"images{style}idx3", pixels), (f"labels{style}idx1", labels)):
            data = idx_bytes(array)
            name = f"{part}-{content}-ubyte{'.gz' if packed else ''}"
            (folder / name).write_bytes(gzip.compress(data) if packed else data)
    return folder


def python2_batch(pixels: Bytes, labels: Bytes, function: bytes = NUMPY) -> bytes:
    """A batch as Python 2 and an old numpy pickled it, byte by byte."""
    rows = pixels.reshape(len(pixels), -1)
    array = (
        b"c" + function + b"cnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01M" + struct.pack("<H", len(rows))
        + b"M" + struct.pack("<H", rows.shape[1]) + b"\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T" + struct.pack("<I", rows.size)
        + rows.tobytes() + b"tb"
    )  # fmt: skip
    numbers = b"".join(b"K" + bytes([label]) for label in labels.tolist())
    return b"\x80\x02}q\x00(U\x04dataq\x01" + array + b"U\x06labelsq\x02]q\x03(" + numbers + b"eu."


def write_cifar10(folder: Path, kind: str, train: int = 20, test: int = 10) -> Path:
    """One training batch and the test batch, of the python or the binary version or as .npz files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("data_batch_1", train), ("test_batch", test)):
        pixels, labels = random_images(count, 3, 32, 32, seed=count)
        if kind == "python":
            (folder / name).write_bytes(python2_batch(pixels, labels))
        elif kind == "binary":
            records = np.concatenate([labels[:, None], pixels.reshape(count, -1)], axis=1)
            (folder / f"{name}.bin").write_bytes(records.tobytes())
        else:
            np.savez(folder / f"cifar10_{name}.npz", images=pixels, labels=labels)
    return folder
