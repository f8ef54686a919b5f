"""``affinelens audit``: a saved run, checked again."""

from __future__ import annotations

import click

from affinelens.api import load
from affinelens.cli.command_output import FAILED, print_json
from affinelens.cli.shared_options import TitledCommand, json_option, option_group, require_name
from affinelens.cli.values import whole_number
from affinelens.progress_display import shown_on_terminal

_audit_options = option_group(
    "Audit",
    click.option(
        "--samples", type=whole_number(0), metavar="N", default=1000, show_default=True, help="Random points to draw."
    ),
    click.option(
        "--seed", type=whole_number(0), metavar="N", default=0, show_default=True, help="Which random points."
    ),
)


@click.command("audit", cls=TitledCommand)
@click.argument("run")
@_audit_options
@json_option
def audit_command(run: str, samples: int, seed: int, as_json: bool) -> int:
    """Check a saved RUN again, without the engine that made it.

    Says what was proved, measured and sampled. The exit status is 0 if nothing failed, 1 if something did, 2 for bad
    input.
    """
    regions = load(require_name(run, "RUN", "a directory"))
    with shown_on_terminal():
        report = regions.audit(samples=samples, seed=seed)
    if as_json:
        print_json(report.to_json() | {"run": run})
    else:
        click.echo(str(report))
    return 0 if report.passed else FAILED
