"""Wider networks have more regions (the paper's Section 4.2, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from affinelens.study import paper
from affinelens.study.architectures import mlp
from affinelens.study.count_curves import count_curves
from affinelens.study.data.samples import random_points
from affinelens.study.declaration import Claim, Configuration, Figures, Study, Sweep, combinations, lines
from affinelens.study.results import Results
from affinelens.study.setup import choice


@dataclass(frozen=True, kw_only=True)
class WidthStudy(Study):
    name = "width"
    title = "Width: the more units, the more regions"
    source = "Table 1"
    quick: ClassVar = {"widths": (8, 16, 32), "dimensions": (2, 3, 4), "epochs": (500,)}

    widths: tuple[int, ...] = choice((16, 32, 64))
    dimensions: tuple[int, ...] = choice((2, 3, 4, 5))

    def configurations(self, data: Path | None) -> list[Configuration]:
        return [
            Configuration(
                labels,
                partial(mlp, (labels["dimension"], labels["width"], 2), self),
                partial(random_points, count=self.samples, dimension=labels["dimension"]),
                labels["dimension"],
            )
            for labels in combinations(dimension=self.dimensions, width=self.widths)
        ]

    def tables(self) -> list[Sweep]:
        widths = lines("{width} units", width=self.widths)
        title = "Table 1: regions of one hidden layer."
        return [Sweep(title, "dimension", self.dimensions, widths, paper.width, columns="{}-D")]

    def claims(self, results: Results) -> list[Claim]:
        dimensions = sorted(self.dimensions)
        counts = results.counts(dimension=dimensions, width=sorted(self.widths))
        grows = np.all(np.diff(counts, axis=1) > 0, axis=1)
        factors = counts.mean(axis=2)[:, -1] / counts.mean(axis=2)[:, 0]
        listed = ", ".join(f"{f:,.1f} in {d}-D" for f, d in zip(factors, dimensions, strict=True))
        return [
            Claim(
                "Wider layers have more regions, in every dimension.",
                grows,
                f"The count grows with every step of the width in {grows.sum()} of {grows.size} pairs of a dimension "
                f"and a seed.",
            ),
            Claim(
                "The more inputs, the stronger the growth.",
                np.diff(factors) > 0,
                f"From {min(self.widths)} to {max(self.widths)} units the mean count grows by a factor of {listed}.",
            ),
        ]

    def figures(self, results: Results) -> Figures:
        from affinelens.plot.canvas import flat_axes
        from affinelens.plot.curves import curves

        dimensions = lines("{dimension} inputs", dimension=self.dimensions)
        shown = count_curves(results, Sweep("", "width", self.widths, dimensions, paper.width))
        ax = curves(shown, flat_axes(None, (5.0, 3.8)), logarithmic=True, ticks=self.widths)
        ax.set(xlabel="units of the hidden layer", ylabel="regions")
        return {"width": ax.figure}
