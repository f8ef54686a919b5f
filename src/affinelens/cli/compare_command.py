"""``affinelens study compare``: any networks on one domain."""

from __future__ import annotations

from typing import Any

import click

from affinelens.cli.command_output import INTERRUPTED, print_json
from affinelens.cli.domain_options import domain_options, read_domain, taken_from
from affinelens.cli.model_options import model_options, taken_reading
from affinelens.cli.shared_options import (
    TitledCommand,
    json_option,
    max_regions_option,
    option_group,
    require_name,
    time_limit_option,
    workers_option,
)
from affinelens.network import network
from affinelens.progress_display import shown_on_terminal
from affinelens.study.compare import REPORT, compare, named_models, place_of_comparison

_walk_options = option_group(
    "Walk", workers_option, max_regions_option("Stop each network"), time_limit_option("Stop each network")
)


@click.command("compare", cls=TitledCommand)
@click.argument("models", nargs=-1, metavar="MODEL...")
@model_options
@domain_options
@click.option("-o", "--output", default="comparison", show_default=True, metavar="DIR", help="Directory to write.")
@click.option("--overwrite", is_flag=True, help="Replace a comparison that is already in DIR.")
@_walk_options
@json_option
def compare_command(models: tuple[str, ...], output: str, overwrite: bool, as_json: bool, **options: Any) -> int:
    """Measure two or more models on one domain.

    Writes a table (Markdown, CSV, Parquet) and a figure (PNG, SVG): regions by stage, volumes, decision boundary,
    Lipschitz constants.
    """
    place = place_of_comparison(require_name(output, "-o", "a directory"), overwrite=overwrite)
    asked = taken_from(options)
    reading = taken_reading(options)
    networks = {name: network(model, **reading) for name, model in named_models(models).items()}
    domain = read_domain(next(iter(networks.values())), asked)
    try:
        with shown_on_terminal():
            found = compare(networks, domain, place, overwrite=overwrite, **options)
    except KeyboardInterrupt:
        click.echo("affinelens: stopped; nothing was written", err=True)
        return INTERRUPTED
    if as_json:
        print_json({"directory": output, "table": found.table})
        return 0
    for name, regions in found.regions.items():
        click.echo(f"{name}: {len(regions):,} region{'' if len(regions) == 1 else 's'}, {regions.status.name}")
    click.echo(f"the report is {place / REPORT}")
    return 0
