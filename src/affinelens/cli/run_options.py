"""The command line's options of walks that are kept in a run directory, and what is said about one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from affinelens.cli.command_output import INTERRUPTED
from affinelens.cli.shared_options import require_name
from affinelens.errors import AffineLensError, Interrupted
from affinelens.regions.store.manifest import is_run
from affinelens.regions.store.run_writer import command_to_go_on, require_writable
from affinelens.walk import Outcome, Status

overwrite_option = click.option("--overwrite", is_flag=True, help="Replace a run that is already in RUN.")
resume_option = click.option("--resume", is_flag=True, help="Go on with the run in RUN, if there is one.")


def require_output(output: str | None, *, overwrite: bool, resume: bool) -> None:
    """Refuse a destination before any work is done for it."""
    if overwrite and resume:
        raise AffineLensError("--overwrite begins a run anew and --resume goes on with it; give one of them")
    if output is None:
        if overwrite or resume:
            what = "--overwrite replaces" if overwrite else "--resume goes on with"
            raise AffineLensError(f"{what} a run; say which with -o RUN")
        return
    path = Path(require_name(output, "-o", "a directory"))
    if not (resume and is_run(path)):
        require_writable(path, overwrite=overwrite)


def where_it_is(outcome: Outcome, output: str) -> str:
    """Where a walk is saved, and how it goes on."""
    if outcome.status is Status.COMPLETE:
        return f"saved in {output}"
    return f"saved in {output}; go on with: {command_to_go_on(output)}"


@contextmanager
def kept_in(output: str | None) -> Iterator[None]:
    """Whatever Ctrl-C stops inside, beside the walk itself, leaves the run as its last checkpoint has it."""
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        if output is None or not is_run(Path(output)):
            raise
        command = command_to_go_on(output)
        click.echo(
            f"affinelens: stopped by Ctrl-C; {output} is as of its last checkpoint; go on with: {command}", err=True
        )
        sys.exit(INTERRUPTED)
