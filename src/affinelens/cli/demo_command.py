"""``affinelens demo``: a small classifier that comes with the package, its regions and a picture of them."""

from __future__ import annotations

from pathlib import Path

import click

from affinelens.api import enumerate as enumerate_regions
from affinelens.cli.command_output import print_json, walk_exit_code, walk_report
from affinelens.cli.shared_options import TitledCommand, json_option
from affinelens.domain import Box
from affinelens.errors import AffineLensError
from affinelens.network import network
from affinelens.progress_display import shown_on_terminal
from affinelens.region_set import RegionSet

_MODEL = Path(__file__).with_name("two_moons.npz")
_PICTURE = Path("affinelens-demo") / "two_moons.png"


@click.command("demo", cls=TitledCommand)
@json_option
def demo_command(as_json: bool) -> int:
    """Enumerate a small built-in classifier."""
    with shown_on_terminal():
        regions = enumerate_regions(network(_MODEL), Box(-1, 1, dim=2))
    if as_json:
        print_json(walk_report(regions.outcome) | {"model": _MODEL.name})
    else:
        _tell(regions)
    return walk_exit_code(regions.status)


def _tell(regions: RegionSet) -> None:
    click.echo("A two-moons classifier on the square [-1, 1] x [-1, 1]\n")
    for label, text in regions.summary().items():
        click.echo(f"  {label:<15} {text}")
    _tell_of_the_origin(regions)
    try:
        click.echo(f"\nA picture of all regions is in {_draw(regions)}")
    except AffineLensError as error:
        click.echo(f"\nNo picture: {error}")
    click.echo(
        "\nNext: affinelens enumerate MODEL --box -1 1 -o RUN\n"
        "or in Python: import affinelens as al; help(al.enumerate)"
    )


def _tell_of_the_origin(regions: RegionSet) -> None:
    region = regions[int(regions.locate([0.0, 0.0]))]
    jacobian, constant = region.affine
    click.echo(f"\nThe region at the origin has {len(region.facets)} facets:")
    for facet in region.facets:
        click.echo(f"  {facet}")
    click.echo("and there the network's two outputs are")
    for row, offset in zip(jacobian, constant, strict=True):
        click.echo(f"  {row[0]:+.4f} x0 {row[1]:+.4f} x1 {offset:+.4f}")


def _draw(regions: RegionSet) -> Path:
    """The regions by class, with the decision boundary and the units' lines."""
    from affinelens.plot import save_picture

    ax = regions.plot(color="class", hyperplanes=True)
    ax.set_title(f"{len(regions)} affine regions of a two-moons classifier")
    try:
        _PICTURE.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise AffineLensError(f"{_PICTURE.parent}: cannot be made ({error.strerror})") from None
    return save_picture(ax, _PICTURE)
