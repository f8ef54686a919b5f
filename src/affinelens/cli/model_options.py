"""The command line's options that say how MODEL is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from affinelens.errors import AffineLensError
from affinelens.files.vector import read_vector
from affinelens.network import Network, network

Command = TypeVar("Command", bound=Callable[..., Any])
_OPTIONS = (
    click.option("--until", metavar="NODE", help="Cut an ONNX model at this node or tensor."),
    click.option("--input-shape", metavar="N,N", help="Shape of an input, as 1,28,28, if MODEL leaves it open."),
    click.option(
        "--fixed", multiple=True, metavar="NAME=FILE",
        help="Fix one of several inputs to the numbers in an .npy, .npz, .csv or .txt file; may be repeated.",
    ),
)  # fmt: skip


def model_options(command: Command) -> Command:
    """Give a command all options that say how its model is read."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_network(model: str, options: dict[str, Any]) -> Network:
    """Take the model's options out of a command's, and compile the model with those that were given."""
    until, shape, fixed = (options.pop(name) for name in ("until", "input_shape", "fixed"))
    sizes, values = None if shape is None else _sizes(shape), dict(map(_fixed_input, fixed)) or None
    try:
        return network(model, until=until, input_shape=sizes, fixed=values)
    except AffineLensError as error:
        raise type(error)(_in_options(str(error))) from error


def _in_options(sentence: str) -> str:
    """An error's advice, with options of the command line in place of Python's."""
    sentence = re.sub(r"fixed=\{(.*?)\}", lambda found: _fixed_options(found[1]), sentence)
    sentence = re.sub(r"\b(until|input_shape|fixed)=(?=\S)", lambda found: f"{_option(found[1])} ", sentence)
    return re.sub(r"\b(until|input_shape|fixed)=", lambda found: _option(found[1]), sentence)


def _fixed_options(entries: str) -> str:
    return " ".join(f"--fixed {name}=FILE" for name in re.findall(r"'([^']*)': values", entries))


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise AffineLensError(f"--input-shape takes whole numbers, as 1,28,28; got {text!r}") from error


def _fixed_input(text: str) -> tuple[str, Any]:
    name, separator, file = text.partition("=")
    if not (name and separator and file):
        raise AffineLensError(f"--fixed takes NAME=FILE, as --fixed mask=mask.npy; got {text!r}")
    return name, read_vector(Path(file))
