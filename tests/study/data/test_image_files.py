"""Image files: all layouts give the same images; what is damaged, hostile or misplaced is refused in one sentence."""

from __future__ import annotations

import gzip
import pickle
import struct
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.study.data.cifar10 import find_cifar10, read_cifar10
from affinelens.study.data.digits import read_digits
from affinelens.study.data.idx_file import read_idx
from affinelens.study.data.image_sets import find_image_sets
from affinelens.study.data.images import Images, ImageSet
from affinelens.study.data.mnist import find_mnist, read_mnist
from affinelens.study.data.pickled_batch import read_pickled_batch
from support.image_files import NUMPY, idx_bytes, python2_batch, random_images, write_cifar10, write_mnist


def refused(call: object, *arguments: object) -> str:
    """The one sentence with which a call is refused."""
    with pytest.raises(al.AffineLensError) as caught:
        call(*arguments)  # type: ignore[operator]
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("style", ["-", "."])
@pytest.mark.parametrize("packed", [True, False])
def test_mnist_is_read_in_both_styles_packed_or_not(tmp_path: Path, style: str, packed: bool) -> None:
    write_mnist(tmp_path / "mnist", 40, 10, style, packed=packed)
    folder = find_mnist(tmp_path)
    assert folder == tmp_path / "mnist"
    found = read_mnist(folder)
    pixels, labels = random_images(40, 28, 28, seed=40)
    assert np.array_equal(found.train.pixels[:, 0], pixels)
    assert np.array_equal(found.train.labels, labels)
    assert (len(found.test), found.shape) == (10, (1, 28, 28))


@pytest.mark.parametrize("kind", ["python", "binary", "npz"])
@pytest.mark.parametrize("inner", ["", "cifar10", "cifar-10-batches-py"])
def test_cifar10_is_read_in_all_versions(tmp_path: Path, kind: str, inner: str) -> None:
    write_cifar10(tmp_path / inner, kind)
    folder = find_cifar10(tmp_path)
    assert folder is not None
    found = read_cifar10(folder)
    pixels, labels = random_images(20, 3, 32, 32, seed=20)
    assert np.array_equal(found.train.pixels, pixels)
    assert np.array_equal(found.train.labels, labels)
    assert len(found.test) == 10


def test_the_python_version_is_what_python_would_unpickle() -> None:
    pixels, labels = random_images(3, 3, 32, 32, seed=0)
    batch = pickle.loads(python2_batch(pixels, labels, NUMPY.replace(b".core", b"._core")), encoding="bytes")
    assert np.array_equal(batch[b"data"], pixels.reshape(3, -1))
    assert batch[b"labels"] == labels.tolist()


@pytest.mark.parametrize("protocol", [3, 4])
def test_batches_pickled_again_are_read(tmp_path: Path, protocol: int) -> None:
    pixels, labels = random_images(12, 3072, seed=0)
    held = {"data": pixels, "labels": labels.tolist(), "filenames": ["a.png"], "batch_label": b"one"}
    (tmp_path / "batch").write_bytes(pickle.dumps(held, protocol))
    found = read_pickled_batch(tmp_path / "batch")
    assert np.array_equal(found.pop("data"), pixels)
    assert found == {"labels": labels.tolist(), "filenames": ["a.png"], "batch_label": b"one"}


def test_several_npz_layouts_are_the_same_images(tmp_path: Path) -> None:
    pixels, labels = random_images(10, 3, 32, 32, seed=0)
    np.savez(
        tmp_path / "cifar10.npz", x_train=pixels.transpose(0, 2, 3, 1), y_train=labels[:, None].astype(np.int64),
        x_test=pixels.reshape(10, -1), y_test=labels,
    )  # fmt: skip
    found = read_cifar10(tmp_path)
    assert np.array_equal(found.train.pixels, pixels)
    assert np.array_equal(found.test.pixels, pixels)
    assert np.array_equal(found.train.labels, found.test.labels)


