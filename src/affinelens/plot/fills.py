"""The colour of every region, for a name or numbers, and how to explain it beside a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize, to_rgba
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from affinelens.array_types import Floats, Indices
from affinelens.measure.summary.quantities import quantity
from affinelens.plot.coloring import CLASS, NEIGHBORS, PLAIN, column
from affinelens.plot.palette import CLASSES, FILLS, NUMBERS, PAPER, colors_of, neighbor_colors

if TYPE_CHECKING:
    from affinelens.regions import Regions

# At most so many classes or stages are named beside a picture.
_MOST_NAMED = 12
# Colours spread over the numbers from this percentile on, so that a few tiny regions do not take most of them.
_LOWEST_SHOWN = 5.0
_CLASS_STRENGTH = 0.55


class Fills:
    """Colours of regions, by what ``color`` asks for."""

    def __init__(self, regions: Regions, color: str | ArrayLike) -> None:
        self._classes: Indices | None = None
        self._scale: ScalarMappable | None = None
        self._name = ""
        if isinstance(color, str) and color == PLAIN:
            self._paint = np.tile(to_rgba(PAPER), (len(regions), 1))
        elif isinstance(color, str) and color == NEIGHBORS:
            self._paint = colors_of(neighbor_colors(regions), FILLS)
        elif isinstance(color, str) and color == CLASS:
            self._classes = quantity(regions, "class")
            self._paint = class_fills(self._classes)
        else:
            values = column(regions, color)
            self._scale = ScalarMappable(_norm(values.values, logarithmic=values.logarithmic), NUMBERS)
            self._name = values.name
            self._paint = np.asarray(self._scale.to_rgba(np.asarray(values.values)))

    def of(self, region: Indices) -> Floats:
        """RGBA of regions by number."""
        return self._paint[region].copy()

    def explain(self, ax: Any) -> None:
        """A colour bar or a legend, where one is of use."""
        if self._scale is not None:
            explain_scale(ax, self._scale, self._name)
        elif self._classes is not None:
            explain_classes(ax, np.unique(self._classes))


def class_fills(numbers: Indices) -> Floats:
    """Light colours of classes, as RGBA."""
    full = colors_of(numbers, CLASSES)
    full[:, :3] = 1 - _CLASS_STRENGTH * (1 - full[:, :3])
    return full


def explain_scale(ax: Any, scale: ScalarMappable, name: str) -> None:
    """A colour bar as high as the picture."""
    if hasattr(ax, "get_zlim"):
        ax.figure.colorbar(scale, ax=ax, label=name, shrink=0.6, pad=0.1)
    else:
        ax.figure.colorbar(scale, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)), label=name)


def explain_classes(ax: Any, numbers: Indices) -> None:
    """Classes by colour."""
    paint = class_fills(numbers)
    explain(ax, [Patch(color=paint[i], label=f"class {k}") for i, k in enumerate(numbers.tolist())])


def explain(ax: Any, handles: Sequence[Any]) -> None:
    """Add to the legend beside the picture, unless there is too much to name."""
    old = ax.get_legend()
    before = [] if old is None else list(old.legend_handles)
    if len(handles) > _MOST_NAMED:
        return
    beside = 1.3 if ax.child_axes else 1.01
    ax.legend(
        handles=[*before, *handles], loc="upper left", bbox_to_anchor=(beside, 1.0), frameon=False, borderaxespad=0.0,
        handlelength=1.2, fontsize="small",
    )  # fmt: skip


def _norm(values: Floats, *, logarithmic: bool) -> Normalize:
    shown = values[np.isfinite(values) & ((values > 0) | (not logarithmic))]
    low, high = np.percentile(shown, [_LOWEST_SHOWN, 100]).tolist() if len(shown) else (1.0, 1.0)
    return LogNorm(low, high) if logarithmic and low < high else Normalize(low, high)
