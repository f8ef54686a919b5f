"""The command line's options that say how MODEL is read."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import click

from affinelens.cli.shared_options import option_group
from affinelens.errors import AffineLensError, Option, Words
from affinelens.files.vector import read_vector
from affinelens.network import Network, network

model_options = option_group(
    "Model",
    click.option("--until", metavar="NODE", help="Cut an ONNX model at this node or tensor."),
    click.option("--input-shape", metavar="N,N", help="Shape of an input, as 1,28,28, if MODEL leaves it open."),
    click.option(
        "--fixed", multiple=True, metavar="NAME=FILE",
        help="Fix one of several inputs to the numbers in an .npy, .npz, .csv or .txt file; may be repeated.",
    ),
)  # fmt: skip


def read_network(model: str, options: dict[str, Any]) -> Network:
    """Take the model's options out of a command's, and compile the model with those that were given."""
    return network(model, **taken_reading(options))


def taken_reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take the model's options out of a command's, as :func:`affinelens.network` takes them."""
    until, shape, fixed = (options.pop(name) for name in ("until", "input_shape", "fixed"))
    return {
        "until": until,
        "input_shape": None if shape is None else _sizes(shape),
        "fixed": dict(map(_fixed_input, fixed)) or None,
    }


def on_command_line(option: Option | Words) -> str:
    """An option in an error's sentence, as it is given to a command, and words as commands have them."""
    if isinstance(option, Words):
        return option.on_command_line
    name = f"--{option.name.replace('_', '-')}"
    if option.entries:
        return " ".join(f"{name} {entry}=FILE" for entry in option.entries)
    if option.value is None or option.value is True:
        return name
    several = isinstance(option.value, list | tuple)
    return f"{name} {','.join(map(str, option.value)) if several else quote(str(option.value))}"


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise AffineLensError(f"--input-shape takes whole numbers, as 1,28,28; got {text!r}") from None


def _fixed_input(text: str) -> tuple[str, Any]:
    name, separator, file = text.partition("=")
    if not (name and separator and file):
        raise AffineLensError(f"--fixed takes NAME=FILE, as --fixed mask=mask.npy; got {text!r}")
    return name, read_vector(Path(file))
