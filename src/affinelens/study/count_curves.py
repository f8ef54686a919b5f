"""Curves of what a study counted, with the paper's numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from affinelens.study.declaration import Sweep
from affinelens.study.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from affinelens.plot.curves import Curve


def count_curves(results: Results, sweep: Sweep) -> list[Curve]:
    """A curve a line of the sweep."""
    from affinelens.plot.curves import Curve

    return [
        Curve(name, sweep.places, [cell.ours for cell in cells], [cell.paper for cell in cells])
        for name, cells in results.measured(sweep).items()
    ]


def count_panels(results: Results, sweeps: Sequence[Sweep], places: str, **options: Any) -> Figure:
    """A panel a sweep, with options as :func:`affinelens.plot.curve_panels` has them."""
    from affinelens.plot.curves import curve_panels

    return curve_panels({sweep.title: count_curves(results, sweep) for sweep in sweeps}, places, **options)
