"""What a study is: configurations to train, what to measure of each, and how to present what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affinelens.api import count
from affinelens.domain import Domain
from affinelens.network import Network
from affinelens.study.data.samples import Samples
from affinelens.study.setup import Setup, SomeSetup

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import nn

    from affinelens.study.results import Results

Row = dict[str, Any]
Labels = Mapping[str, str | int]


@dataclass(frozen=True)
class Configuration:
    """One network of a study, trained once a seed.

    ``labels`` tell it from the others and are columns of the table. ``build`` and ``samples`` are called in other
    processes, so they are functions of a module, or ``functools.partial`` of such. ``epochs`` are its own, where they
    differ from the set-up's. If samples are ``held_out``, the share of right answers on these is in the table too.
    """

    labels: Labels
    build: Callable[[], nn.Module]
    samples: Callable[[int], Samples]
    domain: Domain
    epochs: tuple[int, ...] = ()
    held_out: Callable[[], Samples] | None = None

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


@dataclass(frozen=True)
class Cell:
    """A number of the paper's, and which of ours belongs beside it."""

    labels: Labels
    epoch: int
    paper: int | None = None


@dataclass(frozen=True)
class PaperTable:
    """A table as the paper lays it out: a name and cells a row."""

    caption: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell]]]


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper's, whether it holds here, and the numbers that say so."""

    sentence: str
    holds: bool
    evidence: str


@dataclass(frozen=True)
class Study:
    """A study of the paper's Section 4.

    ``quick`` is the same in minutes. ``configurations`` takes the set-up and the folder given for data, which only a
    study that ``reads_data`` is given. ``figures`` are by file name, without an ending. ``notes`` say what else one
    must know to read the report. With ``together`` a configuration's networks of all seeds are trained as one stack,
    which is faster; they must be made of linear layers, batch norms and activations.
    """

    name: str
    title: str
    source: str
    full: Setup
    quick: Setup
    configurations: Callable[[Any, Path | None], Sequence[Configuration]]
    tables: Callable[[Results], Sequence[PaperTable]]
    claims: Callable[[Results], Sequence[Claim]]
    figures: Callable[[Results], Mapping[str, Figure]]
    measure: Measure = count_regions
    notes: Callable[[Results], Sequence[str]] = lambda results: ()
    reads_data: bool = False
    together: bool = False
