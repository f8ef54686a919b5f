"""Directories that are written whole or not at all, and read without trust."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import affinelens as al
from affinelens.files.saved_directory import (
    move_into_place,
    naming_damage,
    plain_file_inside,
    read_description,
    require_place,
)


def description(folder: Path, **entries: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "what.json").write_text(json.dumps(entries))
    return folder


def require(path: Path, *, overwrite: bool = False) -> None:
    require_place(path, overwrite=overwrite, marker="what.json", content="a thing")


def test_a_place_is_new_empty_or_replaced_on_demand(tmp_path: Path) -> None:
    require(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    require(tmp_path / "empty")
    thing = description(tmp_path / "thing")
    require(thing, overwrite=True)
    with pytest.raises(al.AffineLensError, match="already holds a thing"):
        require(thing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "thing"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_place_of_something_else_is_refused(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    for path, words in (
        (tmp_path / "other", "something other than a thing"),
        (tmp_path / "other" / "file", "is a file"),
        (tmp_path / "none" / "new", "does not exist; create it first"),
    ):
        with pytest.raises(al.AffineLensError, match=words):
            require(path, overwrite=overwrite)


def test_a_finished_directory_replaces_the_old_one_whole(tmp_path: Path) -> None:
    old, new = description(tmp_path / "old", age=1), description(tmp_path / "new", age=2)
    (old / "rest").touch()
    move_into_place(new, old)
    assert [path.name for path in old.iterdir()] == ["what.json"]
    assert json.loads((old / "what.json").read_text()) == {"age": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_if_moving_fails_the_old_one_stays(tmp_path: Path) -> None:
    old = description(tmp_path / "old", age=1)
    with pytest.raises(OSError, match="none"):
        move_into_place(tmp_path / "none", old)
    assert json.loads((old / "what.json").read_text()) == {"age": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_description_is_of_one_form_and_version(tmp_path: Path) -> None:
    good = {"format": "thing", "format_version": 3}
    assert read_description(description(tmp_path, **good), "what.json", "thing", 3, 1000) == good
    for entries, words in (
        ({"format": "other", "format_version": 3}, "not one that"),
        ({"format": "thing", "format_version": 4}, "format version 4, and this AffineLens reads 3"),
        (good | {"rest": "x" * 1000}, "larger than any"),
    ):
        with pytest.raises(al.AffineLensError, match=words):
            read_description(description(tmp_path, **entries), "what.json", "thing", 3, 1000)


def test_only_plain_files_of_the_directory_are_read(tmp_path: Path) -> None:
    inside = description(tmp_path / "inside")
    (tmp_path / "outside").touch()
    (inside / "link").symlink_to(tmp_path / "outside")
    assert plain_file_inside(inside, "what.json") == inside / "what.json"
    for name in ("none", "link", "../outside", "."):
        with pytest.raises(al.AffineLensError, match="not a file inside it"):
            plain_file_inside(inside, name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"format": "thing",\n broken', "what.json is no JSON from line 2 on; write it again"),
        (b"\xff\xfe", "what.json is no JSON; write it again"),
        (b"[" * 200_000, "what.json is no JSON; write it again"),
    ],
)
def test_a_broken_description_is_named_without_the_words_of_a_parser(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "what.json").write_bytes(content)
    with pytest.raises(al.AffineLensError, match=words):
        read_description(tmp_path, "what.json", "thing", 3, 1 << 20)


def test_a_missing_package_is_no_damage(tmp_path: Path) -> None:
    missing = ModuleNotFoundError("No module named 'pyarrow.parquet'", name="pyarrow.parquet")
    with (
        pytest.raises(al.MissingExtraError, match=r"reading it needs pyarrow, .*pip install pyarrow$"),
        naming_damage(tmp_path, "thing"),
    ):
        raise missing


def test_what_may_be_replaced_is_said_with_the_option(tmp_path: Path) -> None:
    description(tmp_path / "old")
    with pytest.raises(al.AffineLensError, match=r"already holds a thing; .* pass overwrite=True$"):
        require_place(tmp_path / "old", overwrite=False, marker="what.json", content="a thing")


@pytest.mark.parametrize("error", [al.AffineLensError("a hole"), KeyError("a hole"), ZeroDivisionError("a\nhole")])
def test_whatever_goes_wrong_is_damage(error: Exception, tmp_path: Path) -> None:
    with (
        pytest.raises(al.AffineLensError, match=r": damaged thing.*a hole") as caught,
        naming_damage(tmp_path, "thing"),
    ):
        raise error
    assert "\n" not in str(caught.value)
