"""``affinelens plot``: a picture of a saved run, and the one that the demo ends with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from affinelens.api import load
from affinelens.errors import AffineLensError
from affinelens.region_set import RegionSet

DEMO_PICTURE = Path("affinelens-demo") / "two_moons.png"
# Options that are handed to the picture if they are given.
_OF_PICTURE = ("color", "boundary", "hyperplanes", "window", "cut", "explode", "output", "at", "legend")


def plot_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command's options: each is None unless it is given."""
    for option in reversed(
        [
            click.option("-o", "--output", "target", metavar="FILE", help="PNG, SVG or PDF.  [default: RUN.png]"),
            click.option(
                "--kind", default="regions", show_default=True, metavar="NAME",
                help="regions, surface, images, stages, volumes or layers.",
            ),
            click.option(
                "--color", metavar="NAME",
                help="neighbors, class, volume, gradient, facets, vertices, output or plain.  [default: neighbors]",
            ),
            click.option("--boundary/--no-boundary", default=None, help="Draw the decision boundary (2-D)."),
            click.option("--hyperplanes/--no-hyperplanes", default=None, help="Draw units' lines by stage (2-D)."),
            click.option(
                "--window", type=float, nargs=4, metavar="LEFT RIGHT BOTTOM TOP", help="Show only this part (2-D)."
            ),
            click.option("--cut/--no-cut", default=None, help="Cut a corner away to show the inside (3-D)."),
            click.option("--explode", type=float, metavar="SHARE", help="Move regions apart (3-D)."),
            click.option("--of-output", "output", type=int, metavar="K", help="Which output (surface)."),
            click.option("--at", type=float, nargs=2, metavar="X Y", help="A point whose cell is followed (stages)."),
            click.option("--legend/--no-legend", default=None, help="Explain the colours."),
            click.option(
                "--dpi", type=click.IntRange(20, 2000), default=200, show_default=True, help="Dots an inch of a PNG."
            ),
        ]
    ):  # fmt: skip
        command = option(command)
    return command


def draw_run(run: str, target: str | None, kind: str, dpi: int, **options: Any) -> Path:
    """Draw a saved run into a file."""
    from affinelens.plot import picture, save_picture

    if target is not None and not target.strip():
        raise AffineLensError("-o needs the name of a file, but got an empty text")
    given = {name: options[name] for name in _OF_PICTURE if options[name] is not None}
    drawn = picture(load(run), kind, **given)
    return save_picture(drawn, Path(f"{Path(run).resolve().name}.png") if target is None else Path(target), dpi=dpi)


def draw_demo(regions: RegionSet) -> Path:
    """The demo's regions by class, with the decision boundary and the units' lines."""
    from affinelens.plot import save_picture

    ax = regions.plot(color="class", hyperplanes=True)
    ax.set_title(f"{len(regions)} affine regions of a two-moons classifier")
    try:
        DEMO_PICTURE.parent.mkdir(exist_ok=True)
    except OSError as error:
        raise AffineLensError(f"{DEMO_PICTURE.parent}: cannot be made ({error.strerror})") from error
    return save_picture(ax, DEMO_PICTURE)
