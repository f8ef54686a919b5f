"""A file that is replaced is what it was or what it becomes, and the one before is kept on request."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from affinelens.files.durable import replace_file


def test_a_file_and_the_one_before(tmp_path: Path) -> None:
    file, before = tmp_path / "file", tmp_path / "before"
    for number in range(4):
        replace_file(file, b"%d" % number, keep_as=before)
        assert file.read_bytes() == b"%d" % number
        assert not before.exists() if number == 0 else before.read_bytes() == b"%d" % (number - 1)
    replace_file(file, b"other")
    assert before.read_bytes() == b"2"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "before"}


def test_where_a_file_cannot_have_two_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", unsupported)
    file, before = tmp_path / "file", tmp_path / "before"
    replace_file(file, b"1", keep_as=before)
    replace_file(file, b"2", keep_as=before)
    assert (file.read_bytes(), before.read_bytes()) == (b"2", b"1")
