"""``affinelens inspect``: a network layer by layer and, on a domain, what walking it would take."""

from __future__ import annotations

import shutil
import time
from typing import Any

import click

from affinelens.api import checked_limits
from affinelens.cli.command_output import base_report, print_json
from affinelens.cli.domain_options import all_ways, domain_options, read_domain, taken_from
from affinelens.cli.model_options import model_options, read_network
from affinelens.cli.shared_options import TitledCommand, json_option, walk_options
from affinelens.engine import ENGINE_NAMES
from affinelens.inspection import inspect

_WIDEST = 100


@click.command("inspect", cls=TitledCommand)
@click.argument("model")
@model_options
@domain_options
@walk_options(ENGINE_NAMES)
@json_option
def inspect_command(model: str, engine: str, as_json: bool, cut_outputs: bool, **options: Any) -> int:
    """Show a network, and what enumerating it on a domain would take."""
    started = time.perf_counter()
    compiled = read_network(model, options)
    asked = taken_from(options)
    workers = checked_limits(**options).workers
    domain = read_domain(compiled, asked) if asked else None
    found = inspect(compiled, domain, engine=engine, workers=workers, cut_outputs=cut_outputs)
    if as_json:
        head = base_report(None, None, time.perf_counter() - started, found.engine or engine)
        print_json(head | {"model": model} | found.to_json())
    else:
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        click.echo(found.page(width, without_domain=f"add {all_ways()}"))
    return 0