def test_the_pixels_are_normalised_by_channel() -> None:
    pixels = np.zeros((1, 2, 1, 2), dtype=np.uint8)
    pixels[0, 0, 0], pixels[0, 1, 0] = (0, 4), (2, 4)
    images = Images(pixels, np.array([0]))
    shown = ImageSet("two channels", images, images, 4, (0.5, 0.0), (0.25, 0.5)).inputs(images)
    assert shown.tolist() == [[[[-2.0, 2.0]], [[1.0, 2.0]]]]
    assert shown.dtype == np.float32


def test_the_digits_need_no_files() -> None:
    found = read_digits()
    inputs = found.inputs(found.train)
    assert inputs.mean() == pytest.approx(0, abs=1e-4)
    assert inputs.std() == pytest.approx(1, abs=1e-4)
    assert (len(found.train) + len(found.test), found.shape) == (1797, (1, 8, 8))
    assert find_image_sets(None).keys() == {found.title}


class _Trap:
    """Unpickled by pickle, this writes a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> object:
        return Path.touch, (self._path,)


@pytest.mark.parametrize("protocol", [2, 4])
def test_nothing_in_a_pickle_is_run(tmp_path: Path, protocol: int) -> None:
    sprung = tmp_path / "sprung"
    write_cifar10(tmp_path, "python")
    (tmp_path / "data_batch_2").write_bytes(pickle.dumps({"data": _Trap(sprung), "labels": []}, protocol))
    assert "nothing of it was run" in refused(read_cifar10, tmp_path)
    assert not sprung.exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"}", b"Ns."), (b"]", b"N\x86a."), (b"", b")R."), (b"", b"h\x01\x93.")],
    ids=["key", "pair", "function", "name"],
)
def test_tuples_of_tuples_are_not_looked_up(tmp_path: Path, before: bytes, after: bytes) -> None:
    """Each pair holds the one before twice, so that looking the last one up would take 2 ** 200 steps."""
    nested = b"N" + b"q\x01h\x01\x86" * 200 + b"q\x01"
    (tmp_path / "batch").write_bytes(b"\x80\x04" + before + nested + after)
    assert "not a pickled batch" in refused(read_pickled_batch, tmp_path / "batch")


def test_a_pickle_takes_no_more_memory_than_it_has_bytes(tmp_path: Path) -> None:
    file = tmp_path / "batch"
    declared = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nJ\xff\xff\xff\x7f\x85U\x01b\x87R"
    file.write_bytes(b"\x80\x02}U\x04data" + declared + b"s.")
    assert "not a pickled batch" in refused(read_pickled_batch, file)
    file.write_bytes(b"\x80\x02}r\xff\xff\xff\x7f.")  # a memo entry far away
    assert read_pickled_batch(file) == {}
    file.write_bytes(b"\x80\x02" + b"]" * (2 + (1 << 20)) + b".")
    assert "more instructions" in refused(read_pickled_batch, file)
    file.write_bytes(b"\x80\x02T\xff\xff\xff\x7fabc.")
    assert "not a pickled batch" in refused(read_pickled_batch, file)
    with file.open("wb") as stream:
        stream.truncate(1 << 30)
    assert "larger than 64 MiB" in refused(read_pickled_batch, file)


@pytest.mark.parametrize("data", [b"", b"hello", b"\x80\x02.", b"\x80\x02e.", b"\x80\x02K\x01."])
def test_what_is_no_pickled_batch_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "batch").write_bytes(data)
    assert "batch" in refused(read_pickled_batch, tmp_path / "batch")


def test_a_damaged_idx_file_is_refused(tmp_path: Path) -> None:
    whole = idx_bytes(random_images(5, 28, 28, seed=0)[0])
    for name, data, word in (
        ("a", b"", "not an IDX file"),
        ("b", b"\x89PNG" + whole, "not an IDX file"),
        ("c", whole[:10], "within its header"),
        ("d", whole[:-1], "holds only 3919"),
        ("e", whole + b"\0", "holds more"),
        ("f", idx_bytes(np.zeros(3, dtype=np.uint8)), "1 dimensions"),
        ("g", whole[:2] + b"\x0d" + whole[3:], "type 13"),
        ("h.gz", gzip.compress(whole)[:-9], "cannot be read"),
        ("i.gz", gzip.compress(whole[:-1]), "holds only"),
        ("j.gz", b"no gzip", "cannot be read"),
    ):
        (tmp_path / name).write_bytes(data)
        assert word in refused(read_idx, tmp_path / name, 3)


def test_idx_files_that_declare_or_unpack_too_much_are_refused(tmp_path: Path) -> None:
    huge = struct.pack(">4B3I", 0, 0, 8, 3, 2**31, 28, 28)
    (tmp_path / "plain").write_bytes(huge)
    assert "more than a file of this size" in refused(read_idx, tmp_path / "plain", 3)
    bomb = struct.pack(">4B3I", 0, 0, 8, 3, 10, 28, 28) + bytes(1 << 26)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bomb))
    assert "holds more" in refused(read_idx, tmp_path / "bomb.gz", 3)


def test_wrong_shapes_and_labels_are_refused(tmp_path: Path) -> None:
    write_mnist(tmp_path, packed=False)
    images, labels = tmp_path / "train-images-idx3-ubyte", tmp_path / "train-labels-idx1-ubyte"
    good = images.read_bytes()
    images.write_bytes(idx_bytes(random_images(40, 32, 32, seed=0)[0]))
    assert "32 x 32" in refused(read_mnist, tmp_path)
    images.write_bytes(good)
    labels.write_bytes(idx_bytes(np.zeros(39, dtype=np.uint8)))
    assert "40 images but labels of shape (39,)" in refused(read_mnist, tmp_path)
    labels.write_bytes(idx_bytes(np.full(40, 10, dtype=np.uint8)))
    assert "labels go from 10 to 10" in refused(read_mnist, tmp_path)
    labels.unlink()
    assert "lacks train-labels-idx1-ubyte" in refused(read_mnist, tmp_path)


def test_wrong_cifar10_files_are_refused(tmp_path: Path) -> None:
    binary = write_cifar10(tmp_path / "binary", "binary")
    (binary / "data_batch_1.bin").write_bytes(bytes(3072))
    assert "3072 bytes" in refused(read_cifar10, binary)
    (binary / "data_batch_1.bin").write_bytes(b"")
    assert "no image" in refused(read_cifar10, binary)
    (binary / "test_batch.bin").unlink()
    assert "lacks test_batch.bin" in refused(read_cifar10, binary)
    pickled = write_cifar10(tmp_path / "python", "python")
    (pickled / "data_batch_1").write_bytes(python2_batch(*random_images(10, 3, 16, 16, seed=0)))
    assert "shape (10, 768)" in refused(read_cifar10, pickled)
    (pickled / "data_batch_1").write_bytes(pickle.dumps({"images": [1]}, 3))
    assert "holds images" in refused(read_cifar10, pickled)
    (pickled / "data_batch_1").write_bytes(pickle.dumps({"data": [1], "labels": ["cat"]}, 3))
    assert "not a list of classes" in refused(read_cifar10, pickled)
    packed = write_cifar10(tmp_path / "cifar10", "npz")
    np.savez(packed / "cifar10_data_batch_1.npz", images=np.zeros((4, 3, 32, 32)), labels=np.zeros(4, dtype=int))
    assert "float64" in refused(read_cifar10, packed)
    np.savez(packed / "cifar10_data_batch_1.npz", numbers=np.zeros(4))
    assert "holds numbers" in refused(read_cifar10, packed)
    (packed / "cifar10_data_batch_1.npz").unlink()
    assert "no train images" in refused(read_cifar10, packed)


def test_a_folder_without_images_says_where_they_go(tmp_path: Path) -> None:
    sentence = refused(find_image_sets, tmp_path)
    assert all(name in sentence for name in ("train-images-idx3-ubyte", "data_batch_1", ".npz"))
    assert "no such directory" in refused(find_image_sets, tmp_path / "nowhere")
    (tmp_path / "file").touch()
    assert "not a directory" in refused(find_image_sets, tmp_path / "file")
