"""``affinelens count``: how many regions there are."""

from __future__ import annotations

from typing import Any

import click

from affinelens.api import count_regions
from affinelens.cli.command_output import print_json, print_walk, walk_exit_code, walk_report
from affinelens.cli.dask_option import dask_option
from affinelens.cli.domain_options import domain_options, read_domain, taken_from
from affinelens.cli.model_options import model_options, read_network
from affinelens.cli.run_options import kept_in, overwrite_option, require_output, resume_option, where_it_is
from affinelens.cli.shared_options import TitledCommand, json_option, walk_options
from affinelens.engine import ENGINE_NAMES
from affinelens.progress_display import shown_on_terminal


@click.command("count", cls=TitledCommand)
@click.argument("model")
@model_options
@domain_options
@walk_options(ENGINE_NAMES)
@dask_option
@click.option("-o", "--output", metavar="RUN", help="Directory to note down in how far it is, so that it can go on.")
@overwrite_option
@resume_option
@json_option
def count_command(model: str, output: str | None, overwrite: bool, resume: bool, as_json: bool, **options: Any) -> int:
    """Count the regions of MODEL on a domain.

    The exit status is 0 for the whole number, 3 if a limit came first (the number is then a lower bound), 2 for bad
    input, 130 for Ctrl-C.
    """
    require_output(output, overwrite=overwrite, resume=resume)
    compiled = read_network(model, options)
    domain = read_domain(compiled, taken_from(options))
    with kept_in(output), shown_on_terminal():
        outcome = count_regions(compiled, domain, run=output, overwrite=overwrite, resume=resume, **options)
    if as_json:
        print_json(walk_report(outcome) | {"model": model, "run": output})
    else:
        print_walk(outcome)
        if output is not None:
            click.echo(where_it_is(outcome, output))
    return walk_exit_code(outcome.status, counts=True)
