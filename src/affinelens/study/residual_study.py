"""Residual networks have more regions than the same networks without skips (the paper's Section 4.6, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.domain import Box
from affinelens.study import paper
from affinelens.study.architectures import NORMS, residual_network
from affinelens.study.data.samples import two_moons
from affinelens.study.declaration import Cell, Claim, Configuration, PaperTable, Study
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, MoonsSetup, choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SKIPS = ("yes", "no")
_TITLES = {"batch": "with batch norm", "none": "without a norm"}


@dataclass(frozen=True, kw_only=True)
class ResidualSetup(MoonsSetup):
    epochs: tuple[int, ...] = choice((100, 500, 1000, 2000, 5000), PAPER)
    width: int = choice(32, PAPER)
    blocks: tuple[int, ...] = choice((2, 3, 4), f"{PAPER}; their inside is that of the authors' experiments")
    norms: tuple[str, ...] = choice(
        ("batch", "none"), "the paper says batch norm, but its numbers fit networks without", tuple(NORMS)
    )


def _configurations(setup: ResidualSetup, data: Path | None) -> list[Configuration]:
    return [
        Configuration(
            {"norm": norm, "blocks": blocks, "skips": skips},
            partial(residual_network, 2, setup.width, blocks, setup, skips=skips == "yes", norm=norm),
            partial(two_moons, count=setup.samples, noise=setup.noise),
            Box(-1, 1, dim=2),
        )
        for norm in setup.norms
        for blocks in setup.blocks
        for skips in _SKIPS
    ]


def _tables(results: Results) -> list[PaperTable]:
    setup: ResidualSetup = results.setup
    return [
        PaperTable(
            f"Table 3: regions, {_TITLES[norm]}.",
            "",
            [f"epoch {epoch}" for epoch in setup.epochs],
            [
                (
                    f"{blocks} blocks, {_with(skips)}",
                    [
                        Cell(_labels(norm, blocks, skips), epoch, paper.RESIDUAL.get((blocks, skips, epoch)))
                        for epoch in setup.epochs
                    ],
                )
                for blocks in setup.blocks
                for skips in _SKIPS
            ],
        )
        for norm in setup.norms
    ]


def _labels(norm: str, blocks: int, skips: str) -> dict[str, Any]:
    return {"norm": norm, "blocks": blocks, "skips": skips}


def _with(skips: str) -> str:
    return "with skips" if skips == "yes" else "without skips"


def _claims(results: Results) -> list[Claim]:
    setup: ResidualSetup = results.setup
    return [claim for norm in setup.norms for claim in _claims_with(norm, results)]


def _claims_with(norm: str, results: Results) -> list[Claim]:
    setup: ResidualSetup = results.setup
    means = np.array(
        [
            [[results.mean(epoch, **_labels(norm, blocks, skips)) for epoch in setup.epochs] for skips in _SKIPS]
            for blocks in sorted(setup.blocks)
        ]
    )
    ratios = means[:, 0] / means[:, 1]
    deeper, later = np.diff(means, axis=0) > 0, np.diff(means, axis=2) > 0
    listed = ", ".join(
        f"{r.min():.2f} to {r.max():.2f} with {blocks} blocks"
        for r, blocks in zip(ratios, sorted(setup.blocks), strict=True)
    )
    title = _TITLES[norm]
    return [
        Claim(
            f"{title[0].upper()}{title[1:]}: networks with skips have more regions than those without.",
            bool((ratios > 1).all()),
            f"The mean is larger with skips in {(ratios > 1).sum()} of {ratios.size} cells of the table; the ratio is "
            f"{listed}.",
        ),
        Claim(
            f"{title[0].upper()}{title[1:]}: more blocks make more regions.",
            bool(deeper.all()),
            f"The mean grows with a further block in {deeper.sum()} of {deeper.size} cases.",
        ),
        Claim(
            f"{title[0].upper()}{title[1:]}: the count grows during training.",
            bool(later.all()),
            f"The mean grows from one epoch of the table to the next in {later.sum()} of {later.size} cases; from "
            f"the first to the last it changes by a factor of {(means[..., -1] / means[..., 0]).min():.2f} to "
            f"{(means[..., -1] / means[..., 0]).max():.2f}.",
        ),
    ]


def _notes(results: Results) -> list[str]:
    return [
        "The paper says that all its residual models have batch norm. Each network is trained with it and without any "
        "norm here: batch norm moves every unit's hyperplanes into the middle of the data, which changes the counts by "
        "an order of magnitude."
    ]


def _figures(results: Results) -> Mapping[str, Figure]:
    from affinelens.plot.curves import Curve, curve_panels

    setup: ResidualSetup = results.setup
    shown = {
        f"{blocks} blocks": [
            Curve(
                f"{_with(skips)}, {_TITLES[norm]}",
                setup.epochs,
                [results.regions(epoch, **_labels(norm, blocks, skips)) for epoch in setup.epochs],
                [paper.RESIDUAL.get((blocks, skips, epoch)) for epoch in setup.epochs] if norm == "none" else (),
            )
            for norm in setup.norms
            for skips in _SKIPS
        ]
        for blocks in setup.blocks
    }
    return {"residual": curve_panels(shown, "epoch", logarithmic=True, ticks=setup.epochs)}


STUDY = Study(
    name="residual",
    title="Residual connections: with skips and without",
    source="Table 3",
    full=ResidualSetup(),
    quick=ResidualSetup(blocks=(2, 3), epochs=(20, 100, 500)),
    configurations=_configurations,
    tables=_tables,
    claims=_claims,
    figures=_figures,
    notes=_notes,
    together=True,
)
