"""Convolutional networks have more regular partitions than plain ones (the paper's Section 4.5, Figures 5 and 8).

A network is looked at on planes: two inputs drawn at random vary over [-1, 1], all others are 0.5. Inputs are what the
network is shown, pixels less the data set's mean over its deviation, so that the plane is one of the paper's A_0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from torch import nn

from affinelens.api import enumerate as enumerate_regions
from affinelens.array_types import Floats
from affinelens.domain import Slice
from affinelens.network import Network
from affinelens.region_set import RegionSet
from affinelens.study.architectures import Shape, image_mlp, lenet, strided_cnn
from affinelens.study.data import cifar10, digits, mnist
from affinelens.study.data.image_sets import find_image_sets, image_set
from affinelens.study.data.images import CLASSES
from affinelens.study.data.samples import Samples
from affinelens.study.declaration import Claim, Configuration, Figures, Labels, Row, Study
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, choice

if TYPE_CHECKING:
    from affinelens.plot import Panel

KINDS = MLP, CNN = "MLP", "CNN"
_TRAIN, _TEST = "train", "test"
_OTHERS_AT = 0.5
# How many images there are to train on, and for how many epochs the paper does so.
_ALL_IMAGES = {cifar10.TITLE: 50_000, mnist.TITLE: 60_000}
_PAPER_EPOCHS = {cifar10.TITLE: 100, mnist.TITLE: 50}
AUTHORS = "as in the authors' experiments"
_MEASURE = (
    "Every partition is complete and exact. *Grid order* is the measure of regularity: the length of the mean of "
    "exp(4ia) over all borders between regions, a being a border's direction. It is 1 for a grid of perpendicular "
    "lines, turned or not, and near 0 for directions without order; *by chance* is what hyperplanes of random "
    "directions would give. It is 1 for parallel lines too, which *stripe order* tells apart: that is 1 for these and "
    "0 for a grid."
)
_REASON = (
    "The grid has a plain reason: a unit of a convolutional layer that sees only one of the two pixels has its border "
    "at right angles to that pixel's axis, trained or not. The further apart the pixels, the deeper the layers in "
    "which no unit sees both; a unit of the MLP sees both from the start."
)
_COLUMNS = {
    "test accuracy": "test_accuracy",
    "regions": "regions",
    "grid order": "grid_order",
    "by chance": "grid_order_by_chance",
    "stripe order": "stripe_order",
    "quadrilaterals": "quadrilaterals",
    "area variation": "area_variation",
}


@dataclass(frozen=True, kw_only=True)
class ConvolutionStudy(Study):
    name = "convolution"
    title = "Convolution: partitions of CNNs look like grids"
    source = "Figures 5 and 8"
    quick: ClassVar = {"epochs": (5,), "mnist_epochs": (1,), "planes": 3}
    reads_data = True
    together = False

    epochs: tuple[int, ...] = choice((100,), f"CIFAR-10: {PAPER}; the digits likewise")
    mnist_epochs: tuple[int, ...] = choice((50,), f"MNIST: {PAPER}")
    samples: int = choice(200, "not used in this study: all images are")
    planes: int = choice(4, "how many pairs of inputs are drawn for each seed; both networks get the same")
    cifar10_mlp: tuple[int, ...] = choice((512, 256, 128), AUTHORS)
    cifar10_channels: tuple[int, ...] = choice((16, 32, 64), AUTHORS)
    cifar10_hidden: int = choice(128, f"{AUTHORS}; the one average pool comes after the last convolution")
    mnist_mlp: tuple[int, ...] = choice((120, 84), "the linear layers of LeNet-5, on the pixels themselves")
    leaky_slope: float = choice(0.01, "torch's default for LeakyReLU")

    def configurations(self, data: Path | None) -> list[Configuration]:
        return [
            Configuration(
                _labels(title, kind),
                build,
                partial(_samples, title, folder, _TRAIN),
                int(np.prod(image_set(title, folder).shape)),
                epochs=self.mnist_epochs if title == mnist.TITLE else self.epochs,
                held_out=partial(_samples, title, folder, _TEST),
            )
            for title, folder in find_image_sets(data).items()
            for kind, build in self._builders(title, image_set(title, folder).shape).items()
        ]

    def _builders(self, title: str, shape: Shape) -> dict[str, Callable[[], nn.Module]]:
        """The plain and the convolutional network for a data set."""
        if title == cifar10.TITLE:
            return {
                MLP: partial(image_mlp, shape, self.cifar10_mlp, CLASSES, nn.ReLU, self),
                CNN: partial(strided_cnn, shape, self.cifar10_channels, self.cifar10_hidden, CLASSES, nn.ReLU, self),
            }
        leaky = partial(nn.LeakyReLU, self.leaky_slope)
        # The digits have 8 x 8 pixels, of which windows of 5 x 5 would see almost all.
        kernel = 3 if title == digits.TITLE else 5
        return {
            MLP: partial(image_mlp, shape, self.mnist_mlp, CLASSES, leaky, self),
            CNN: partial(lenet, shape, kernel, CLASSES, leaky, self),
        }

    def measure(self, network: Network, configuration: Configuration, seed: int) -> list[Row]:
        """A row a plane: the regions of its complete partition, stage by stage, and how regular it is."""
        rows = []
        for number, pair in enumerate(_planes(network.input_size, self.planes, seed)):
            regions = _partition(network, pair)
            cells = {f"cells_stage_{stage}": count for stage, count in enumerate(regions.layer_counts, start=1)}
            plane = {"plane": number, "first_input": pair[0], "second_input": pair[1], "regions": len(regions)}
            rows.append({**plane, **cells, **(regions.regularity().to_json() if len(regions) > 1 else {})})
        return rows

    def claims(self, results: Results) -> list[Claim]:
        return [_claim(results, title) for title in _titles(results)]

    def notes(self, results: Results) -> list[str]:
        titles = _titles(results)
        missing = [] if digits.TITLE in titles else [title for title in _ALL_IMAGES if title not in titles]
        left_out = [f"{title} was not found and is left out." for title in missing]
        return [*(_data_note(results, title) for title in titles), *left_out, _MEASURE, _table(results), _REASON]

    def figures(self, results: Results) -> Figures:
        from affinelens.plot import partition_rows
        from affinelens.plot.repeats import repeats

        drawn, orders = {}, {}
        for title in _titles(results):
            rows = {kind: results.select(**_labels(title, kind)) for kind in KINDS}
            panels = {kind: _panels(results, _labels(title, kind), of_kind) for kind, of_kind in rows.items()}
            drawn[f"partitions-{title.lower().replace('-', '')}"] = partition_rows(panels)
            orders[title] = {kind: _numbers(of_kind, "grid_order") for kind, of_kind in rows.items()}
        drawn["grid-order"] = repeats(orders, "grid order")
        return drawn


def _labels(title: str, kind: str = MLP) -> dict[str, str]:
    return {"data": title, "network": kind}


def _samples(title: str, folder: Path | None, part: str, seed: int = 0) -> Samples:
    """The images to train on, or those to test with, which are the same for every seed."""
    images = image_set(title, folder)
    chosen = images.test if part == _TEST else images.train
    return Samples(images.inputs(chosen), chosen.labels)


def _planes(inputs: int, planes: int, seed: int) -> list[tuple[int, int]]:
    """Pairs of inputs drawn at random, the same for every network with so many inputs."""
    generator = np.random.default_rng(seed)
    drawn = (generator.choice(inputs, 2, replace=False).tolist() for _ in range(planes))
    return [(first, second) for first, second in drawn]


def _partition(network: Network, pair: tuple[int, int]) -> RegionSet:
    plane = Slice.axes(np.full(network.input_size, _OTHERS_AT), pair, -1, 1)
    return enumerate_regions(network, plane, workers=1, vertices=True)


def _titles(results: Results) -> list[str]:
    return list(dict.fromkeys(str(one.labels["data"]) for one in results.configurations))


def _numbers(rows: Sequence[Row], name: str) -> Floats:
    return np.array([row[name] for row in rows if row.get(name) is not None], dtype=np.float64)


def _claim(results: Results, title: str) -> Claim:
    """Holds if the CNN's mean over planes is the higher one with every seed."""
    plain, convolved = (results.select(**_labels(title, kind)) for kind in KINDS)
    pairs = [
        (one, other)
        for one, other in zip(plain, convolved, strict=True)
        if one.get("grid_order") is not None and other.get("grid_order") is not None
    ]
    sentence = f"{title}: partitions of the CNN are more regular (grid-like) than those of the MLP."
    if not pairs:
        return Claim(sentence, False, "No plane is cut by both networks, so there is nothing to compare.")
    gains: dict[int, list[float]] = {}
    for one, other in pairs:
        gains.setdefault(one["seed"], []).append(other["grid_order"] - one["grid_order"])
    lower = [one for one, other in pairs if other["grid_order"] <= one["grid_order"]]
    orders, squares, uneven = (
        [_numbers(rows, name) for rows in (convolved, plain)]
        for name in ("grid_order", "quadrilaterals", "area_variation")
    )
    return Claim(
        sentence,
        all(np.mean(of_seed) > 0 for of_seed in gains.values()),
        f"The mean grid order is {_shown(orders[0])} for the CNN and {_shown(orders[1])} for the MLP, where lines of "
        f"random directions, as few as its are, would give {_numbers(plain, 'grid_order_by_chance').mean():.2f}; the "
        f"CNN's is the higher one on {len(pairs) - len(lower)} of {len(pairs)} planes{_exceptions(results, lower)}. Of "
        f"the CNN's regions {squares[0].mean():.0%} have four sides, of the MLP's {squares[1].mean():.0%}. By the "
        f"sizes of regions it is {'also' if uneven[0].mean() < uneven[1].mean() else 'not'} more regular: their "
        f"deviation is {uneven[0].mean():.1f} times the mean with the CNN, {uneven[1].mean():.1f} times with the MLP.",
    )


