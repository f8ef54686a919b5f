"""``affinelens enumerate``: all regions, and a directory that keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from affinelens.api import enumerate as enumerate_regions
from affinelens.cli.command_output import print_json, print_walk, walk_exit_code, walk_report
from affinelens.cli.domain_options import domain_options, read_domain, taken_from
from affinelens.cli.model_options import model_options, read_network
from affinelens.cli.shared_options import REGION_ENGINES, TitledCommand, json_option, require_name, walk_options
from affinelens.errors import AffineLensError, Interrupted
from affinelens.progress_display import shown_on_terminal
from affinelens.regions.store.run_directory import require_writable


@click.command("enumerate", cls=TitledCommand)
@click.argument("model")
@model_options
@domain_options
@walk_options(REGION_ENGINES)
@click.option("-o", "--output", metavar="RUN", help="Directory to save the regions in.")
@click.option("--overwrite", is_flag=True, help="Replace a run that is already in RUN.")
@click.option("--facets/--no-facets", default=True, show_default=True, help="Find the facets of each region.")
@click.option("--vertices", is_flag=True, help="Keep the vertices of each region.")
@json_option
def enumerate_command(model: str, output: str | None, overwrite: bool, as_json: bool, **options: Any) -> int:
    """Find every region of MODEL on a domain; -o saves them."""
    if output is not None:
        require_writable(Path(require_name(output, "-o", "a directory")), overwrite=overwrite)
    elif overwrite:
        raise AffineLensError("--overwrite replaces a run; say which with -o RUN")
    compiled = read_network(model, options)
    domain = read_domain(compiled, taken_from(options))
    with shown_on_terminal():
        try:
            regions = enumerate_regions(compiled, domain, run=output, overwrite=overwrite, **options)
        except Interrupted as stop:
            regions = stop.found
    if as_json:
        print_json(walk_report(regions.outcome) | {"model": model, "run": output})
    else:
        print_walk(regions.outcome)
        click.echo("not saved; add -o RUN to keep the regions" if output is None else f"saved in {output}")
    return walk_exit_code(regions.status)
