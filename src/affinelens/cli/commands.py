"""All commands by name: one that is not in this list does not exist, and whoever adds one adds it here."""

from __future__ import annotations

import click

from affinelens.cli.audit_command import audit_command
from affinelens.cli.count_command import count_command
from affinelens.cli.demo_command import demo_command
from affinelens.cli.enumerate_command import enumerate_command
from affinelens.cli.inspect_command import inspect_command
from affinelens.cli.measure_command import measure_command
from affinelens.cli.plot_command import plot_command
from affinelens.cli.shared_options import NamingGroup
from affinelens.cli.study_command import study_command
from affinelens.cli.verify_command import verify_command
from affinelens.version import __version__

_COMMANDS = [
    audit_command,
    count_command,
    demo_command,
    enumerate_command,
    inspect_command,
    measure_command,
    plot_command,
    study_command,
    verify_command,
]


@click.group(
    cls=NamingGroup,
    commands=_COMMANDS,
    example=", as in: affinelens count net.onnx --box -1 1",
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="affinelens")
@click.pass_context
def commands(context: click.Context) -> None:
    """Every affine region of a piecewise affine network on a bounded domain, exactly.

    MODEL is an .onnx or .nnet file, or a plain ReLU network W0, b0, W1, b1, ... in an .npz, .safetensors or .pt file.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
