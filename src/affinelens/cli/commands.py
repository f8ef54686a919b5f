"""The command line: ``affinelens inspect | count | enumerate | measure | plot | verify | audit | study | demo``.

Each command reads its arguments, calls the same functions a Python user would, and prints either a short text or,
with ``--json``, one object. Errors are one sentence on stderr with exit code 2; Ctrl-C keeps what was found and exits
with 130.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import click

from affinelens.api import checked_limits, load, requested
from affinelens.api import enumerate as enumerate_regions
from affinelens.cli.domain_options import WAYS, domain_options, read_domain, taken_from
from affinelens.cli.inspect import Inspection
from affinelens.cli.model_options import model_options, on_command_line, read_network
from affinelens.cli.plot import draw_demo, draw_run, plot_options
from affinelens.cli.progress_line import walk_progress
from affinelens.cli.study import study_command
from affinelens.domain import Box
from affinelens.engine import ENGINE_NAMES, require_known, run
from affinelens.errors import AffineLensError
from affinelens.network import network
from affinelens.regions.store.run_directory import require_writable
from affinelens.verify import Result, Verdict, verify
from affinelens.version import __version__
from affinelens.walk import Certificate, Outcome, Status, shown_counts

INTERRUPTED = 130
BAD_INPUT = 2
FAILED = 1
# Results are the same on every screen.
_LINE = 80
Command = TypeVar("Command", bound=Callable[..., Any])


def main() -> None:
    """Entry point: run a command and turn every expected failure into one sentence."""
    try:
        sys.exit(commands(prog_name="affinelens", standalone_mode=False) or 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("affinelens: stopped before anything was found", err=True)
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        _fail(" ".join(error.format_message().split()))
    except AffineLensError as error:
        _fail(error.worded(on_command_line))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _fail(f"cannot write the output ({error.strerror or error})")


def _fail(sentence: str) -> None:
    click.echo(f"affinelens: {sentence}", err=True)
    sys.exit(BAD_INPUT)


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
@click.version_option(__version__, prog_name="affinelens")
@click.pass_context
def commands(context: click.Context) -> None:
    """Every affine region of a piecewise affine network on a bounded domain, exactly.

    MODEL is an .onnx file, or a plain ReLU network W0, b0, W1, b1, ... in an .npz, .safetensors or .pt file.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _options(*decorators: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def apply(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return apply


_WALK = _options(
    click.option(
        "--engine", default="auto", show_default=True, metavar="NAME", help=f"One of {', '.join(ENGINE_NAMES)}."
    ),
    click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes to use.  [default: one a core]"),
    click.option("--max-regions", type=click.IntRange(min=1), metavar="N", help="Stop after N regions."),
    click.option(
        "--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Stop after S seconds."
    ),
    click.option("--cut-outputs", is_flag=True, help="Also cut regions where an output is zero."),
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


@commands.command()
@click.argument("model")
@model_options
@domain_options
@_WALK
@_JSON
def inspect(model: str, engine: str, as_json: bool, cut_outputs: bool, **options: Any) -> int:
    """Show a network, and what enumerating it on a domain would take."""
    started = time.perf_counter()
    compiled = read_network(model, options)
    require_known(engine)
    asked = taken_from(options)
    workers = checked_limits(**options).workers
    if cut_outputs:
        compiled = compiled.with_output_cut()
    domain = read_domain(compiled, asked) if asked else None
    found = Inspection(compiled, domain, engine, workers)
    if as_json:
        chosen = found.choices[0].name if found.choices else engine
        _print_json(
            _base_report(None, None, time.perf_counter() - started, chosen) | {"model": model} | found.to_json()
        )
        return 0
    click.echo(found.to_text())
    if domain is None:
        click.echo(f"domain     none given; add {WAYS}")
    return 0


@commands.command()
@click.argument("model")
@model_options
@domain_options
@_WALK
@_JSON
def count(model: str, as_json: bool, **options: Any) -> int:
    """Count the regions of MODEL on a domain."""
    compiled = read_network(model, options)
    domain = read_domain(compiled, taken_from(options))
    with walk_progress() as progress:
        outcome = run(requested(compiled, domain, progress=progress, regions=False, **options))
    if as_json:
        _print_json(_report(outcome) | {"model": model})
    else:
        _print_end(outcome)
    return _exit_code(outcome.status)


@commands.command("enumerate")
@click.argument("model")
@model_options
@domain_options
@_WALK
@click.option("-o", "--output", metavar="RUN", help="Directory to save the regions in.")
@click.option("--overwrite", is_flag=True, help="Replace a run that is already in RUN.")
@click.option("--facets/--no-facets", default=True, help="Find the facets of each region.")
@click.option("--vertices", is_flag=True, help="Keep the vertices of each region.")
@_JSON
def enumerate_command(model: str, output: str | None, overwrite: bool, as_json: bool, **options: Any) -> int:
    """Find every region of MODEL on a domain; -o saves them."""
    if output is not None:
        require_writable(_run_path(output), overwrite=overwrite)
    elif overwrite:
        raise AffineLensError("--overwrite replaces a run; say which with -o RUN")
    compiled = read_network(model, options)
    domain = read_domain(compiled, taken_from(options))
    with walk_progress() as progress:
        regions = enumerate_regions(compiled, domain, progress=progress, run=output, overwrite=overwrite, **options)
    if as_json:
        _print_json(_report(regions.outcome) | {"model": model, "run": output})
        return _exit_code(regions.status)
    _print_end(regions.outcome)
    if output is None:
        click.echo("not saved; add -o RUN to keep the regions")
    else:
        click.echo(f"saved in {output}")
    return _exit_code(regions.status)


@commands.command("verify")
@click.argument("model")
@click.argument("prop", metavar="PROP.vnnlib")
@click.option("--all", "everything", is_flag=True, help="If sat, find the exact unsafe set and its volume.")
@click.option("--witness", metavar="FILE", help="Write the result there, and the witness, as VNN-COMP tools do.")
@click.option("--until", metavar="NODE", help="Cut the model at this ONNX node.")
@click.option("--engine", default="auto", show_default=True, metavar="NAME", help=f"One of {', '.join(ENGINE_NAMES)}.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Processes to use.  [default: one a core]")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), metavar="S", help="Stop after S seconds.")
@_JSON
def verify_command(
    model: str, prop: str, everything: bool, witness: str | None, until: str | None, as_json: bool, **options: Any
) -> int:
    """Decide whether a VNN-LIB property of MODEL holds.

    The last line printed is the answer: sat (some input satisfies the file's condition, and is printed before), unsat
    (none does: the property holds), timeout, or unknown. The exit status is 0 for each of these, 2 for bad input, 130
    for Ctrl-C.
    """
    if witness is not None and not witness.strip():
        raise AffineLensError("--witness needs the name of a file, but got an empty text")
    with walk_progress() as progress:
        verdict = verify(model, prop, all=everything, until=until, progress=progress, **options)
    if witness is not None:
        _write_witness(Path(witness), verdict)
    if as_json:
        _print_json(verdict.to_json() | {"model": model, "property": prop})
    else:
        _print_verdict(verdict)
    return INTERRUPTED if verdict.result is Result.UNKNOWN else 0


@commands.command("measure")
@click.argument("run")
@click.option("--columns", metavar="NAMES", help="Columns of the regions, as volume,inradius,class.")
@click.option("-o", "--output", metavar="FILE", help="Write a row a region to this .csv or .parquet file.")
@_JSON
def measure_command(run: str, columns: str | None, output: str | None, as_json: bool) -> int:
    """Measure the regions of a saved RUN.

    Prints numbers that sum up the run; with --columns, how these are spread over the regions.
    """
    from affinelens.cli.measure import metrics_text, spreads, spreads_text
    from affinelens.measure.summary.quantities import require_columns
    from affinelens.measure.summary.quantity_file import USUAL_COLUMNS, require_column_file, write_columns

    asked = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    require_columns(asked or ())
    if output is not None:
        require_column_file(Path(output), asked or ())
    regions = load(run)
    if output is not None:
        write_columns(regions, asked or USUAL_COLUMNS, Path(output))
    found: dict[str, Any] = {"columns": spreads(regions, asked)} if asked else {"metrics": regions.metrics()}
    if as_json:
        _print_json({"run": run, "output": output, **found})
        return 0
    click.echo(spreads_text(found["columns"]) if asked else metrics_text(found["metrics"]))
    if output is not None:
        click.echo(f"columns of {len(regions)} regions written to {output}")
    return 0


def _write_witness(path: Path, verdict: Verdict) -> None:
    """The answer on a line and the witness, if there is one."""
    lines = [str(verdict.result), *([verdict.witness.to_vnncomp()] if verdict.witness is not None else [])]
    try:
        path.write_text("\n".join(lines) + "\n")
    except OSError as error:
        raise AffineLensError(f"{path}: cannot be written ({error.strerror}); give another --witness") from error


def _print_verdict(verdict: Verdict) -> None:
    for note in verdict.notes:
        click.echo(f"note: {note}")
    walked = "no walk needed"
    if verdict.engines:
        walked = f"{verdict.regions} regions walked by {', '.join(verdict.engines)}, the others excluded by bounds"
    click.echo(f"{verdict.reason}; {walked}, {verdict.seconds:.3g} s")
    for part in verdict.unsafe or ():
        click.echo(
            f"unsafe set{'' if part.is_complete else ', as far as found'}, case {part.case + 1}: "
            f"{len(part)} polytopes of dimension {part.regions.domain.dim}, volume {part.volume:.6g}, "
            f"{part.share:.4%} of the domain"
        )
    if verdict.witness is not None:
        click.echo(verdict.witness.to_vnncomp())
    click.echo(str(verdict.result))


@commands.command("audit")
@click.argument("run")
@click.option("--samples", type=click.IntRange(min=0), default=1000, show_default=True, help="Random points to draw.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which random points.")
@_JSON
def audit_command(run: str, samples: int, seed: int, as_json: bool) -> int:
    """Check a saved RUN again, without the engine that made it.

    Says what was proved, measured and sampled. The exit status is 0 if nothing failed, 1 if something did, 2 for bad
    input.
    """
    report = load(_run_path(run)).audit(samples=samples, seed=seed)
    if as_json:
        _print_json(report.to_json() | {"run": run})
    else:
        click.echo(str(report))
    return 0 if report.passed else FAILED


@commands.command("plot")
@click.argument("run", metavar="RUN")
@plot_options
def plot_command(run: str, **options: Any) -> int:
    """Draw a saved RUN.

    On a line the function's graph is drawn, in a plane or a space its regions; --kind asks for another picture.
    """
    click.echo(f"saved in {draw_run(run, **options)}")
    return 0


@commands.command()
@_JSON
def demo(as_json: bool) -> int:
    """Enumerate a small built-in classifier."""
    path = files("affinelens") / "data" / "two_moons.npz"
    compiled = network(Path(str(path)))
    domain = Box(-1, 1, dim=2)
    with walk_progress() as progress:
        regions = enumerate_regions(compiled, domain, progress=progress)
    if as_json:
        _print_json(_report(regions.outcome) | {"model": "two_moons.npz"})
        return _exit_code(regions.status)
    click.echo("A two-moons classifier on the square [-1, 1] x [-1, 1]\n")
    for label, text in regions.summary().items():
        click.echo(f"  {label:<15} {text}")
    region = regions[int(regions.locate([0.0, 0.0]))]
    jacobian, constant = region.affine
    click.echo(f"\nThe region at the origin has {len(region.facets)} facets:")
    for facet in region.facets:
        click.echo(f"  {facet}")
    click.echo("and there the network's two outputs are")
    for row, offset in zip(jacobian, constant, strict=True):
        click.echo(f"  {row[0]:+.4f} x0 {row[1]:+.4f} x1 {offset:+.4f}")
    try:
        click.echo(f"\nA picture of all regions is in {draw_demo(regions)}")
    except AffineLensError as error:
        click.echo(f"\nNo picture: {error}")
    click.echo(
        "\nNext: affinelens enumerate MODEL --box -1 1 -o RUN\n"
        "or in Python: import affinelens as al; help(al.enumerate)"
    )
    return _exit_code(regions.status)


commands.add_command(study_command)


def _run_path(text: str) -> Path:
    if not text.strip():
        raise AffineLensError("-o needs the name of a directory, but got an empty text")
    return Path(text)


def _base_report(regions: int | None, status: str | None, seconds: float, engine: str) -> dict[str, Any]:
    return {"regions": regions, "status": status, "seconds": round(seconds, 6), "engine": engine, "exact": True}


def _report(outcome: Outcome) -> dict[str, Any]:
    return _base_report(outcome.regions, outcome.status.name, outcome.seconds, outcome.engine) | {
        "message": str(outcome.status),
        "layer_counts": list(outcome.layer_counts),
        "share": outcome.share,
        "certificate": outcome.certificate.to_json(),
    }


def _print_json(data: dict[str, Any]) -> None:
    click.echo(json.dumps(data))


def _print_end(outcome: Outcome) -> None:
    certificate: Certificate = outcome.certificate
    atleast = "" if outcome.status is Status.COMPLETE else "at least "
    click.echo(f"{atleast}{outcome.regions} region{'' if outcome.regions == 1 else 's'}")
    click.echo(str(outcome.status))
    if outcome.share is not None and outcome.status is not Status.COMPLETE:
        click.echo(f"covered: {outcome.share:.3%} of the domain's volume")
    click.echo(f"cells by stage: {shown_counts(outcome.layer_counts, _LINE - len('cells by stage: '))}")
    click.echo(
        f"{outcome.seconds:.3g} s by {outcome.engine}; {certificate.decisions} decisions, "
        f"{certificate.by_exact_arithmetic} of them in rational arithmetic"
    )


def _exit_code(status: Status) -> int:
    return INTERRUPTED if status is Status.CANCELLED else 0
