"""Regions and the decision boundary while a network trains, ReLU and LeakyReLU (the paper's Section 4.7, Figure 7)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np

from affinelens.api import enumerate as enumerate_regions
from affinelens.region_set import RegionSet
from affinelens.study.architectures import mlp
from affinelens.study.declaration import Claim, Configuration, Figures, MoonsStudy, Sweep, lines
from affinelens.study.results import Results
from affinelens.study.setup import choice
from affinelens.track import Snapshot

_TITLES = {"relu": "ReLU", "leaky_relu": "LeakyReLU"}


@dataclass(frozen=True, kw_only=True)
class ActivationStudy(MoonsStudy):
    name = "activation"
    title = "Activation: how regions and the decision boundary form in training"
    source = "Figure 7"
    quick: ClassVar = {"width": 16, "epochs": (1, 10, 50, 200)}

    epochs: tuple[int, ...] = choice((1, 10, 50, 100, 200, 500))
    width: int = choice(32)
    layers: int = choice(6)
    activations: tuple[str, ...] = choice(("relu", "leaky_relu"), among=tuple(_TITLES))
    slope: float = choice(0.01, "slope of LeakyReLU below zero, torch's default")

    def configurations(self, data: Path | None) -> list[Configuration]:
        slopes = {"relu": 0.0, "leaky_relu": self.slope}
        sizes = (2, *[self.width] * self.layers, 2)
        return [
            Configuration({"activation": activation}, partial(mlp, sizes, self, slopes[activation]), self.moons, 2)
            for activation in self.activations
        ]

    def tables(self) -> list[Sweep]:
        title = "Figure 7: regions during training (the paper gives its numbers in the picture only)."
        named = {activation: _TITLES[activation] for activation in self.activations}
        return [Sweep(title, "epoch", self.epochs, lines("{activation}", activation=named))]

    def claims(self, results: Results) -> list[Claim]:
        counts = results.counts(activation=self.activations, epoch=self.epochs)
        grown = counts[:, -1] / counts[:, 0]
        listed = ", ".join(
            f"{_TITLES[a]} {mean:.2f}" for a, mean in zip(self.activations, grown.mean(axis=1), strict=True)
        )
        steps = np.diff(counts.mean(axis=2), axis=1) > 0
        right = {a: np.mean([row["accuracy"] for row in results.select(activation=a)]) for a in self.activations}
        return [
            Claim(
                "The partition becomes finer as training proceeds, with either activation.",
                grown > 1,
                f"From epoch {self.epochs[0]} to epoch {self.epochs[-1]} the count grows with {(grown > 1).sum()} of "
                f"{grown.size} pairs of an activation and a seed; the factor is on average: {listed}. The mean grows "
                f"in {steps.sum()} of {steps.size} steps from one of the epochs to the next. Samples classified "
                f"rightly at the end: " + ", ".join(f"{_TITLES[a]} {share:.1%}" for a, share in right.items()) + ".",
            )
        ]

    def figures(self, results: Results) -> Figures:
        """The first seed's strip of partitions with the data, and the same as surfaces, a row an activation."""
        from affinelens.plot.evolution import evolution, surface_evolution

        snapshots = [
            Snapshot(epoch, f"{_TITLES[activation]}, epoch", partial(_regions, results, activation, epoch))
            for activation in self.activations
            for epoch in self.epochs
        ]
        samples = results.samples({"activation": self.activations[0]}, 0)
        columns = len(self.epochs)
        return {
            "activation": evolution(snapshots, columns=columns, points=samples.points, labels=samples.labels),
            "activation_surfaces": surface_evolution(snapshots, columns=columns),
        }


def _regions(results: Results, activation: str, epoch: int) -> RegionSet:
    labels = {"activation": activation}
    return enumerate_regions(results.network(labels, 0, epoch), results.configuration(labels).domain)
