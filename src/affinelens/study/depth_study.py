"""Deeper networks have more regions (the paper's Section 4.3, Figure 3 and Table 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from affinelens.study import paper
from affinelens.study.architectures import mlp
from affinelens.study.count_curves import count_panels
from affinelens.study.data.samples import random_points
from affinelens.study.declaration import Claim, Configuration, Figures, MoonsStudy, Sweep, combinations, lines
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, choice

KINDS = MOONS, RANDOM = "two moons", "random"


@dataclass(frozen=True, kw_only=True)
class DepthStudy(MoonsStudy):
    name = "depth"
    title = "Depth: the more layers, the more regions"
    source = "Figure 3 and Table 2"
    quick: ClassVar = {
        "widths": (8, 16),
        "depths": (2, 4, 6),
        "table_widths": (8, 16),
        "table_depths": (2, 3),
        "epochs": (500,),
    }

    widths: tuple[int, ...] = choice((16, 32, 64), f"Figure 3, {PAPER}")
    depths: tuple[int, ...] = choice(tuple(range(2, 11)), f"Figure 3, {PAPER}; hidden layers")
    table_dimensions: tuple[int, ...] = choice((3, 4), f"Table 2, {PAPER}; data are random")
    table_widths: tuple[int, ...] = choice((16, 32), f"Table 2, {PAPER}")
    table_depths: tuple[int, ...] = choice((2, 3, 4), f"Table 2, {PAPER}")

    def configurations(self, data: Path | None) -> list[Configuration]:
        plane = combinations(data=KINDS, dimension=[2], width=self.widths, depth=self.depths)
        space = combinations(
            data=[RANDOM], dimension=self.table_dimensions, width=self.table_widths, depth=self.table_depths
        )
        return [self._configuration(labels) for labels in [*plane, *space]]

    def _configuration(self, labels: dict[str, Any]) -> Configuration:
        inputs = labels["dimension"]
        scattered = partial(random_points, count=self.samples, dimension=inputs)
        sizes = (inputs, *[labels["width"]] * labels["depth"], 2)
        return Configuration(
            labels, partial(mlp, sizes, self), self.moons if labels["data"] == MOONS else scattered, inputs
        )

    def tables(self) -> list[Sweep]:
        plane = lines("{data}, {width} units a layer", data=KINDS, dimension=[2], width=self.widths)
        space = lines(
            "{dimension}-D, {width} units a layer",
            width=self.table_widths,
            dimension=self.table_dimensions,
            data=[RANDOM],
        )
        numbers = "Table 2: regions by inputs and depth."
        pictured = "Figure 3: regions in 2-D (the paper prints no numbers)."
        return [
            Sweep(numbers, "depth", self.table_depths, space, paper.depth, columns="{} layers"),
            Sweep(pictured, "depth", self.depths, plane, columns="{} layers"),
        ]

    def claims(self, results: Results) -> list[Claim]:
        depths, table_depths, dimensions = map(sorted, (self.depths, self.table_depths, self.table_dimensions))
        plane = results.means(data=KINDS, dimension=[2], width=self.widths, depth=depths)[:, 0]
        space = results.means(data=[RANDOM], dimension=dimensions, width=self.table_widths, depth=table_depths)[0]
        steps, table_steps = np.diff(plane, axis=2) > 0, np.diff(space, axis=2) > 0
        factors = plane[:, :, -1] / plane[:, :, 0]
        lost = 1 - (plane[:, :, 1:] / plane[:, :, :-1]).min(initial=1.0)
        fallen = "" if steps.all() else f", and falls by at most {lost:.1%} with the others"
        table_factors = space[:, :, -1] / space[:, :, 0]
        listed = "; ".join(
            f"{w} units: " + ", ".join(f"{f:.1f} in {d}-D" for f, d in zip(column, dimensions, strict=True))
            for w, column in zip(self.table_widths, table_factors.T, strict=True)
        )
        return [
            Claim(
                "Deeper networks have more regions, in the plane (Figure 3).",
                factors > 1,
                f"From {depths[0]} to {depths[-1]} layers the mean count grows by a factor of {factors.min():.1f} to "
                f"{factors.max():.1f}.",
            ),
            Claim(
                "Every further layer adds regions, in the plane.",
                steps,
                f"The mean count grows with {steps.sum()} of {steps.size} steps of the depth{fallen}.",
            ),
            Claim(
                "Deeper networks have more regions, in three and four dimensions (Table 2).",
                table_steps,
                f"The mean count grows with {table_steps.sum()} of {table_steps.size} steps of the depth.",
            ),
            Claim(
                "The more inputs, the faster the count grows with depth.",
                np.diff(table_factors, axis=0) > 0,
                f"From {table_depths[0]} to {table_depths[-1]} layers the mean count grows by a factor of ({listed}).",
            ),
        ]

    def figures(self, results: Results) -> Figures:
        panels = []
        for kind in KINDS:
            plane = lines("{width} units", data=[kind], dimension=[2], width=self.widths)
            panels.append(Sweep(f"{kind}, 2-D", "depth", self.depths, plane))
        space = lines(
            "{dimension}-D, {width} units", data=[RANDOM], dimension=self.table_dimensions, width=self.table_widths
        )
        panels.append(Sweep("random, 3-D and 4-D", "depth", self.table_depths, space, paper.depth))
        return {"depth": count_panels(results, panels, "hidden layers")}
