"""``affinelens study``: one command a study."""

from __future__ import annotations

from typing import Any

import click

from affinelens.cli.command_output import INTERRUPTED
from affinelens.cli.compare_command import compare_command
from affinelens.cli.shared_options import NamingGroup, TitledCommand, option_group, require_name, workers_option
from affinelens.cli.values import whole_number
from affinelens.errors import AffineLensError
from affinelens.progress_display import terminal_line
from affinelens.study.study_run import STUDIES, StudyProgress, run

_study_options = option_group(
    "Study",
    click.option("-o", "--output", metavar="DIR", help="Directory for everything.  [default: study-NAME]"),
    click.option("--seeds", type=whole_number(1), metavar="N", default=3, show_default=True, help="Trainings of each."),
    click.option("--quick", is_flag=True, help="A smaller study of the same shape, in minutes."),
    click.option("--resume", is_flag=True, help="Go on with a study that was stopped; give the same options."),
    click.option("--data", metavar="DIR", help="Folder of image files, for a study that reads some."),
    workers_option,
    click.option("--set", "choices", multiple=True, metavar="NAME=VALUE", help="Choose otherwise, as samples=100."),
)


def _command(name: str, summary: str) -> click.Command:
    @click.command(name, cls=TitledCommand, help=f"{summary[0].upper()}{summary[1:]}.")
    @_study_options
    def run_study(output: str | None, choices: tuple[str, ...], **options: Any) -> int:
        directory = f"study-{name}" if output is None else require_name(output, "-o", "a directory")
        options |= dict(map(_choice, choices))
        try:
            with terminal_line(_bar) as progress:
                report = run(name, directory, progress=progress, **options)
        except KeyboardInterrupt:
            click.echo(f"affinelens: stopped; what was finished is in {directory}, go on with --resume", err=True)
            return INTERRUPTED
        click.echo(f"the report is {report}")
        return 0

    return run_study


@click.group(
    "study",
    cls=NamingGroup,
    called="study",
    commands=[*(_command(name, summary) for name, summary in STUDIES.items()), compare_command],
    invoke_without_command=True,
)
@click.pass_context
def study_command(context: click.Context) -> None:
    """Run one of the paper's experiments again.

    Trains the networks, counts their regions exactly, and writes a table, figures and a report with the paper's numbers
    beside ours. Needs torch and matplotlib.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _choice(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise AffineLensError(f"--set takes NAME=VALUE, as --set samples=100; got {text!r:.60}")
    if name in ("seeds", "quick", "resume", "data", "model", "workers", "progress"):
        raise AffineLensError(f"{name} is not a choice of the set-up; give it as an option of its own")
    return name, value


def _bar(update: StudyProgress, _width: int) -> Any:
    """How far a study is: a bar, and what it does or how many networks are done."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    grid = Table.grid(padding=(0, 1))
    words = update.note or f"{update.runs} of {update.all_runs} networks"
    grid.add_row(
        ProgressBar(max(update.all_epochs, 1), update.epochs, width=30),
        f"{words}, {update.seconds:.0f} s{_remaining(update)}",
    )
    return grid


def _remaining(update: StudyProgress) -> str:
    """A guess at the time left, once there is something to guess by."""
    if update.note or not update.epochs:
        return ""
    left = update.seconds * (update.all_epochs - update.epochs) / update.epochs
    return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"
