"""What several commands print, and what they exit with."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import click

from affinelens.short_text import shown_counts
from affinelens.walk import Outcome, Status

FAILED = 1
BAD_INPUT = 2
INCOMPLETE = 3
INTERRUPTED = 130
# Results are the same on every screen.
_LINE = 80


def print_json(data: dict[str, Any]) -> None:
    click.echo(json.dumps(data))


def base_report(regions: int | None, status: str | None, seconds: float, engine: str) -> dict[str, Any]:
    """What the object of every command about regions begins with."""
    return {"regions": regions, "status": status, "seconds": round(seconds, 6), "engine": engine, "exact": True}


def walk_report(outcome: Outcome) -> dict[str, Any]:
    """A walk's end as an object."""
    return base_report(outcome.regions, outcome.status.name, outcome.seconds, outcome.engine) | {
        "message": str(outcome.status),
        "layer_counts": list(outcome.layer_counts),
        "share": outcome.share,
        "certificate": outcome.certificate.to_json(),
    }


def print_walk(outcome: Outcome) -> None:
    """A walk's end as text."""
    certificate = outcome.certificate
    atleast = "" if outcome.status is Status.COMPLETE else "at least "
    click.echo(f"{atleast}{outcome.regions} region{'' if outcome.regions == 1 else 's'}")
    click.echo(textwrap.fill(str(outcome.status), _LINE))
    if outcome.share is not None and outcome.status is not Status.COMPLETE:
        click.echo(f"covered: {outcome.share:.3%} of the domain's volume")
    click.echo(f"cells by stage: {shown_counts(outcome.layer_counts, _LINE - len('cells by stage: '))}")
    click.echo(
        f"{outcome.seconds:.3g} s by {outcome.engine}; {certificate.decisions} decisions, "
        f"{certificate.by_exact_arithmetic} of them in rational arithmetic"
    )


def walk_exit_code(status: Status, *, counts: bool = False) -> int:
    """What a walk exits with: regions of a walk that a limit stopped are a result, and a count of them is not."""
    if counts and status in (Status.REGION_LIMIT, Status.TIME_LIMIT):
        return INCOMPLETE
    return INTERRUPTED if status is Status.CANCELLED else 0
