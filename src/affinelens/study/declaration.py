"""What a study is: configurations to train, what to measure of each, and how to present what was found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from affinelens.api import count
from affinelens.array_types import Bools
from affinelens.domain import Box
from affinelens.network import Network
from affinelens.study.data.samples import Samples, two_moons
from affinelens.study.setup import Setup, choice

if TYPE_CHECKING:
    from torch import nn

    from affinelens.study.results import Results

Row = dict[str, Any]
Labels = Mapping[str, str | int]
# Matplotlib's figures by file name, without an ending; processes that only train do not load it.
Figures = Mapping[str, Any]
SomeStudy = TypeVar("SomeStudy", bound="Study")


@dataclass(frozen=True)
class Configuration:
    """One network of a study, trained once a seed.

    ``labels`` tell it from the others and are columns of the table. ``build`` and ``samples`` are called in other
    processes, so they are functions of a module, or ``functools.partial`` of such. ``inputs`` says how many it takes.
    ``epochs`` are its own, where they differ from the study's. If samples are ``held_out``, the share of right answers
    on these is in the table too.
    """

    labels: Labels
    build: Callable[[], nn.Module]
    samples: Callable[[int], Samples]
    inputs: int
    epochs: tuple[int, ...] = ()
    held_out: Callable[[], Samples] | None = None

    @property
    def domain(self) -> Box:
        """Where regions are counted, which is the same in all of the paper."""
        return Box(-1, 1, dim=self.inputs)

    def adapted(self, study: SomeStudy) -> SomeStudy:
        """The study with this configuration's own epochs, if it has any."""
        return replace(study, epochs=self.epochs) if self.epochs else study

    @property
    def name(self) -> str:
        """The labels as a word that can be part of a file's name."""
        return "_".join(f"{label}-{value}".replace(" ", "-") for label, value in self.labels.items())

    def run_name(self, seed: int) -> str:
        """What the folder of a run is called."""
        return f"{self.name}_seed-{seed}"


def combinations(**values: Collection[Any]) -> list[dict[str, Any]]:
    """All labels with one of the values each; the last varies fastest."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def lines(name: str, **values: Collection[Any]) -> dict[str, Labels]:
    """The combinations of labels by name, in which they stand for their values, as in ``"{width} units"``.

    Values of a mapping are written as what it has for them.
    """
    written = {label: given if isinstance(given, Mapping) else {v: v for v in given} for label, given in values.items()}
    return {
        name.format(**{label: written[label][value] for label, value in labels.items()}): labels
        for labels in combinations(**values)
    }


@dataclass(frozen=True)
class Sweep:
    """Networks in lines along one label, such as the depth or the epoch: the curves of a panel, or the rows of a table.

    ``lines`` are the labels that the networks of a line share, by its name. ``paper`` is given all labels of a network,
    with the epoch, and returns the number that the paper prints for it, if there is one. A table names its columns
    after their places, as ``columns`` says.
    """

    title: str
    along: str
    places: Sequence[int]
    lines: Mapping[str, Labels]
    paper: Callable[[Labels], int | None] | None = None
    columns: str = "epoch {}"
    corner: str = ""


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper's, the cases in all of which it must be true, and the numbers that say so."""

    sentence: str
    cases: Bools | bool
    evidence: str

    @property
    def holds(self) -> bool:
        return bool(np.all(self.cases))


@dataclass(frozen=True, kw_only=True)
class Study(Setup, ABC):
    """A study of the paper's Section 4: its fields are its choices, its methods say what is done with them.

    ``quick`` are the choices with which it takes minutes. With ``together`` a configuration's networks of all seeds are
    trained as one stack, which is faster; they must be made of linear layers, batch norms and activations.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    quick: ClassVar[Mapping[str, Any]]
    reads_data: ClassVar[bool] = False
    together: ClassVar[bool] = True

    @abstractmethod
    def configurations(self, data: Path | None) -> list[Configuration]:
        """What is trained; a study that ``reads_data`` is given the folder for it, if there is one."""

    def measure(self, network: Network, configuration: Configuration, seed: int) -> list[Row]:
        """What is measured of a network at an epoch: the exact number of its regions."""
        return [{"regions": count(network, configuration.domain, workers=1)}]

    def tables(self) -> list[Sweep]:
        """The tables as the paper lays them out."""
        return []

    @abstractmethod
    def claims(self, results: Results) -> list[Claim]:
        """What the paper concludes, and whether it is so."""

    @abstractmethod
    def figures(self, results: Results) -> Figures:
        """What is drawn."""

    def notes(self, results: Results) -> list[str]:
        """What else one must know to read the report."""
        return []


@dataclass(frozen=True, kw_only=True)
class MoonsStudy(Study):
    """What studies on two moons share."""

    noise: float = choice(0.2, "deviation of the noise of two moons, as in the authors' experiments")

    @property
    def moons(self) -> Callable[[int], Samples]:
        """The samples for a seed."""
        return partial(two_moons, count=self.samples, noise=self.noise)
