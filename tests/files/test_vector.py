"""One input from a file: the same numbers in every format, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.files.vector import read_vector

NUMBERS = [0.5, -1.25, 3.0]


def test_every_format_holds_the_same_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", NUMBERS)
    np.savez(tmp_path / "a.npz", only=NUMBERS)
    (tmp_path / "a.csv").write_text("0.5, -1.25,\n3\n")
    (tmp_path / "a.txt").write_text("5e-1 -1.25\t3.0")
    for ending in ("npy", "npz", "csv", "txt"):
        np.testing.assert_array_equal(read_vector(tmp_path / f"a.{ending}"), NUMBERS)


def test_an_array_keeps_its_shape_and_type(tmp_path: Path) -> None:
    np.save(tmp_path / "image.npy", np.ones((1, 2, 2), dtype=np.float32))
    found = read_vector(tmp_path / "image.npy")
    assert (found.shape, found.dtype) == ((1, 2, 2), np.float32)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([1j]), "an input is real numbers"),
        (np.array(["one"]), "an input is real numbers"),
        (np.array([True]), "an input is real numbers"),
        (np.array([]), r"shape \(0,\)"),
        (np.array([{}], dtype=object), "not a readable .npy file"),
    ],
    ids=["complex", "text", "truth", "empty", "objects"],
)
def test_arrays_that_are_no_input(array: np.ndarray, words: str, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    with pytest.raises(al.AffineLensError, match=words):
        read_vector(tmp_path / "a.npy")


@pytest.mark.parametrize("text", ["one two", "", "1;2"])
def test_texts_that_are_no_input(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(al.AffineLensError, match=r"a\.txt: "):
        read_vector(tmp_path / "a.txt")
