"""``.npz`` files from anywhere: their arrays, or one sentence and little memory."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

import affinelens as al
from affinelens.files.npz import read_npz


def test_arrays_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "some.npz", b=np.arange(3), a=np.eye(2, dtype=np.float32))
    found = read_npz(tmp_path / "some.npz")
    assert list(found) == ["b", "a"]
    np.testing.assert_array_equal(found["b"], [0, 1, 2])
    assert found["a"].dtype == np.float32


def test_zeros_that_were_packed_well_are_refused_if_they_are_many(tmp_path: Path) -> None:
    few, many = tmp_path / "few.npz", tmp_path / "many.npz"
    np.savez_compressed(few, zeros=np.zeros(10**6))
    assert read_npz(few)["zeros"].sum() == 0
    with zipfile.ZipFile(many, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros.npy", "w") as stream:
        for _ in range(65):
            stream.write(bytes(2**20))
    with pytest.raises(al.AffineLensError, match=rf"many\.npz: would unpack to {65 * 2**20} bytes"):
        read_npz(many)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", a=np.array([None, {}], dtype=object))
    with pytest.raises(al.AffineLensError, match=r"not a readable \.npz file of plain numbers"):
        read_npz(tmp_path / "objects.npz")


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(al.AffineLensError, match=r"none\.npz: no such file"):
        read_npz(tmp_path / "none.npz")
    with pytest.raises(al.AffineLensError, match="not a file"):
        read_npz(tmp_path)
