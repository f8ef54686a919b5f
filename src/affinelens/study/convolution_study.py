"""Convolutional networks have more regular partitions than plain ones (the paper's Section 4.5, Figures 5 and 8).

A network is looked at on planes: two inputs drawn at random vary over [-1, 1], all others are 0.5. Inputs are what the
network is shown, pixels less the data set's mean over its deviation, so that the plane is one of the paper's A_0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from torch import nn

from affinelens.api import enumerate as enumerate_regions
from affinelens.array_types import Floats
from affinelens.domain import Slice
from affinelens.network import Network
from affinelens.region_set import RegionSet
from affinelens.study.data import cifar10, digits, mnist
from affinelens.study.data.image_sets import find_image_sets, image_set
from affinelens.study.data.images import CLASSES
from affinelens.study.data.samples import Samples
from affinelens.study.declaration import Claim, Configuration, Figures, Row, Study
from affinelens.study.image_architectures import image_mlp, lenet, strided_cnn
from affinelens.study.results import Results
from affinelens.study.setup import PAPER, Setup, choice

MLP, CNN = "MLP", "CNN"
_TRAIN, _TEST = "train", "test"
_OTHERS_AT = 0.5
# How many images there are to train on, and for how many epochs the paper does so.
_ALL_IMAGES = {cifar10.TITLE: 50_000, mnist.TITLE: 60_000}
_PAPER_EPOCHS = {cifar10.TITLE: 100, mnist.TITLE: 50}
AUTHORS = "as in the authors' experiments"


@dataclass(frozen=True, kw_only=True)
class ConvolutionSetup(Setup):
    epochs: tuple[int, ...] = choice((100,), f"CIFAR-10: {PAPER}; the digits likewise")
    mnist_epochs: tuple[int, ...] = choice((50,), f"MNIST: {PAPER}")
    samples: int = choice(200, "not used in this study: all images are")
    planes: int = choice(4, "how many pairs of inputs are drawn for each seed; both networks get the same")
    cifar10_mlp: tuple[int, ...] = choice((512, 256, 128), AUTHORS)
    cifar10_channels: tuple[int, ...] = choice((16, 32, 64), AUTHORS)
    cifar10_hidden: int = choice(128, f"{AUTHORS}; the one average pool comes after the last convolution")
    mnist_mlp: tuple[int, ...] = choice((120, 84), "the linear layers of LeNet-5, on the pixels themselves")
    leaky_slope: float = choice(0.01, "torch's default for LeakyReLU")


def _configurations(setup: ConvolutionSetup, data: Path | None) -> list[Configuration]:
    made = []
    for title, folder in find_image_sets(data).items():
        shape = image_set(title, folder).shape
        for kind, build in _builders(title, shape, setup).items():
            made.append(
                Configuration(
                    {"data": title, "network": kind},
                    build,
                    partial(_samples, title, folder, _TRAIN),
                    int(np.prod(shape)),
                    epochs=setup.mnist_epochs if title == mnist.TITLE else setup.epochs,
                    held_out=partial(_samples, title, folder, _TEST),
                )
            )
    return made


def _builders(title: str, shape: tuple[int, int, int], setup: ConvolutionSetup) -> dict[str, Callable[[], nn.Module]]:
    """The plain and the convolutional network for a data set."""
    leaky = partial(nn.LeakyReLU, setup.leaky_slope)
    if title == cifar10.TITLE:
        return {
            MLP: partial(image_mlp, shape, setup.cifar10_mlp, CLASSES, nn.ReLU, setup),
            CNN: partial(strided_cnn, shape, setup.cifar10_channels, setup.cifar10_hidden, CLASSES, nn.ReLU, setup),
        }
    # The digits have 8 x 8 pixels, of which windows of 5 x 5 would see almost all.
    kernel = 3 if title == digits.TITLE else 5
    return {
        MLP: partial(image_mlp, shape, setup.mnist_mlp, CLASSES, leaky, setup),
        CNN: partial(lenet, shape, kernel, CLASSES, leaky, setup),
    }


def _samples(title: str, folder: Path | None, part: str, seed: int = 0) -> Samples:
    """The images to train on, or those to test with, which are the same for every seed."""
    images = image_set(title, folder)
    chosen = images.test if part == _TEST else images.train
    return Samples(images.inputs(chosen), chosen.labels)


def _planes(inputs: int, setup: ConvolutionSetup, seed: int) -> list[tuple[int, int]]:
    """Pairs of inputs drawn at random, the same for every network with so many inputs."""
    generator = np.random.default_rng(seed)
    drawn = (generator.choice(inputs, 2, replace=False).tolist() for _ in range(setup.planes))
    return [(first, second) for first, second in drawn]


def _partition(network: Network, pair: tuple[int, int]) -> RegionSet:
    plane = Slice.axes(np.full(network.input_size, _OTHERS_AT), pair, -1, 1)
    return enumerate_regions(network, plane, workers=1, vertices=True)


def _measure(network: Network, configuration: Configuration, setup: Setup, seed: int) -> list[Row]:
    """A row a plane: the regions of its complete partition, stage by stage, and how regular it is."""
    assert isinstance(setup, ConvolutionSetup)
    rows = []
    for number, pair in enumerate(_planes(network.input_size, setup, seed)):
        regions = _partition(network, pair)
        cells = {f"cells_stage_{stage}": count for stage, count in enumerate(regions.layer_counts, start=1)}
        found = regions.regularity().to_json() if len(regions) > 1 else {}
        rows.append(
            {
                "plane": number,
                "first_input": pair[0],
                "second_input": pair[1],
                "regions": len(regions),
                **cells,
                **found,
            }
        )
    return rows


def _titles(results: Results) -> list[str]:
    return list(dict.fromkeys(str(one.labels["data"]) for one in results.configurations))


def _last_rows(results: Results, title: str, kind: str) -> list[Row]:
    """The rows of a network at the end of its training, seeds and then planes in order."""
    epoch = results.last_epoch_of({"data": title, "network": kind})
    return results.select(epoch=epoch, data=title, network=kind)


def _numbers(rows: Sequence[Row], name: str) -> Floats:
    return np.array([row[name] for row in rows if row.get(name) is not None], dtype=np.float64)


def _claims(setup: ConvolutionSetup, results: Results) -> list[Claim]:
    return [_claim(results, title) for title in _titles(results)]


def _claim(results: Results, title: str) -> Claim:
    """Holds if the CNN's mean over planes is the higher one with every seed."""
    plain, convolved = (_last_rows(results, title, kind) for kind in (MLP, CNN))
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
    shape = results.samples({"data": rows[0]["data"], "network": MLP}, 0).points.shape[1:]
    apart = [_pixels_apart(row, shape) for row in rows]
    which = "the other" if len(rows) == 1 else "the others"
    return f" (on {which} the two pixels are {' and '.join(map(str, sorted(apart)))} apart)"


