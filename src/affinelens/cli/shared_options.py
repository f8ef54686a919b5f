"""Options that several commands share."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from affinelens.cli.values import SECONDS, one_of, whole_number
from affinelens.engine import ENGINE_NAMES
from affinelens.errors import AffineLensError

Command = TypeVar("Command", bound=Callable[..., Any])
_OTHERS = "Output"
# What a command does is shown in full, in letters.
_LONGEST = 500


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


class NamingGroup(click.Group):
    """A group whose help shows what its commands do in full, and that says which there are when one is not found."""

    def __init__(self, *args: Any, called: str = "command", example: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self._called = called
        self._example = example

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named first."""
        if args and not args[0].startswith("-") and self.get_command(context, args[0]) is None:
            near = difflib.get_close_matches(args[0], self.commands, 1)
            meant = (
                f"; did you mean {near[0]!r}?" if near else f"; take one of {', '.join(self.commands)}{self._example}"
            )
            raise AffineLensError(f"there is no {self._called} {args[0]!r:.60}{meant}")
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands and what they do."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, found.get_short_help_str(_LONGEST)) for name, found in self.commands.items()])


def engine_option(names: Sequence[str]) -> Callable[[Command], Command]:
    return click.option(
        "--engine", type=one_of(names), default="auto", show_default=True, metavar="NAME",
        help=f"One of {', '.join(names)}.",
    )  # fmt: skip


# The count engine has no regions to show.
REGION_ENGINES = [name for name in ENGINE_NAMES if name != "count"]
workers_option = click.option(
    "--workers", type=whole_number(1), metavar="N", help="How many work at once.  [default: one a core]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def max_regions_option(stopped: str = "Stop") -> Callable[[Command], Command]:
    return click.option("--max-regions", type=whole_number(1), metavar="N", help=f"{stopped} after N regions.")


def time_limit_option(stopped: str = "Stop") -> Callable[[Command], Command]:
    return click.option("--time-limit", type=SECONDS, metavar="S", help=f"{stopped} after S seconds.")


def walk_options(engines: Sequence[str]) -> Callable[[Command], Command]:
    return option_group(
        "Walk",
        engine_option(engines),
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
