"""Files that cannot be written are refused before anything is computed for them."""

from __future__ import annotations

from pathlib import Path

import pytest

import affinelens as al
from affinelens.files.output_file import cannot_be_written, require_writable_file, written_whole_file


def test_a_file_to_write_is_looked_at_first(tmp_path: Path) -> None:
    require_writable_file(tmp_path / "new.csv")
    assert not (tmp_path / "new.csv").exists()
    with pytest.raises(al.AffineLensError, match=r"is a directory; give the name of a file"):
        require_writable_file(tmp_path)
    with pytest.raises(al.AffineLensError, match=r"the folder .* does not exist; create it first"):
        require_writable_file(tmp_path / "no" / "where.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(al.AffineLensError, match=r"does not exist"):
        require_writable_file(tmp_path / "file" / "where.csv")


def test_what_the_system_says_is_said_once() -> None:
    error = OSError(28, "Failed to write 'a.csv'. Detail: [errno 28] No space left on device")
    assert str(cannot_be_written(Path("a.csv"), error)) == (
        "a.csv: cannot be written (No space left on device); give another file"
    )


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("before")

    def half_of_it(stop: BaseException) -> None:
        with written_whole_file(path) as file:
            file.write_text("half")
            raise stop

    with pytest.raises(KeyboardInterrupt):
        half_of_it(KeyboardInterrupt())
    assert path.read_text() == "before"
    with pytest.raises(al.AffineLensError, match="cannot be written"):
        half_of_it(OSError(28, "full"))
    with written_whole_file(path) as file:
        file.write_text("after")
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]
