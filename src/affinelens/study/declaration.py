"""What a study is: configurations to train, what to measure of each, and how to present what was found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from affinelens.api import count
from affinelens.array_types import Bools
from affinelens.domain import Box
from affinelens.network import Network
from affinelens.study.data.samples import Samples
from affinelens.study.setup import Setup, SomeSetup

if TYPE_CHECKING:
    from torch import nn

    from affinelens.study.results import Results

Row = dict[str, Any]
Labels = Mapping[str, str | int]
# Matplotlib's figures by file name, without an ending; processes that only train do not load it.
Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Configuration:
    """One network of a study, trained once a seed.

    ``labels`` tell it from the others and are columns of the table. ``build`` and ``samples`` are called in other
    processes, so they are functions of a module, or ``functools.partial`` of such. ``inputs`` says how many it takes.
    ``epochs`` are its own, where they differ from the set-up's. If samples are ``held_out``, the share of right answers
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

    def adapted(self, setup: SomeSetup) -> SomeSetup:
        """The set-up with this configuration's own epochs, if it has any."""
        return replace(setup, epochs=self.epochs) if self.epochs else setup

    @property
    def name(self) -> str:
        """The labels as a word that can be part of a file's name."""
        return "_".join(f"{label}-{value}".replace(" ", "-") for label, value in self.labels.items())


Measure = Callable[[Network, Configuration, Setup, int], list[Row]]


def count_regions(network: Network, configuration: Configuration, setup: Setup, seed: int) -> list[Row]:
    """The usual measure: one row with the exact number of regions."""
    return [{"regions": count(network, configuration.domain, workers=1)}]


def combinations(**values: Collection[Any]) -> list[dict[str, Any]]:
    """All labels with one of the values each; the last varies fastest."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def lines(name: str, **values: Collection[Any]) -> dict[str, Labels]:
    """The combinations of labels by name, in which they stand for their values, as in ``"{width} units"``."""
    return {name.format(**labels): labels for labels in combinations(**values)}


def _no_number(labels: Labels) -> int | None:
    return None


@dataclass(frozen=True)
class Sweep:
    """Networks in lines along one label, such as the depth or the epoch: the curves of a panel, or the rows of a table.

    ``lines`` are the labels that the networks of a line share, by its name. ``paper`` is given all labels of a network,
    with the epoch, and returns the number that the paper prints for it, if there is one.
    """

    title: str
    along: str
    places: Sequence[int]
    lines: Mapping[str, Labels]
    paper: Callable[[Labels], int | None] = _no_number


@dataclass(frozen=True)
class PaperTable(Sweep):
    """A table as the paper lays it out: ``columns`` names a column after its place."""

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


@dataclass(frozen=True)
class Study:
    """A study of the paper's Section 4.

    ``quick`` is the same in minutes. Everything is said of a set-up; ``configurations`` takes the folder given for data
    as well, which only a study that ``reads_data`` is given. ``notes`` say what else one must know to read the report.
    With ``together`` a configuration's networks of all seeds are trained as one stack, which is faster; they must be
    made of linear layers, batch norms and activations.
    """

    name: str
    title: str
    source: str
    full: Setup
    quick: Setup
    configurations: Callable[[Any, Path | None], Sequence[Configuration]]
    tables: Callable[[Any], Sequence[PaperTable]]
    claims: Callable[[Any, Results], Sequence[Claim]]
    figures: Callable[[Any, Results], Figures]
    measure: Measure = count_regions
    notes: Callable[[Results], Sequence[str]] = lambda results: ()
    reads_data: bool = False
    together: bool = True
