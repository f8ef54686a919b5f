"""``affinelens measure``: metrics of a saved run, or how some of its columns are spread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from affinelens.api import load
from affinelens.cli.command_output import print_json
from affinelens.cli.shared_options import TitledCommand, json_option, option_group
from affinelens.measure.summary.quantities import flat_columns, require_columns
from affinelens.progress_display import shown_on_terminal
from affinelens.region_set import RegionSet

Spread = dict[str, float | None]


_measures = option_group(
    "Measures",
    click.option("--columns", metavar="NAMES", help="Columns of the regions, as volume,inradius,class."),
)


@click.command("measure", cls=TitledCommand)
@click.argument("run")
@_measures
@click.option("-o", "--output", metavar="FILE", help="Write a row a region to this .csv or .parquet file.")
@json_option
def measure_command(run: str, columns: str | None, output: str | None, as_json: bool) -> int:
    """Measure the regions of a saved RUN.

    Prints numbers that sum up the run; with --columns, how these are spread over the regions.
    """
    from affinelens.measure.summary.export import USUAL_COLUMNS, require_column_file, write_columns

    asked = [name.strip() for name in (columns or "").split(",") if name.strip()]
    require_columns(asked)
    if output is not None:
        require_column_file(Path(output), asked)
    regions = load(run)
    with shown_on_terminal():
        if output is not None:
            write_columns(regions, asked or USUAL_COLUMNS, Path(output))
        found: dict[str, Any] = {"columns": _spreads(regions, asked)} if asked else {"metrics": regions.metrics()}
    if as_json:
        print_json({"run": run, "output": output, **found})
        return 0
    click.echo(_spreads_text(found["columns"]) if asked else _metrics_text(found["metrics"]))
    if output is not None:
        click.echo(f"columns of {len(regions)} regions written to {output}")
    return 0


def _spreads(regions: RegionSet, names: Sequence[str]) -> dict[str, Spread]:
    """Smallest, middle, mean and largest value of each column; None where that is infinite."""
    found = {}
    for name, values in flat_columns(regions, names).items():
        if len(values):
            spread = {"min": values.min(), "median": np.median(values), "mean": values.mean(), "max": values.max()}
            found[name] = {word: float(value) if np.isfinite(value) else None for word, value in spread.items()}
    return found


def _metrics_text(metrics: dict[str, float]) -> str:
    width = max(map(len, metrics))
    return "\n".join(f"{name:<{width}}  {_shown(value)}" for name, value in metrics.items())


def _spreads_text(found: dict[str, Spread]) -> str:
    width = max([len("column"), *map(len, found)])
    lines = [f"{'column':<{width}} {'min':>13} {'median':>13} {'mean':>13} {'max':>13}"]
    for name, spread in found.items():
        lines.append(f"{name:<{width}} " + " ".join(f"{_shown(value):>13}" for value in spread.values()))
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    if value is None:
        return "infinite"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
