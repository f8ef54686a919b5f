"""``affinelens plot``: a picture of a saved run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from affinelens.api import load
from affinelens.cli.shared_options import TitledCommand, option_group, require_name
from affinelens.cli.values import NUMBER, whole_number
from affinelens.errors import AffineLensError
from affinelens.progress_display import shown_on_terminal
from affinelens.region_set import RegionSet

_picture_options = option_group(
    "Picture",
    click.option(
        "--kind", default="regions", show_default=True, metavar="NAME",
        help="regions, surface, images, stages, volumes or layers.",
    ),
    click.option(
        "--color", metavar="NAME",
        help="neighbors, class, volume, gradient, facets, vertices, output, plain or a column that measure takes.  "
        "[default: neighbors]",
    ),
    click.option("--legend/--no-legend", default=None, help="Explain the colors."),
    click.option("--of-output", "output", type=whole_number(), metavar="K", help="Which output (surface)."),
    click.option("--at", type=NUMBER, nargs=2, metavar="X Y", help="A point whose cell is followed (stages)."),
)  # fmt: skip
_plane_options = option_group(
    "In a plane",
    click.option("--boundary/--no-boundary", default=None, help="Draw the decision boundary."),
    click.option("--hyperplanes/--no-hyperplanes", default=None, help="Draw units' lines by stage."),
    click.option("--window", type=NUMBER, nargs=4, metavar="LEFT RIGHT BOTTOM TOP", help="Show only this part."),
)
_space_options = option_group(
    "In space",
    click.option("--cut/--no-cut", default=None, help="Cut a corner away to show the inside."),
    click.option("--explode", type=NUMBER, metavar="SHARE", help="Move regions apart."),
)


@click.command("plot", cls=TitledCommand)
@click.argument("run", metavar="RUN")
@_picture_options
@_plane_options
@_space_options
@click.option("-o", "--output", "target", metavar="FILE", help="PNG, SVG or PDF.  [default: RUN.png]")
@click.option(
    "--dpi", type=whole_number(20, 2000), metavar="N", default=200, show_default=True, help="Dots an inch of a PNG."
)
def plot_command(run: str, target: str | None, kind: str, dpi: int, **of_picture: Any) -> int:
    """Draw a saved RUN.

    On a line the function's graph is drawn, in a plane or a space its regions; --kind asks for another picture.
    """
    from affinelens.plot import picture, require_picture_file, save_picture

    file = f"{Path(run).resolve().name}.png" if target is None else require_name(target, "-o", "a file")
    given = {name: value for name, value in of_picture.items() if value is not None}
    require_picture_file(Path(file))
    regions = load(run)
    _require_taken(regions, kind, given)
    with shown_on_terminal():
        saved = save_picture(picture(regions, kind, **given), Path(file), dpi=dpi)
    click.echo(f"saved in {saved}")
    return 0


def _require_taken(regions: RegionSet, kind: str, given: Mapping[str, Any]) -> None:
    """Refuse options that the picture does not take, by the names that they have here."""
    from affinelens.plot import name_of_picture, picture_options

    taken = picture_options(regions, kind)
    names = {str(option.name): option.opts[0] for option in plot_command.params}
    unknown = [names[name] for name in given if name not in taken]
    if unknown:
        others = [names[name] for name in taken if name in names]
        raise AffineLensError(
            f"{name_of_picture(regions, kind)} does not take {', '.join(unknown)}; "
            f"it takes {', '.join(others) or 'none of these options'}"
        )
