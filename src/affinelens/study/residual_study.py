"""Residual networks have more regions than the same networks without skips (the paper's Section 4.6, Table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import nn

from affinelens.study import paper
from affinelens.study.architectures import NORMS, residual_network
from affinelens.study.count_curves import count_panels
from affinelens.study.declaration import Claim, Configuration, Figures, Labels, MoonsStudy, Sweep, combinations, lines
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, choice

_SKIPS = {"yes": "with skips", "no": "without skips"}
_TITLES = {"batch": "with batch norm", "none": "without a norm"}


@dataclass(frozen=True, kw_only=True)
class ResidualStudy(MoonsStudy):
    name = "residual"
    title = "Residual connections: with skips and without"
    source = "Table 3"
    quick: ClassVar = {"blocks": (2, 3), "epochs": (20, 100, 500)}

    epochs: tuple[int, ...] = choice((100, 500, 1000, 2000, 5000))
    width: int = choice(32)
    blocks: tuple[int, ...] = choice((2, 3, 4), f"{PAPER}; their inside is that of the authors' experiments")
    norms: tuple[str, ...] = choice(
        ("batch", "none"), "the paper says batch norm, but its numbers fit networks without", tuple(NORMS)
    )

    def configurations(self, data: Path | None) -> list[Configuration]:
        return [
            Configuration(labels, partial(self._network, **labels), self.moons, 2)
            for labels in combinations(norm=self.norms, blocks=self.blocks, skips=_SKIPS)
        ]

    def _network(self, norm: str, blocks: int, skips: str) -> nn.Module:
        return residual_network(2, self.width, blocks, self, skips=skips == "yes", norm=norm)

    def tables(self) -> list[Sweep]:
        tables = []
        for norm in self.norms:
            rows = lines("{blocks} blocks, {skips}", norm=[norm], blocks=self.blocks, skips=_SKIPS)
            tables.append(Sweep(f"Table 3: regions, {_TITLES[norm]}.", "epoch", self.epochs, rows, paper.residual))
        return tables

    def claims(self, results: Results) -> list[Claim]:
        return [claim for norm in self.norms for claim in self._claims_with(norm, results)]

    def _claims_with(self, norm: str, results: Results) -> list[Claim]:
        blocks = sorted(self.blocks)
        means = results.means(norm=[norm], blocks=blocks, skips=_SKIPS, epoch=self.epochs)[0]
        ratios = means[:, 0] / means[:, 1]
        deeper, later = np.diff(means, axis=0) > 0, np.diff(means, axis=2) > 0
        grown = means[..., -1] / means[..., 0]
        listed = ", ".join(
            f"{r.min():.2f} to {r.max():.2f} with {count} blocks" for r, count in zip(ratios, blocks, strict=True)
        )
        title = _TITLES[norm].capitalize()
        return [
            Claim(
                f"{title}: networks with skips have more regions than those without.",
                ratios > 1,
                f"The mean is larger with skips in {(ratios > 1).sum()} of {ratios.size} cells of the table; the ratio "
                f"is {listed}.",
            ),
            Claim(
                f"{title}: more blocks make more regions.",
                deeper,
                f"The mean grows with a further block in {deeper.sum()} of {deeper.size} cases.",
            ),
            Claim(
                f"{title}: the count grows during training.",
                later,
                f"The mean grows from one epoch of the table to the next in {later.sum()} of {later.size} cases; from "
                f"the first to the last it changes by a factor of {grown.min():.2f} to {grown.max():.2f}.",
            ),
        ]

    def notes(self, results: Results) -> list[str]:
        return [
            "The paper says that all its residual models have batch norm. Each network is trained with it and without "
            "any norm here: batch norm moves every unit's hyperplanes into the middle of the data, which changes the "
            "counts by an order of magnitude."
        ]

    def figures(self, results: Results) -> Figures:
        norms = {norm: _TITLES[norm] for norm in self.norms}
        panels = []
        for blocks in self.blocks:
            shown = lines("{skips}, {norm}", norm=norms, skips=_SKIPS, blocks=[blocks])
            panels.append(Sweep(f"{blocks} blocks", "epoch", self.epochs, shown, _paper_without_norm))
        return {"residual": count_panels(results, panels, "epoch", logarithmic=True, ticks=self.epochs)}


def _paper_without_norm(labels: Labels) -> int | None:
    """The paper's numbers beside the networks that they fit."""
    return paper.residual(labels) if labels["norm"] == "none" else None
