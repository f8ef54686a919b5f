"""``affinelens resume``: the rest of a walk that was stopped or killed."""

from __future__ import annotations

from typing import Any

import click

from affinelens.api import resume_walk
from affinelens.cli.command_output import print_json, print_walk, walk_exit_code, walk_report
from affinelens.cli.dask_option import dask_option
from affinelens.cli.run_options import kept_in, where_it_is
from affinelens.cli.shared_options import json_option, max_regions_option, time_limit_option, workers_option
from affinelens.progress_display import shown_on_terminal


@click.command("resume")
@click.argument("run")
@workers_option
@dask_option
@max_regions_option()
@time_limit_option()
@json_option
def resume_command(run: str, as_json: bool, **limits: Any) -> int:
    """Go on with the walk in RUN.

    Nothing else has to be said: the model, the domain and what was asked for are in RUN. --max-regions is of all
    sittings together, --time-limit of this one. The exit status is that of enumerate or count.
    """
    with kept_in(run), shown_on_terminal():
        saved = resume_walk(run, **limits)
    if as_json:
        print_json(walk_report(saved.outcome) | {"run": run})
    else:
        print_walk(saved.outcome)
        click.echo(where_it_is(saved.outcome, run))
    return walk_exit_code(saved.outcome.status, counts=not saved.asked.regions)
