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

from affinelens.plot.canvas import new_axes, require_flat
from affinelens.plot.palette import INK, STAGES, colors_of

# The size of a panel, in inches.
_PANEL_WIDTH, _PANEL_HEIGHT = 3.3, 3.6
# Counts that span more than this factor are labelled at powers of ten only.
_WIDE = 500
_LEGEND_COLUMNS = 3


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
    legend_title: str | None = None,
) -> Any:
    """Draw curves of counts; ``logarithmic`` is about places, counts are on a logarithmic scale always.

    Hollow marks are the numbers given elsewhere, which the legend calls ``given``.
    """
    ax = new_axes((5.0, 3.6)) if ax is None else require_flat(ax)
    colors = colors_of(np.arange(len(shown)), STAGES)
    handles: list[Line2D] = []
    for curve, color in zip(shown, colors, strict=True):
        repeated = [np.asarray(values, dtype=np.float64) for values in curve.values]
        low, mean, high = ([function(v) for v in repeated] for function in (np.min, np.mean, np.max))
        ax.fill_between(curve.places, low, high, color=color, alpha=0.18, linewidth=0)
        handles += ax.plot(curve.places, mean, color=color, marker="o", markersize=3.5, label=curve.label)
        beside = [(x, y) for x, y in zip(curve.places, curve.given, strict=False) if y is not None]
        ax.plot([x for x, _ in beside], [y for _, y in beside], "D", color=color, fillstyle="none", markersize=6)
    if any(value is not None for curve in shown for value in curve.given):
        handles.append(Line2D([], [], color=INK, marker="D", fillstyle="none", linestyle="none", label=given))
    _scale_counts(ax, [np.asarray(values, dtype=np.float64) for curve in shown for values in curve.values])
    if logarithmic:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    if ticks is not None:
        ax.xaxis.set_major_locator(FixedLocator(list(ticks)))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        handles=handles, title=legend_title, frameon=False, fontsize="small", title_fontsize="small",
        loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=min(len(handles), _LEGEND_COLUMNS), columnspacing=1.2,
    )  # fmt: skip
    return ax


def _scale_counts(ax: Axes, values: Sequence[NDArray[np.float64]]) -> None:
    """A logarithmic scale with whole numbers on it, closer together the less it spans."""
    ax.set_yscale("log")
    span = max(v.max() for v in values) / max(min(v.min() for v in values), 1)
    ax.yaxis.set_major_locator(LogLocator(subs=(1.0,) if span > _WIDE else (1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def curve_panels(
    shown: Mapping[str, Sequence[Curve]],
    places: str,
    *,
    logarithmic: bool = False,
    ticks: Sequence[float] | None = None,
    legend_title: str | None = None,
) -> Figure:
    """Curves of counts in panels side by side, each with its title; ``places`` names the axis they share."""
    figure = Figure(figsize=(_PANEL_WIDTH * len(shown), _PANEL_HEIGHT), layout="constrained")
    for number, (title, of_panel) in enumerate(shown.items()):
        ax = figure.add_subplot(1, len(shown), number + 1)
        curves(of_panel, ax, logarithmic=logarithmic, ticks=ticks, legend_title=legend_title)
        ax.set(title=title, xlabel=places, ylabel="" if number else "regions")
        ax.tick_params(labelsize="small")
        if not logarithmic:
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure
