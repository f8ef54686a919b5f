"""Residual networks have more regions than the same networks without skips (the paper's Section 4.6, Table 3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from affinelens.study import paper
from affinelens.study.architectures import NORMS, residual_network
from affinelens.study.count_curves import count_panels
from affinelens.study.declaration import Claim, Configuration, Figures, Labels, PaperTable, Study, Sweep, combinations
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, MoonsSetup, choice

_SKIPS = {"yes": "with skips", "no": "without skips"}
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
        _configuration(setup, **labels) for labels in combinations(norm=setup.norms, blocks=setup.blocks, skips=_SKIPS)
    ]


def _configuration(setup: ResidualSetup, norm: str, blocks: int, skips: str) -> Configuration:
    return Configuration(
        {"norm": norm, "blocks": blocks, "skips": skips},
        partial(residual_network, 2, setup.width, blocks, setup, skips=skips == "yes", norm=norm),
        setup.moons,
        2,
    )


def _tables(setup: ResidualSetup) -> list[PaperTable]:
    tables = []
    for norm in setup.norms:
        lines = {
            f"{one['blocks']} blocks, {_SKIPS[one['skips']]}": one
            for one in combinations(norm=[norm], blocks=setup.blocks, skips=_SKIPS)
        }
        tables.append(PaperTable(f"Table 3: regions, {_TITLES[norm]}.", "epoch", setup.epochs, lines, paper.residual))
    return tables


def _claims(setup: ResidualSetup, results: Results) -> list[Claim]:
    return [claim for norm in setup.norms for claim in _claims_with(norm, setup, results)]


def _claims_with(norm: str, setup: ResidualSetup, results: Results) -> list[Claim]:
    means = results.means(norm=[norm], blocks=sorted(setup.blocks), skips=_SKIPS, epoch=setup.epochs)[0]
    ratios = means[:, 0] / means[:, 1]
    deeper, later = np.diff(means, axis=0) > 0, np.diff(means, axis=2) > 0
    grown = means[..., -1] / means[..., 0]
    listed = ", ".join(
        f"{r.min():.2f} to {r.max():.2f} with {blocks} blocks"
        for r, blocks in zip(ratios, sorted(setup.blocks), strict=True)
    )
    title = _TITLES[norm].capitalize()
    return [
        Claim(
            f"{title}: networks with skips have more regions than those without.",
            ratios > 1,
            f"The mean is larger with skips in {(ratios > 1).sum()} of {ratios.size} cells of the table; the ratio is "
            f"{listed}.",
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


def _notes(results: Results) -> list[str]:
    return [
        "The paper says that all its residual models have batch norm. Each network is trained with it and without any "
        "norm here: batch norm moves every unit's hyperplanes into the middle of the data, which changes the counts by "
        "an order of magnitude."
    ]


def _figures(setup: ResidualSetup, results: Results) -> Figures:
    panels = []
    for blocks in setup.blocks:
        lines = {
            f"{_SKIPS[one['skips']]}, {_TITLES[one['norm']]}": one
            for one in combinations(norm=setup.norms, skips=_SKIPS, blocks=[blocks])
        }
        panels.append(Sweep(f"{blocks} blocks", "epoch", setup.epochs, lines, _paper_without_norm))
    return {"residual": count_panels(results, panels, "epoch", logarithmic=True, ticks=setup.epochs)}


def _paper_without_norm(labels: Labels) -> int | None:
    """The paper's numbers beside the networks that they fit."""
    return paper.residual(labels) if labels["norm"] == "none" else None


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
)
