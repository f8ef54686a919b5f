"""What ``affinelens measure`` prints: metrics of a run, or how some of its columns are spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from affinelens.measure.summary.quantities import flat_columns
from affinelens.region_set import RegionSet

Spread = dict[str, float | None]


def spreads(regions: RegionSet, names: Sequence[str]) -> dict[str, Spread]:
    """Smallest, middle, mean and largest value of each column; None where that is infinite."""
    found = {}
    for name, values in flat_columns(regions, names).items():
        if len(values):
            spread = {"min": values.min(), "median": np.median(values), "mean": values.mean(), "max": values.max()}
            found[name] = {word: float(value) if np.isfinite(value) else None for word, value in spread.items()}
    return found


def metrics_text(metrics: dict[str, float]) -> str:
    width = max(map(len, metrics))
    return "\n".join(f"{name:<{width}}  {_shown(value)}" for name, value in metrics.items())


def spreads_text(found: dict[str, Spread]) -> str:
    width = max([len("column"), *map(len, found)])
    lines = [f"{'column':<{width}} {'min':>13} {'median':>13} {'mean':>13} {'max':>13}"]
    for name, spread in found.items():
        lines.append(f"{name:<{width}} " + " ".join(f"{_shown(value):>13}" for value in spread.values()))
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    if value is None:
        return "infinite"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"
