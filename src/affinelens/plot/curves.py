"""Curves of counts: the mean over some repetitions with a band from the smallest to the largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import ArrayLike

from affinelens.plot.canvas import new_axes, require_flat
from affinelens.plot.palette import INK, STAGES, colors_of


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
    legend: bool = True,
) -> Any:
    """Draw curves of counts; ``logarithmic`` is about places, counts are on a logarithmic scale always.

    Hollow marks are the numbers given elsewhere, which the legend calls ``given``.
    """
    ax = new_axes((5.0, 3.6)) if ax is None else require_flat(ax)
    colors = colors_of(np.arange(len(shown)), STAGES)
    handles = []
    for curve, color in zip(shown, colors, strict=True):
        repeated = [np.asarray(values, dtype=np.float64) for values in curve.values]
        low, mean, high = ([function(v) for v in repeated] for function in (np.min, np.mean, np.max))
        ax.fill_between(curve.places, low, high, color=color, alpha=0.18, linewidth=0)
        handles += ax.plot(curve.places, mean, color=color, marker="o", markersize=3.5, label=curve.label)
        beside = [(x, y) for x, y in zip(curve.places, curve.given, strict=False) if y is not None]
        ax.plot([x for x, _ in beside], [y for _, y in beside], "D", color=color, fillstyle="none", markersize=6)
    if any(value is not None for curve in shown for value in curve.given):
        handles.append(Line2D([], [], color=INK, marker="D", fillstyle="none", linestyle="none", label=given))
    ax.set_yscale("log")
    if logarithmic:
        ax.set_xscale("log")
    if ticks is not None:
        ax.xaxis.set_major_locator(FixedLocator(list(ticks)))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(handles=handles, frameon=False, fontsize="small")
    return ax
