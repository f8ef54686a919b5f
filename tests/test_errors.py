"""An error's sentence is kept in parts, so that each surface shows its options in its own words."""

from __future__ import annotations

import pickle

import pytest

from affinelens.cli.model_options import on_command_line
from affinelens.errors import AffineLensError, Option, Words

SENTENCES = [
    (("cut it; ", Option("until", "h"), " helps"), "cut it; until='h' helps", "cut it; --until h helps"),
    (("pass ", Option("input_shape")), "pass input_shape=", "pass --input-shape"),
    ((Option("input_shape", (2, 0)), " is wrong"), "input_shape=(2, 0) is wrong", "--input-shape 2,0 is wrong"),
    (
        (Option("fixed", entries=("a", "b")), " leaves one"),
        "fixed={'a': values, 'b': values} leaves one",
        "--fixed a=FILE --fixed b=FILE leaves one",
    ),
]


@pytest.mark.parametrize(("parts", "in_python", "in_a_command"), SENTENCES)
def test_options_are_worded_where_they_are_shown(
    parts: tuple[str | Option, ...], in_python: str, in_a_command: str
) -> None:
    error = AffineLensError(*parts)
    assert str(error) == in_python
    assert error.worded(on_command_line) == in_a_command
    assert len(error.options) == 1
    located = error.located("net.onnx").between("", " (see there)")
    assert located.worded(on_command_line) == f"net.onnx: {in_a_command} (see there)"
    assert str(pickle.loads(pickle.dumps(located))) == f"net.onnx: {in_python} (see there)"


def test_words_are_those_of_the_place_where_they_are_shown() -> None:
    error = AffineLensError("give ", Words("a module", "a file")).located("net.onnx")
    assert str(error) == "net.onnx: give a module"
    assert error.worded(on_command_line) == "net.onnx: give a file"
    assert error.options == ()


def test_a_name_that_looks_like_an_option_is_left_alone() -> None:
    error = AffineLensError("no node is named 'until=x'")
    assert error.worded(on_command_line) == str(error) == "no node is named 'until=x'"
    assert error.options == ()
