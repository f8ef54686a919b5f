"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from affinelens.engine import ENGINE_NAMES
from affinelens.errors import AffineLensError

Command = TypeVar("Command", bound=Callable[..., Any])
_OTHERS = "Output"


def option_group(title: str, *options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """A decorator that gives a command these options, in this order, under a title of their own in its help."""

    def apply(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
            command.__click_params__[-1].title = title  # type: ignore[attr-defined]
        return command

    return apply


class TitledCommand(click.Command):
    """A command whose help lists options under the titles of their groups, and those without one last."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "title", _OTHERS), []).append(record)
        for title in sorted(sections, key=lambda title: title == _OTHERS):
            with formatter.section(title):
                formatter.write_dl(sections[title])


engine_option = click.option(
    "--engine", default="auto", show_default=True, metavar="NAME", help=f"One of {', '.join(ENGINE_NAMES)}."
)
workers_option = click.option(
    "--workers", type=click.IntRange(min=1), metavar="N", help="How many work at once.  [default: one a core]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def max_regions_option(stopped: str = "Stop") -> Callable[[Command], Command]:
    return click.option("--max-regions", type=click.IntRange(min=1), metavar="N", help=f"{stopped} after N regions.")


def time_limit_option(stopped: str = "Stop") -> Callable[[Command], Command]:
    return click.option(
        "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="S", help=f"{stopped} after S seconds."
    )


walk_options = option_group(
    "Walk",
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
