"""``affinelens verify``: whether a property holds, as scripts and VNN-COMP tools expect to be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from affinelens.cli.command_output import INTERRUPTED, print_json
from affinelens.cli.model_options import model_options, taken_reading
from affinelens.cli.shared_options import (
    REGION_ENGINES,
    TitledCommand,
    engine_option,
    json_option,
    option_group,
    require_name,
    time_limit_option,
    workers_option,
)
from affinelens.errors import Interrupted
from affinelens.files.output_file import cannot_be_written, require_writable_file
from affinelens.network import network
from affinelens.progress_display import shown_on_terminal
from affinelens.short_text import counted
from affinelens.verify import Result, Verdict, verify

_walk_options = option_group("Walk", engine_option(REGION_ENGINES), workers_option, time_limit_option())


@click.command("verify", cls=TitledCommand)
@click.argument("model")
@click.argument("prop", metavar="PROP.vnnlib")
@model_options
@_walk_options
@click.option("--all", "everything", is_flag=True, help="If sat, find the exact unsafe set and its volume.")
@click.option("--witness", metavar="FILE", help="Write the result there, and the witness, as VNN-COMP tools do.")
@json_option
def verify_command(model: str, prop: str, everything: bool, witness: str | None, as_json: bool, **options: Any) -> int:
    """Decide whether a VNN-LIB property of MODEL holds.

    The last line printed is the answer: sat (some input satisfies the file's condition, and is printed before), unsat
    (none does: the property holds), timeout, or unknown. The exit status is 0 for each of these, 2 for bad input, 130
    for Ctrl-C.
    """
    if witness is not None:
        require_writable_file(Path(require_name(witness, "--witness", "a file")))
    reading = {name: value for name, value in taken_reading(options).items() if value is not None}
    with shown_on_terminal():
        try:
            verdict = verify(network(model, **reading) if reading else model, prop, all=everything, **options)
        except Interrupted as stop:
            verdict = stop.found
        except KeyboardInterrupt:  # while the model was read
            click.echo(str(Result.UNKNOWN))
            raise
    if as_json:
        print_json(verdict.to_json() | {"model": model, "property": prop})
    else:
        _print_verdict(verdict)
    if witness is not None:
        _write_witness(Path(witness), verdict)
    return INTERRUPTED if verdict.result is Result.UNKNOWN else 0


def _write_witness(path: Path, verdict: Verdict) -> None:
    """The answer on a line and the witness, if there is one."""
    lines = [str(verdict.result), *([verdict.witness.to_vnncomp()] if verdict.witness is not None else [])]
    try:
        path.write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise cannot_be_written(path, error) from None


def _walked(verdict: Verdict) -> str:
    """How much of a walk a verdict took; only one that was not stopped knows of the regions that it left out."""
    decided = verdict.result in (Result.SAT, Result.UNSAT)
    if not verdict.engines:
        return "no walk needed" if decided else "no region was walked"
    rest = ", the others excluded by bounds" if decided else " until then"
    return f"{counted(verdict.regions, 'region')} walked by {', '.join(verdict.engines)}{rest}"


def _print_verdict(verdict: Verdict) -> None:
    for note in verdict.notes:
        click.echo(f"note: {note}")
    click.echo(f"{verdict.reason}; {_walked(verdict)}, {verdict.seconds:.3g} s")
    for part in verdict.unsafe or ():
        click.echo(
            f"unsafe set{'' if part.is_complete else ', as far as found'}, case {part.case + 1}: "
            f"{len(part)} polytopes of dimension {part.regions.domain.dim}, volume {part.volume:.6g}, "
            f"{part.share:.4%} of the domain"
        )
    if verdict.witness is not None:
        click.echo(verdict.witness.to_vnncomp())
    click.echo(str(verdict.result))
