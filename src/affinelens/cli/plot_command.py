"""``affinelens plot``: a picture of a saved run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from affinelens.api import load
from affinelens.cli.shared_options import require_name
from affinelens.progress_display import shown_on_terminal


@click.command("plot")
@click.argument("run", metavar="RUN")
@click.option("-o", "--output", "target", metavar="FILE", help="PNG, SVG or PDF.  [default: RUN.png]")
@click.option(
    "--kind",
    default="regions",
    show_default=True,
    metavar="NAME",
    help="regions, surface, images, stages, volumes or layers.",
)
@click.option(
    "--color",
    metavar="NAME",
    help="neighbors, class, volume, gradient, facets, vertices, output or plain.  [default: neighbors]",
)
@click.option("--boundary/--no-boundary", default=None, help="Draw the decision boundary (2-D).")
@click.option("--hyperplanes/--no-hyperplanes", default=None, help="Draw units' lines by stage (2-D).")
@click.option("--window", type=float, nargs=4, metavar="LEFT RIGHT BOTTOM TOP", help="Show only this part (2-D).")
@click.option("--cut/--no-cut", default=None, help="Cut a corner away to show the inside (3-D).")
@click.option("--explode", type=float, metavar="SHARE", help="Move regions apart (3-D).")
@click.option("--of-output", "output", type=int, metavar="K", help="Which output (surface).")
@click.option("--at", type=float, nargs=2, metavar="X Y", help="A point whose cell is followed (stages).")
@click.option("--legend/--no-legend", default=None, help="Explain the colors.")
@click.option("--dpi", type=click.IntRange(20, 2000), default=200, show_default=True, help="Dots an inch of a PNG.")
def plot_command(run: str, target: str | None, kind: str, dpi: int, **of_picture: Any) -> int:
    """Draw a saved RUN.

    On a line the function's graph is drawn, in a plane or a space its regions; --kind asks for another picture.
    """
    from affinelens.plot import picture, save_picture

    file = f"{Path(run).resolve().name}.png" if target is None else require_name(target, "-o", "a file")
    given = {name: value for name, value in of_picture.items() if value is not None}
    with shown_on_terminal():
        saved = save_picture(picture(load(run), kind, **given), Path(file), dpi=dpi)
    click.echo(f"saved in {saved}")
    return 0
