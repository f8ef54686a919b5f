"""``affinelens count``: how many regions there are."""

from __future__ import annotations

from typing import Any

import click

from affinelens.api import count_regions
from affinelens.cli.command_output import INCOMPLETE, print_json, print_walk, walk_exit_code, walk_report
from affinelens.cli.domain_options import domain_options, read_domain, taken_from
from affinelens.cli.model_options import model_options, read_network
from affinelens.cli.shared_options import TitledCommand, json_option, walk_options
from affinelens.engine import ENGINE_NAMES
from affinelens.progress_display import shown_on_terminal
from affinelens.walk import Status

# How a count ends that was stopped by what it was given.
LIMITS = (Status.REGION_LIMIT, Status.TIME_LIMIT)


@click.command("count", cls=TitledCommand)
@click.argument("model")
@model_options
@domain_options
@walk_options(ENGINE_NAMES)
@json_option
def count_command(model: str, as_json: bool, **options: Any) -> int:
    """Count the regions of MODEL on a domain.

    The exit status is 0 for the whole number, 3 if a limit came first (the number is then a lower bound), 2 for bad
    input, 130 for Ctrl-C.
    """
    compiled = read_network(model, options)
    domain = read_domain(compiled, taken_from(options))
    with shown_on_terminal():
        outcome = count_regions(compiled, domain, **options)
    if as_json:
        print_json(walk_report(outcome) | {"model": model})
    else:
        print_walk(outcome)
    return INCOMPLETE if outcome.status in LIMITS else walk_exit_code(outcome.status)
