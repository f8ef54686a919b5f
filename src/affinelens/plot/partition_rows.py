"""Partitions of planes side by side, in rows that are named: the paper's Figures 5 and 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from affinelens.errors import AffineLensError
from affinelens.plot.canvas import new_figure
from affinelens.plot.partition import partition

if TYPE_CHECKING:
    from affinelens.regions import Regions

# The width and the height of a panel with what is written beneath it, in inches.
_PANEL = (2.2, 2.55)
# A vector picture of more polygons than this is slow to open; they become pixels in it, text and axes do not.
_MOST_VECTORS = 20_000
_BELOW_TEXT = 2


@dataclass(frozen=True)
class Panel:
    """A partition, and a line to write under its number of regions."""

    regions: Regions
    caption: str = ""

    @property
    def text(self) -> str:
        """What is written beneath."""
        count = f"{len(self.regions):,} region{'' if len(self.regions) == 1 else 's'}"
        return f"{count}\n{self.caption}" if self.caption else count


def partition_rows(rows: Mapping[str, Sequence[Panel | Regions]], **options: Any) -> Figure:
    """Draw a row of partitions under each name, each partition with its number of regions beneath.

    Options are those of a partition; neighboring regions differ in color if nothing else is asked for.
    """
    panelled = {
        name: [one if isinstance(one, Panel) else Panel(one) for one in of_row] for name, of_row in rows.items()
    }
    across = max((len(panels) for panels in panelled.values()), default=0)
    if not across:
        raise AffineLensError("there is no partition to draw; give at least one row with one")
    width, height = _PANEL
    figure = new_figure((width * across, height * len(rows)))
    for number, (name, panels) in enumerate(panelled.items()):
        for column, panel in enumerate(panels):
            ax = figure.add_subplot(len(rows), across, number * across + column + 1)
            draw_panel(ax, panel.regions, panel.text, **options)
            if column == 0:
                ax.set_ylabel(name)
    if sum(len(panel.regions) for panels in panelled.values() for panel in panels) > _MOST_VECTORS:
        for ax in figure.axes:
            ax.set_rasterization_zorder(_BELOW_TEXT)
    return figure


def draw_panel(ax: Axes, regions: Regions, text: str, **options: Any) -> None:
    """Draw one partition without ticks, and a text beneath."""
    partition(regions, ax, **{"legend": False, **options})
    ax.set(xticks=[], yticks=[], ylabel="", xlabel=text)
