"""Wider networks have more regions (the paper's Section 4.2, Table 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from affinelens.study import paper
from affinelens.study.architectures import mlp
from affinelens.study.count_curves import count_curves
from affinelens.study.data.samples import random_points
from affinelens.study.declaration import Claim, Configuration, Figures, PaperTable, Study, Sweep, combinations, lines
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, Setup, choice


@dataclass(frozen=True, kw_only=True)
class WidthSetup(Setup):
    widths: tuple[int, ...] = choice((16, 32, 64), PAPER)
    dimensions: tuple[int, ...] = choice((2, 3, 4, 5), PAPER)


def _configurations(setup: WidthSetup, data: Path | None) -> list[Configuration]:
    return [
        Configuration(
            labels,
            partial(mlp, (labels["dimension"], labels["width"], 2), setup),
            partial(random_points, count=setup.samples, dimension=labels["dimension"]),
            labels["dimension"],
        )
        for labels in combinations(dimension=setup.dimensions, width=setup.widths)
    ]


def _tables(setup: WidthSetup) -> list[PaperTable]:
    widths = lines("{width} units", width=setup.widths)
    title = "Table 1: regions of one hidden layer."
    return [PaperTable(title, "dimension", setup.dimensions, widths, paper.width, columns="{}-D")]


def _claims(setup: WidthSetup, results: Results) -> Sequence[Claim]:
    dimensions = sorted(setup.dimensions)
    counts = results.counts(dimension=dimensions, width=sorted(setup.widths))
    grows = np.all(np.diff(counts, axis=1) > 0, axis=1)
    factors = counts.mean(axis=2)[:, -1] / counts.mean(axis=2)[:, 0]
    listed = ", ".join(f"{f:,.1f} in {d}-D" for f, d in zip(factors, dimensions, strict=True))
    return [
        Claim(
            "Wider layers have more regions, in every dimension.",
            grows,
            f"The count grows with every step of the width in {grows.sum()} of {grows.size} pairs of a dimension and a "
            f"seed.",
        ),
        Claim(
            "The more inputs, the stronger the growth.",
            np.diff(factors) > 0,
            f"From {min(setup.widths)} to {max(setup.widths)} units the mean count grows by a factor of {listed}.",
        ),
    ]


def _figures(setup: WidthSetup, results: Results) -> Figures:
    from affinelens.plot.canvas import flat_axes
    from affinelens.plot.curves import curves

    dimensions = lines("{dimension} inputs", dimension=setup.dimensions)
    shown = count_curves(results, Sweep("", "width", setup.widths, dimensions, paper.width))
    ax = curves(shown, flat_axes(None, (5.0, 3.8)), logarithmic=True, ticks=setup.widths)
    ax.set(xlabel="units of the hidden layer", ylabel="regions")
    return {"width": ax.figure}


STUDY = Study(
    name="width",
    title="Width: the more units, the more regions",
    source="Table 1",
    full=WidthSetup(),
    quick=WidthSetup(widths=(8, 16, 32), dimensions=(2, 3, 4), epochs=(500,)),
    configurations=_configurations,
    tables=_tables,
    claims=_claims,
    figures=_figures,
)
