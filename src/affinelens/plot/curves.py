"""Curves of counts: the mean over some repetitions with a band from the smallest to the largest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from affinelens.plot.canvas import flat_axes, new_figure
from affinelens.plot.palette import INK, STAGES, colors_of

# The size of a panel, in inches.
_PANEL_WIDTH, _PANEL_HEIGHT = 3.3, 3.6
# Counts that span more than this factor are labelled at powers of ten only.
_WIDE = 500
_LEGEND_COLUMNS = 3
_PLAIN = FuncFormatter(lambda value, _: f"{value:,.0f}")


@dataclass(frozen=True)
class Curve:
    """What is drawn of one thing: where, repeated values there, and a number given elsewhere to set beside them."""

    label: str
    places: Sequence[float]
    values: Sequence[ArrayLike]
    given: Sequence[float | None] = field(default_factory=tuple)


def curves(
    shown: Sequence[Curve],
    ax: Axes | None = None,
    *,
    logarithmic: bool = False,
    ticks: Sequence[float] | None = None,
    given: str = "paper",
) -> Any:
    """Draw curves of counts; ``logarithmic`` is about places, counts are on a logarithmic scale always.

    Hollow marks are the numbers given elsewhere, which the legend calls ``given``.
    """
    ax = flat_axes(ax, (5.0, 3.6))
    handles = _draw(ax, shown, logarithmic, ticks, given)
    ax.legend(
        handles=handles, frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.17),
        ncols=min(len(handles), _LEGEND_COLUMNS), columnspacing=1.2,
    )  # fmt: skip
    return ax


def curve_panels(
    shown: Mapping[str, Sequence[Curve]],
    places: str,
    *,
    logarithmic: bool = False,
    ticks: Sequence[float] | None = None,
    given: str = "paper",
) -> Figure:
    """Curves of counts in panels side by side, each with its title; ``places`` names the axis they share.

    Where all panels have curves of the same names, they share a legend.
    """
    figure = new_figure((_PANEL_WIDTH * len(shown), _PANEL_HEIGHT))
    shared = len({tuple(curve.label for curve in of_panel) for of_panel in shown.values()}) == 1
    for number, (title, of_panel) in enumerate(shown.items()):
        ax = figure.add_subplot(1, len(shown), number + 1)
        if shared:
            handles = _draw(ax, of_panel, logarithmic, ticks, given)
        else:
            curves(of_panel, ax, logarithmic=logarithmic, ticks=ticks, given=given)
        ax.set(title=title, xlabel=places, ylabel="" if number else "regions")
        ax.tick_params(labelsize="small")
    if shared:
        figure.legend(
            handles=handles, frameon=False, fontsize="small", loc="outside lower center",
            ncols=min(len(handles), _LEGEND_COLUMNS * len(shown)),
        )  # fmt: skip
    return figure


def _draw(
    ax: Axes, shown: Sequence[Curve], logarithmic: bool, ticks: Sequence[float] | None, given: str
) -> list[Line2D]:
    """Draw the curves and return what a legend explains."""
    handles: list[Line2D] = []
    for curve, color in zip(shown, colors_of(np.arange(len(shown)), STAGES), strict=True):
        repeated = [np.asarray(values, dtype=np.float64) for values in curve.values]
        low, mean, high = ([function(values) for values in repeated] for function in (np.min, np.mean, np.max))
        ax.fill_between(curve.places, low, high, color=color, alpha=0.18, linewidth=0)
        handles += ax.plot(curve.places, mean, color=color, marker="o", markersize=3.5, label=curve.label)
        beside = [(x, y) for x, y in zip(curve.places, curve.given, strict=False) if y is not None]
        ax.plot([x for x, _ in beside], [y for _, y in beside], "D", color=color, fillstyle="none", markersize=6)
    if any(value is not None for curve in shown for value in curve.given):
        handles.append(Line2D([], [], color=INK, marker="D", fillstyle="none", linestyle="none", label=given))
    _scale_places(ax, logarithmic, ticks)
    scale_counts(ax, np.concatenate([np.ravel(values) for curve in shown for values in curve.values]))
    ax.spines[["top", "right"]].set_visible(False)
    return handles


def _scale_places(ax: Axes, logarithmic: bool, ticks: Sequence[float] | None) -> None:
    if logarithmic:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(_PLAIN)
        ax.xaxis.set_minor_formatter(NullFormatter())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if ticks is not None:
        ax.xaxis.set_major_locator(FixedLocator(list(ticks)))
        ax.xaxis.set_minor_locator(NullLocator())


def scale_counts(ax: Axes, counts: NDArray[np.float64]) -> None:
    """A logarithmic scale with whole numbers on it, closer together the less it spans."""
    ax.set_yscale("log")
    wide = counts.max() > _WIDE * max(counts.min(), 1)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0,) if wide else (1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(_PLAIN)
    ax.yaxis.set_minor_formatter(NullFormatter())
