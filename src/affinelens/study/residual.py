"""Residual networks have more regions than the same networks without skips (the paper's Section 4.6, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from affinelens.domain import Box
from affinelens.study import paper
from affinelens.study.architectures import NORMS, residual_network
from affinelens.study.declaration import Cell, Claim, Configuration, PaperTable, Study
from affinelens.study.results import Results
from affinelens.study.samples import two_moons
from affinelens.study.setup import PAPER, MoonsSetup, choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SKIPS = ("yes", "no")


@dataclass(frozen=True, kw_only=True)
class ResidualSetup(MoonsSetup):
    epochs: tuple[int, ...] = choice((100, 500, 1000, 2000, 5000), PAPER)
    width: int = choice(32, PAPER)
    blocks: tuple[int, ...] = choice((2, 3, 4), f"{PAPER}; their inside is that of the authors' experiments")
    norm: str = choice("batch", f"{PAPER}, with torch's defaults; 'none' leaves it out", tuple(NORMS))


def _configurations(setup: ResidualSetup, data: Path | None) -> list[Configuration]:
    return [
        Configuration(
            {"blocks": blocks, "skips": skips},
            partial(residual_network, 2, setup.width, blocks, setup, skips=skips == "yes", norm=setup.norm),
            partial(two_moons, count=setup.samples, noise=setup.noise),
            Box(-1, 1, dim=2),
        )
        for blocks in setup.blocks
        for skips in _SKIPS
    ]


def _tables(results: Results) -> list[PaperTable]:
    setup: ResidualSetup = results.setup
    rows = [
        (
            f"{blocks} blocks, {'with' if skips == 'yes' else 'without'} skips",
            [
                Cell({"blocks": blocks, "skips": skips}, epoch, paper.RESIDUAL.get((blocks, skips, epoch)))
                for epoch in setup.epochs
            ],
        )
        for blocks in setup.blocks
        for skips in _SKIPS
    ]
    return [
        PaperTable("Table 3: regions with and without skips.", "", [f"epoch {epoch}" for epoch in setup.epochs], rows)
    ]


def _claims(results: Results) -> Sequence[Claim]:
    setup: ResidualSetup = results.setup
    means = np.array(
        [
            [[results.mean(epoch, blocks=blocks, skips=skips) for epoch in setup.epochs] for skips in _SKIPS]
            for blocks in sorted(setup.blocks)
        ]
    )
    ratios = means[:, 0] / means[:, 1]
    deeper, later = np.diff(means, axis=0) > 0, np.diff(means, axis=2) > 0
    return [
        Claim(
            "Networks with skips have more regions than those without.",
            bool((ratios > 1).all()),
            f"The mean is larger with skips in {(ratios > 1).sum()} of {ratios.size} cells of the table; it is "
            f"{ratios.min():.2f} to {ratios.max():.2f} times as large.",
        ),
        Claim(
            "More blocks make more regions.",
            bool(deeper.all()),
            f"The mean grows with a further block in {deeper.sum()} of {deeper.size} cases.",
        ),
        Claim(
            "The count grows during training.",
            bool(later.all()),
            f"The mean grows from one epoch of the table to the next in {later.sum()} of {later.size} cases.",
        ),
    ]


def _figures(results: Results) -> Mapping[str, Figure]:
    from affinelens.plot.curves import Curve, curve_panels

    setup: ResidualSetup = results.setup
    shown = {
        f"{blocks} blocks": [
            Curve(
                "with skips" if skips == "yes" else "without skips",
                setup.epochs,
                [results.regions(epoch, blocks=blocks, skips=skips) for epoch in setup.epochs],
                [paper.RESIDUAL.get((blocks, skips, epoch)) for epoch in setup.epochs],
            )
            for skips in _SKIPS
        ]
        for blocks in setup.blocks
    }
    return {"residual": curve_panels(shown, "epoch", logarithmic=True, ticks=setup.epochs)}


STUDY = Study(
    name="residual",
    title="Residual connections: more regions than without",
    source="Table 3",
    full=ResidualSetup(),
    quick=ResidualSetup(blocks=(2, 3), epochs=(20, 100, 500)),
    configurations=_configurations,
    tables=_tables,
    claims=_claims,
    figures=_figures,
    together=True,
)