def _pixels_apart(row: Row, shape: Sequence[int]) -> int:
    """The larger of the distances in rows and in columns between the two pixels that vary."""
    first, second = (np.unravel_index(row[name], shape) for name in ("first_input", "second_input"))
    return max(abs(int(a) - int(b)) for a, b in zip(first[1:], second[1:], strict=True))


def _notes(results: Results) -> list[str]:
    titles = _titles(results)
    missing = [title for title in _ALL_IMAGES if title not in titles]
    left_out = [] if digits.TITLE in titles else [f"{title} was not found and is left out." for title in missing]
    return [*(_data_note(results, title) for title in titles), *left_out, _MEASURE, _table(results), _REASON]


def _data_note(results: Results, title: str) -> str:
    """How much was trained, where that is less than in the paper, and where digits stand in for other images."""
    used = len(results.samples({"data": title, "network": MLP}, 0))
    epochs = results.last_epoch_of({"data": title, "network": MLP})
    if title == digits.TITLE:
        return (
            f"No image files were given (see --data), so scikit-learn's {title} stand in for {cifar10.TITLE} and "
            f"{mnist.TITLE}: "
            f"{used:,} images to train on, {epochs} epochs."
        )
    images = f"{used:,}" if used == _ALL_IMAGES[title] else f"{used:,} of its {_ALL_IMAGES[title]:,}"
    paper = "" if epochs == _PAPER_EPOCHS[title] else f", where the paper has {_PAPER_EPOCHS[title]}"
    return f"{title}: trained on {images} images for {epochs} epochs{paper}."


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


def _table(results: Results) -> str:
    """Means over all seeds and planes, with the smallest and the largest."""
    lines = [f"| data | network | {' | '.join(_COLUMNS)} |", "|---" * (2 + len(_COLUMNS)) + "|"]
    for title in _titles(results):
        for kind in (MLP, CNN):
            rows = _last_rows(results, title, kind)
            cells = [_shown(_numbers(rows, name), ",.0f" if name == "regions" else ".2f") for name in _COLUMNS.values()]
            lines.append(f"| {title} | {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _shown(values: Floats, kind: str = ".2f") -> str:
    if not len(values):
        return ""
    return f"{values.mean():{kind}} ({values.min():{kind}} to {values.max():{kind}})"


def _figures(setup: ConvolutionSetup, results: Results) -> Figures:
    from affinelens.plot import Panel, partition_rows
    from affinelens.plot.repeats import repeats

    drawn = {}
    for title in _titles(results):
        rows = {}
        for kind in (MLP, CNN):
            labels = {"data": title, "network": kind}
            network = results.network(labels, 0, results.last_epoch_of(labels))
            rows[kind] = [
                Panel(_partition(network, (row["first_input"], row["second_input"])), _caption(row))
                for row in _last_rows(results, title, kind)
                if row["seed"] == 0
            ]
        drawn[f"partitions-{_file_name(title)}"] = partition_rows(rows)
    orders = {
        title: {kind: _numbers(_last_rows(results, title, kind), "grid_order") for kind in (MLP, CNN)}
        for title in _titles(results)
    }
    drawn["grid-order"] = repeats(orders, "grid order")
    return drawn


def _caption(row: Row) -> str:
    order = "" if row.get("grid_order") is None else f"\ngrid order {row['grid_order']:.2f}"
    return f"inputs {row['first_input']} and {row['second_input']}{order}"


def _file_name(title: str) -> str:
    return title.lower().replace("-", "")


STUDY = Study(
    name="convolution",
    title="Convolution: partitions of CNNs look like grids",
    source="Figures 5 and 8",
    full=ConvolutionSetup(),
    quick=ConvolutionSetup(epochs=(5,), mnist_epochs=(1,), planes=3),
    configurations=_configurations,
    tables=lambda setup: (),
    claims=_claims,
    figures=_figures,
    measure=_measure,
    notes=_notes,
    reads_data=True,
    together=False,
)