def _exceptions(results: Results, rows: Sequence[Row]) -> str:
    """How near the pixels are on planes where the CNN is not the more regular one."""
    if not rows:
        return ""
    shape = results.samples(_labels(rows[0]["data"]), 0).points.shape[1:]
    apart = [_pixels_apart(row, shape) for row in rows]
    which = "the other" if len(rows) == 1 else "the others"
    return f" (on {which} the two pixels are {' and '.join(map(str, sorted(apart)))} apart)"


def _pixels_apart(row: Row, shape: Sequence[int]) -> int:
    """The larger of the distances in rows and in columns between the two pixels that vary."""
    first, second = (np.unravel_index(row[name], shape) for name in ("first_input", "second_input"))
    return max(abs(int(a) - int(b)) for a, b in zip(first[1:], second[1:], strict=True))


def _data_note(results: Results, title: str) -> str:
    """How much was trained, where that is less than in the paper, and where digits stand in for other images."""
    used = len(results.samples(_labels(title), 0))
    epochs = results.last_epoch(_labels(title))
    if title == digits.TITLE:
        return (
            f"No image files were given (see --data), so scikit-learn's {title} stand in for {cifar10.TITLE} and "
            f"{mnist.TITLE}: "
            f"{used:,} images to train on, {epochs} epochs."
        )
    images = f"{used:,}" if used == _ALL_IMAGES[title] else f"{used:,} of its {_ALL_IMAGES[title]:,}"
    paper = "" if epochs == _PAPER_EPOCHS[title] else f", where the paper has {_PAPER_EPOCHS[title]}"
    return f"{title}: trained on {images} images for {epochs} epochs{paper}."


