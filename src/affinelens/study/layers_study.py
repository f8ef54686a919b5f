"""Which layer to widen: the earlier, the more regions early in training (the paper's Section 4.4, Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from affinelens.array_types import Floats
from affinelens.study.architectures import mlp
from affinelens.study.count_curves import count_panels
from affinelens.study.declaration import Claim, Configuration, Figures, MoonsStudy, Sweep, combinations, lines
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, choice

# The paper looks at the first 50 epochs when it speaks of early training.
_EARLY = 50


@dataclass(frozen=True, kw_only=True)
class LayersStudy(MoonsStudy):
    name = "layers"
    title = "Layers: widening early layers makes more regions early in training"
    source = "Figure 4"
    quick: ClassVar = {"widened": (64,), "epochs": (1, 10, 50, 200)}

    epochs: tuple[int, ...] = choice((1, 10, 50, 100, 200, 300, 500, 1000, 2000, 5000))
    width: int = choice(32)
    layers: int = choice(5)
    widened: tuple[int, ...] = choice((64, 128, 256), f"{PAPER}; units of the one layer that is wider")

    @property
    def positions(self) -> range:
        """The hidden layers, counted from 1."""
        return range(1, self.layers + 1)

    def configurations(self, data: Path | None) -> list[Configuration]:
        return [
            Configuration(labels, partial(mlp, (2, *self._widths(**labels), 2), self), self.moons, 2)
            for labels in combinations(widened=self.widened, layer=self.positions)
        ]

    def _widths(self, widened: int, layer: int) -> list[int]:
        return [widened if position == layer else self.width for position in self.positions]

    def tables(self) -> list[Sweep]:
        return [
            Sweep(
                f"Figure 4: regions with one layer of {units} (the paper prints no numbers).",
                "epoch",
                self.epochs,
                lines("{layer}", widened=[units], layer=self.positions),
                corner="wider layer",
            )
            for units in self.widened
        ]

    def claims(self, results: Results) -> list[Claim]:
        early = [epoch for epoch in self.epochs if epoch <= _EARLY] or [self.epochs[0]]
        end = self.epochs[-1]
        first, last = (
            results.means(widened=self.widened, epoch=epochs, layer=self.positions) for epochs in (early, [end])
        )
        ratio, at_end = first[:, :, 0] / first[:, :, -1], last[:, 0, 0] / last[:, 0, -1]
        ranks = [_rank_correlation(means) for means in first.reshape(-1, self.layers)]
        listed = ", ".join(
            f"{r.min():.2f} to {r.max():.2f} for {units} units" for r, units in zip(ratio, self.widened, strict=True)
        )
        later = ", ".join(f"{r:.2f} for {units} units" for r, units in zip(at_end, self.widened, strict=True))
        return [
            Claim(
                f"Early in training (up to epoch {early[-1]}) widening an early layer gives more regions than widening "
                f"a late one.",
                ratio > 1,
                f"The first layer widened gives more than the last one in {(ratio > 1).sum()} of {ratio.size} pairs of "
                f"a width and an epoch; the ratio is {listed}. Spearman's correlation of the layer's position with the "
                f"mean count is {np.mean(ranks):+.2f} on average ({min(ranks):+.2f} to {max(ranks):+.2f}).",
            ),
            Claim(
                f"This advantage is one of early training: by epoch {end:,} it is smaller.",
                at_end < ratio.mean(axis=1),
                f"The same ratio then is {later}.",
            ),
        ]

    def figures(self, results: Results) -> Figures:
        panels = []
        for units in self.widened:
            wider = lines("layer {layer} wider", widened=[units], layer=self.positions)
            panels.append(Sweep(f"one layer of {units}", "epoch", self.epochs, wider))
        return {"layers": count_panels(results, panels, "epoch", logarithmic=True)}


def _rank_correlation(values: Floats) -> float:
    """Spearman's correlation of values with their positions."""
    ranks = np.argsort(np.argsort(values)).astype(np.float64)
    return float(np.corrcoef(ranks, np.arange(len(values)))[0, 1]) if len(values) > 1 else 0.0
