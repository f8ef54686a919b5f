"""Deeper networks have more regions (the paper's Section 4.3, Figure 3 and Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.domain import Box
from affinelens.study import paper
from affinelens.study.architectures import mlp
from affinelens.study.data.samples import random_points, two_moons
from affinelens.study.declaration import Cell, Claim, Configuration, PaperTable, Study
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, MoonsSetup, choice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOONS, RANDOM = "two moons", "random"


@dataclass(frozen=True, kw_only=True)
class DepthSetup(MoonsSetup):
    widths: tuple[int, ...] = choice((16, 32, 64), f"Figure 3, {PAPER}")
    depths: tuple[int, ...] = choice(tuple(range(2, 11)), f"Figure 3, {PAPER}; hidden layers")
    table_dimensions: tuple[int, ...] = choice((3, 4), f"Table 2, {PAPER}; data are random")
    table_widths: tuple[int, ...] = choice((16, 32), f"Table 2, {PAPER}")
    table_depths: tuple[int, ...] = choice((2, 3, 4), f"Table 2, {PAPER}")


def _configurations(setup: DepthSetup, data: Path | None) -> list[Configuration]:
    in_plane = [_labels(kind, 2, w, n) for kind in (MOONS, RANDOM) for w in setup.widths for n in setup.depths]
    return [_configuration(setup, **labels) for labels in [*in_plane, *_table_labels(setup)]]


def _table_labels(setup: DepthSetup) -> list[dict[str, Any]]:
    return [
        _labels(RANDOM, d, w, n)
        for d in setup.table_dimensions
        for w in setup.table_widths
        for n in setup.table_depths
    ]  # fmt: skip


def _labels(kind: str, dimension: int, width: int, depth: int) -> dict[str, Any]:
    return {"data": kind, "dimension": dimension, "width": width, "depth": depth}


def _configuration(setup: DepthSetup, data: str, dimension: int, width: int, depth: int) -> Configuration:
    return Configuration(
        _labels(data, dimension, width, depth),
        partial(mlp, (dimension, *[width] * depth, 2), setup),
        partial(two_moons, count=setup.samples, noise=setup.noise)
        if data == MOONS
        else partial(random_points, count=setup.samples, dimension=dimension),
        Box(-1, 1, dim=dimension),
    )


def _tables(results: Results) -> list[PaperTable]:
    setup: DepthSetup = results.setup
    plane = [
        (
            f"{kind}, {width} units a layer",
            [Cell(_labels(kind, 2, width, depth), results.last_epoch) for depth in setup.depths],
        )
        for kind in (MOONS, RANDOM)
        for width in setup.widths
    ]
    space = [
        (
            f"{d}-D, {width} units a layer",
            [
                Cell(_labels(RANDOM, d, width, depth), results.last_epoch, _of_paper(results, d, width, depth))
                for depth in setup.table_depths
            ],
        )
        for width in setup.table_widths
        for d in setup.table_dimensions
    ]
    return [
        PaperTable("Table 2: regions by inputs and depth.", "", [f"{n} layers" for n in setup.table_depths], space),
        PaperTable(
            "Figure 3: regions in 2-D (the paper prints no numbers).", "", [f"{n} layers" for n in setup.depths], plane
        ),
    ]


def _of_paper(results: Results, dimension: int, width: int, depth: int) -> int | None:
    return paper.DEPTH.get((dimension, width, depth)) if results.last_epoch == 5000 else None


def _claims(results: Results) -> Sequence[Claim]:
    setup: DepthSetup = results.setup
    depths, table_depths = sorted(setup.depths), sorted(setup.table_depths)
    plane = np.array(
        [[[results.mean(**_labels(k, 2, w, n)) for n in depths] for w in setup.widths] for k in (MOONS, RANDOM)]
    )
    space = np.array(
        [
            [[results.mean(**_labels(RANDOM, d, w, n)) for n in table_depths] for w in setup.table_widths]
            for d in sorted(setup.table_dimensions)
        ]
    )
    steps, table_steps = np.diff(plane, axis=2) > 0, np.diff(space, axis=2) > 0
    factors = plane[:, :, -1] / plane[:, :, 0]
    lost = 1 - (plane[:, :, 1:] / plane[:, :, :-1]).min(initial=1.0)
    fallen = "" if steps.all() else f", and falls by at most {lost:.1%} with the others"
    table_factors = space[:, :, -1] / space[:, :, 0]
    listed = "; ".join(
        f"{w} units: "
        + ", ".join(f"{f:.1f} in {d}-D" for f, d in zip(column, sorted(setup.table_dimensions), strict=True))
        for w, column in zip(setup.table_widths, table_factors.T, strict=True)
    )
    return [
        Claim(
            "Deeper networks have more regions, in the plane (Figure 3).",
            bool((factors > 1).all()),
            f"From {depths[0]} to {depths[-1]} layers the mean count grows by a factor of {factors.min():.1f} to "
            f"{factors.max():.1f}.",
        ),
        Claim(
            "Every further layer adds regions, in the plane.",
            bool(steps.all()),
            f"The mean count grows with {steps.sum()} of {steps.size} steps of the depth{fallen}.",
        ),
        Claim(
            "Deeper networks have more regions, in three and four dimensions (Table 2).",
            bool(table_steps.all()),
            f"The mean count grows with {table_steps.sum()} of {table_steps.size} steps of the depth.",
        ),
        Claim(
            "The more inputs, the faster the count grows with depth.",
            bool(np.all(np.diff(table_factors, axis=0) > 0)),
            f"From {table_depths[0]} to {table_depths[-1]} layers the mean count grows by a factor of ({listed}).",
        ),
    ]


def _figures(results: Results) -> Mapping[str, Figure]:
    from affinelens.plot.curves import Curve, curve_panels

    setup: DepthSetup = results.setup
    shown = {
        f"{kind}, 2-D": [
            Curve(f"{w} units", setup.depths, [results.regions(**_labels(kind, 2, w, n)) for n in setup.depths])
            for w in setup.widths
        ]
        for kind in (MOONS, RANDOM)
    }
    shown["random, 3-D and 4-D"] = [
        Curve(
            f"{d}-D, {w} units",
            setup.table_depths,
            [results.regions(**_labels(RANDOM, d, w, n)) for n in setup.table_depths],
            [_of_paper(results, d, w, n) for n in setup.table_depths],
        )
        for d in setup.table_dimensions
        for w in setup.table_widths
    ]
    return {"depth": curve_panels(shown, "hidden layers")}


STUDY = Study(
    name="depth",
    title="Depth: the more layers, the more regions",
    source="Figure 3 and Table 2",
    full=DepthSetup(),
    quick=DepthSetup(widths=(8, 16), depths=(2, 4, 6), table_widths=(8, 16), table_depths=(2, 3), epochs=(500,)),
    configurations=_configurations,
    tables=_tables,
    claims=_claims,
    figures=_figures,
    together=True,
)