def _table(results: Results) -> str:
    """Means over all seeds and planes, with the smallest and the largest."""
    lines = [f"| data | network | {' | '.join(_COLUMNS)} |", "|---" * (2 + len(_COLUMNS)) + "|"]
    for title in _titles(results):
        for kind in KINDS:
            rows = results.select(**_labels(title, kind))
            cells = [_shown(_numbers(rows, name), ",.0f" if name == "regions" else ".2f") for name in _COLUMNS.values()]
            lines.append(f"| {title} | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(values: Floats, kind: str = ".2f") -> str:
    if not len(values):
        return ""
    return f"{values.mean():{kind}} ({values.min():{kind}} to {values.max():{kind}})"


def _panels(results: Results, labels: Labels, rows: Sequence[Row]) -> list[Panel]:
    """The partitions of the first seed's network, with how regular they are."""
    from affinelens.plot import Panel

    network = results.network(labels, 0, results.last_epoch(labels))
    return [
        Panel(_partition(network, (row["first_input"], row["second_input"])), _caption(row))
        for row in rows
        if row["seed"] == 0
    ]


def _caption(row: Row) -> str:
    order = "" if row.get("grid_order") is None else f"\ngrid order {row['grid_order']:.2f}"
    return f"inputs {row['first_input']} and {row['second_input']}{order}"
