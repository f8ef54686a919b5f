"""Which layer to widen: the earlier, the more regions early in training (the paper's Section 4.4, Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from affinelens.array_types import Floats
from affinelens.study.architectures import mlp
from affinelens.study.count_curves import count_panels
from affinelens.study.declaration import Claim, Configuration, Figures, PaperTable, Study, Sweep, combinations, lines
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, MoonsSetup, choice

# The paper looks at the first 50 epochs when it speaks of early training.
_EARLY = 50


@dataclass(frozen=True, kw_only=True)
class LayersSetup(MoonsSetup):
    epochs: tuple[int, ...] = choice((1, 10, 50, 100, 200, 300, 500, 1000, 2000, 5000), PAPER)
    width: int = choice(32, PAPER)
    layers: int = choice(5, PAPER)
    widened: tuple[int, ...] = choice((64, 128, 256), f"{PAPER}; units of the one layer that is wider")


def _configurations(setup: LayersSetup, data: Path | None) -> list[Configuration]:
    return [
        Configuration(labels, partial(mlp, (2, *_widths(setup, **labels), 2), setup), setup.moons, 2)
        for labels in combinations(widened=setup.widened, layer=_positions(setup))
    ]


def _widths(setup: LayersSetup, widened: int, layer: int) -> list[int]:
    return [widened if position == layer else setup.width for position in _positions(setup)]


def _positions(setup: LayersSetup) -> range:
    return range(1, setup.layers + 1)


def _tables(setup: LayersSetup) -> list[PaperTable]:
    return [
        PaperTable(
            f"Figure 4: regions with one layer of {units} (the paper prints no numbers).",
            "epoch",
            setup.epochs,
            lines("{layer}", widened=[units], layer=_positions(setup)),
            corner="wider layer",
        )
        for units in setup.widened
    ]


def _claims(setup: LayersSetup, results: Results) -> Sequence[Claim]:
    early = [epoch for epoch in setup.epochs if epoch <= _EARLY] or [setup.epochs[0]]
    first, last = (
        results.means(widened=setup.widened, epoch=epochs, layer=_positions(setup))
        for epochs in (early, [results.last_epoch])
    )
    ratio, at_end = first[:, :, 0] / first[:, :, -1], last[:, 0, 0] / last[:, 0, -1]
    ranks = [_rank_correlation(means) for means in first.reshape(-1, setup.layers)]
    listed = ", ".join(
        f"{r.min():.2f} to {r.max():.2f} for {units} units" for r, units in zip(ratio, setup.widened, strict=True)
    )
    later = ", ".join(f"{r:.2f} for {units} units" for r, units in zip(at_end, setup.widened, strict=True))
    return [
        Claim(
            f"Early in training (up to epoch {early[-1]}) widening an early layer gives more regions than widening a "
            f"late one.",
            ratio > 1,
            f"The first layer widened gives more than the last one in {(ratio > 1).sum()} of {ratio.size} pairs of a "
            f"width and an epoch; the ratio is {listed}. Spearman's correlation of the layer's position with the mean "
            f"count is {np.mean(ranks):+.2f} on average ({min(ranks):+.2f} to {max(ranks):+.2f}).",
        ),
        Claim(
            f"This advantage is one of early training: by epoch {results.last_epoch:,} it is smaller.",
            at_end < ratio.mean(axis=1),
            f"The same ratio then is {later}.",
        ),
    ]


def _rank_correlation(values: Floats) -> float:
    """Spearman's correlation of values with their positions."""
    ranks = np.argsort(np.argsort(values)).astype(np.float64)
    return float(np.corrcoef(ranks, np.arange(len(values)))[0, 1]) if len(values) > 1 else 0.0


def _figures(setup: LayersSetup, results: Results) -> Figures:
    panels = []
    for units in setup.widened:
        wider = lines("layer {layer} wider", widened=[units], layer=_positions(setup))
        panels.append(Sweep(f"one layer of {units}", "epoch", setup.epochs, wider))
    return {"layers": count_panels(results, panels, "epoch", logarithmic=True)}


STUDY = Study(
    name="layers",
    title="Layers: widening early layers makes more regions early in training",
    source="Figure 4",
    full=LayersSetup(),
    quick=LayersSetup(widened=(64,), epochs=(1, 10, 50, 200)),
    configurations=_configurations,
    tables=_tables,
    claims=_claims,
    figures=_figures,
)
