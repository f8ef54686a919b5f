"""The color of every region, for a name or numbers, and how to explain it beside a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize, to_rgba
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from affinelens.array_types import Floats, Indices
from affinelens.errors import AffineLensError, Words
from affinelens.measure.decision.decision_boundary import decision_boundary
from affinelens.measure.summary.quantities import quantity, quantity_names
from affinelens.plot.given import numbers
from affinelens.plot.palette import CLASSES, FILLS, NUMBERS, PAPER, colors_of, neighbor_colors

if TYPE_CHECKING:
    from affinelens.regions import Regions

NEIGHBORS, CLASS, PLAIN = "neighbors", "class", "plain"
# Shorter names for columns, and what they are called in a legend.
_SHORT = {
    "gradient": ("jacobian_norm", "gradient norm"),
    "facets": ("facet_count", "facets"),
    "vertices": ("vertex_count", "vertices"),
}
_LOGARITHMIC = ("volume", "inradius")
COLORS = (NEIGHBORS, CLASS, "volume", *_SHORT, "output", PLAIN)
# At most so many classes or stages are named beside a picture.
_MOST_NAMED = 12
# Colors spread over the numbers from this percentile on, so that a few tiny regions do not take most of them.
_LOWEST_SHOWN = 5.0
_CLASS_STRENGTH = 0.55


@dataclass(frozen=True, eq=False)
class Fills:
    """Colors of regions or of parts of them, RGBA by number, and what they say: classes, or numbers on a scale."""

    paint: Floats
    classes: Indices | None = None
    scale: ScalarMappable | None = None
    name: str = ""

    @classmethod
    def by(cls, regions: Regions, color: str | ArrayLike) -> Fills:
        """The colors of regions that ``color`` asks for."""
        word = color if isinstance(color, str) else None
        if word == PLAIN:
            return cls(np.tile(to_rgba(PAPER), (len(regions), 1)))
        if word == NEIGHBORS:
            return cls(colors_of(neighbor_colors(regions), FILLS))
        if word == CLASS:
            return cls.by_class(quantity(regions, "class"))
        values, name = _given(regions, color) if word is None else _column(regions, word)
        scale = ScalarMappable(_norm(values, logarithmic=name in _LOGARITHMIC), NUMBERS)
        return cls(np.asarray(scale.to_rgba(values)), scale=scale, name=name)

    @classmethod
    def by_class(cls, classes: Indices) -> Fills:
        return cls(class_fills(classes), classes)

    def explain(self, ax: Any, numbers: Indices) -> None:
        """A color bar or a legend for what is shown, where one is of use."""
        if self.scale is not None:
            _explain_scale(ax, self.scale, self.name)
        elif self.classes is not None:
            named = np.unique(self.classes[numbers])
            paint = class_fills(named)
            explain(ax, [Patch(color=paint[i], label=f"class {k}") for i, k in enumerate(named.tolist())])


def _column(regions: Regions, color: str) -> tuple[Floats, str]:
    """A number a region by name, and what it is called."""
    name, shown = _SHORT.get(color, (color, color.replace("_", " ")))
    if name not in quantity_names():
        raise AffineLensError(
            f"color {color!r:.40} is unknown; take one of {', '.join(COLORS)}, a column ",
            Words("of rs.columns, or an array", "that the command measure takes"),
        )
    values = np.asarray(quantity(regions, name), dtype=np.float64)
    if values.ndim > 1 and name != "output":
        raise AffineLensError(f"color {color!r} has {values[0].size} numbers a region; give one of them as an array")
    return values if values.ndim == 1 else values[:, 0], shown


def _given(regions: Regions, color: ArrayLike) -> tuple[Floats, str]:
    """A number a region as it was given, which has no name."""
    values = numbers(color, f"color must be a name ({', '.join(COLORS)}) or a number a region")
    if values.shape != (len(regions),):
        raise AffineLensError(f"color must be one number a region, {len(regions)} in all, but has shape {values.shape}")
    return values, ""


def painted_parts(regions: Regions, color: str | ArrayLike) -> tuple[Regions, Fills]:
    """The regions, or by class their parts with one class each, and the color of each."""
    if isinstance(color, str) and color == CLASS:
        cells = decision_boundary(regions).cells
        return cells.parts, Fills.by_class(cells.classes)
    return regions, Fills.by(regions, color)


def class_fills(numbers: Indices) -> Floats:
    """Light colors of classes, as RGBA."""
    full = colors_of(numbers, CLASSES)
    full[:, :3] = 1 - _CLASS_STRENGTH * (1 - full[:, :3])
    return full


def _explain_scale(ax: Any, scale: ScalarMappable, name: str) -> None:
    """A color bar as high as the picture."""
    if hasattr(ax, "get_zlim"):
        ax.figure.colorbar(scale, ax=ax, label=name, shrink=0.6, pad=0.1)
    else:
        ax.figure.colorbar(scale, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)), label=name)


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
