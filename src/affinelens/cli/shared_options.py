"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from affinelens.engine import ENGINE_NAMES
from affinelens.errors import AffineLensError

Command = TypeVar("Command", bound=Callable[..., Any])


def option_group(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that gives a command these options, in this order."""

    def apply(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return apply


engine_option = click.option(
    "--engine", default="auto", show_default=True, metavar="NAME", help=f"One of {', '.join(ENGINE_NAMES)}."
)
workers_option = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="Processes to use.  [default: one a core]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def max_regions_option(stopped: str = "Stop") -> Callable[[Command], Command]:
    return click.option("--max-regions", type=click.IntRange(min=1), metavar="N", help=f"{stopped} after N regions.")


def time_limit_option(stopped: str = "Stop") -> Callable[[Command], Command]:
    return click.option(
        "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="S", help=f"{stopped} after S seconds."
    )


walk_options = option_group(
    engine_option,
    workers_option,
    max_regions_option(),
    time_limit_option(),
    click.option("--cut-outputs", is_flag=True, help="Also cut regions where an output is zero."),
)


def require_name(text: str, option: str, of: str) -> str:
    """Refuse an empty text as the name of a file or a directory."""
    if not text.strip():
        raise AffineLensError(f"{option} needs the name of {of}, but got an empty text")
    return text
