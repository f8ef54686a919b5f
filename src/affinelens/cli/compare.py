"""``affinelens study compare``: any networks on one domain."""

from __future__ import annotations

import json
from typing import Any

import click

from affinelens.cli.domain_options import domain_options, read_domain, taken_from
from affinelens.cli.model_options import model_options, read_network
from affinelens.cli.progress_line import walk_progress
from affinelens.errors import AffineLensError
from affinelens.study.compare import REPORT, compare, named_models, place_of_comparison


@click.command("compare")
@click.argument("models", nargs=-1, metavar="MODEL...")
@model_options
@domain_options
@click.option("-o", "--output", default="comparison", show_default=True, metavar="DIR", help="Directory to write.")
@click.option("--overwrite", is_flag=True, help="Replace a comparison that is already in DIR.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes to use.  [default: one a core]")
@click.option("--max-regions", type=click.IntRange(min=1), metavar="N", help="Stop each network after N regions.")
@click.option(
    "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Stop each network after S seconds."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def compare_command(models: tuple[str, ...], output: str, overwrite: bool, as_json: bool, **options: Any) -> int:
    """Measure two or more models on one domain.

    Writes a table (Markdown, CSV, Parquet) and a figure (PNG, SVG): regions by stage, volumes, decision boundary,
    Lipschitz constants.
    """
    if not output.strip():
        raise AffineLensError("-o needs the name of a directory, but got an empty text")
    place = place_of_comparison(output, overwrite=overwrite)
    asked = taken_from(options)
    reading = {name: options.pop(name) for name in ("until", "input_shape", "fixed")}
    networks = {name: read_network(model, dict(reading)) for name, model in named_models(models).items()}
    domain = read_domain(next(iter(networks.values())), asked)
    try:
        with walk_progress() as progress:
            found = compare(networks, domain, place, overwrite=overwrite, progress=progress, **options)
    except KeyboardInterrupt:
        click.echo("affinelens: stopped; nothing was written", err=True)
        return 130
    if as_json:
        click.echo(json.dumps({"directory": output, "table": found.table}))
        return 0
    for name, regions in found.regions.items():
        click.echo(f"{name}: {len(regions):,} region{'' if len(regions) == 1 else 's'}, {regions.status.name}")
    click.echo(f"the report is {place / REPORT}")
    return 0
