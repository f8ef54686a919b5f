"""What a study found: rows by label, seed and epoch, and the trained networks behind them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network import network as compile_network
from affinelens.study.data.samples import Samples
from affinelens.study.declaration import Configuration, Labels, Row, Sweep, combinations
from affinelens.study.setup import Setup
from affinelens.study.study_directory import StudyDirectory
from affinelens.study.training_worker import run_name


@dataclass(frozen=True)
class Cell:
    """Numbers of regions, one a seed, and the paper's beside them."""

    ours: Floats
    paper: int | None


@dataclass(frozen=True)
class Results:
    """All runs of a study; ``model`` names what built its networks, if that was not the study itself."""

    setup: Any
    seeds: int
    configurations: Sequence[Configuration]
    directory: StudyDirectory
    model: str | None = None

    @cached_property
    def runs(self) -> list[list[Row]]:
        """The rows of every run, configurations and then seeds in order."""
        names = [run_name(configuration, seed) for configuration in self.configurations for seed in range(self.seeds)]
        return [self.directory.rows(name) for name in names]

    @cached_property
    def rows(self) -> list[Row]:
        """Every row of every run."""
        return [row for run in self.runs for row in run]

    @property
    def last_epoch(self) -> int:
        setup: Setup = self.setup
        return setup.epochs[-1]

    def last_epoch_of(self, labels: Mapping[str, Any]) -> int:
        """When the training of a configuration ended."""
        setup: Setup = self.configuration(labels).adapted(self.setup)
        return setup.epochs[-1]

    def select(self, **labels: Any) -> list[Row]:
        """Rows with these labels, of which the epoch is one: the last, if none is given."""
        wanted = {"epoch": self.last_epoch, **labels}
        return [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]

    def regions(self, **labels: Any) -> Floats:
        """The number of regions, one a seed; after the last epoch, if none is given."""
        return np.array([row["regions"] for row in self.select(**labels)], dtype=np.float64)

    def counts(self, **values: Collection[Any]) -> Floats:
        """The number of regions by labels with some values each, an axis a label, and by seed on the last axis."""
        found = [self.regions(**labels) for labels in combinations(**values)]
        return np.reshape(found, (*map(len, values.values()), self.seeds))

    def means(self, **values: Collection[Any]) -> Floats:
        """As :meth:`counts`, with the mean over the seeds."""
        means: Floats = self.counts(**values).mean(axis=-1)
        return means

    def measured(self, sweep: Sweep) -> dict[str, list[Cell]]:
        """What was found along the lines of a sweep, by name."""
        return {
            name: [self._cell({**labels, sweep.along: place}, sweep) for place in sweep.places]
            for name, labels in sweep.lines.items()
        }

    def _cell(self, labels: Labels, sweep: Sweep) -> Cell:
        labels = {"epoch": self.last_epoch, **labels}
        return Cell(self.regions(**labels), sweep.paper(labels))

    def configuration(self, labels: Mapping[str, Any]) -> Configuration:
        """The configuration with exactly these labels."""
        return next(one for one in self.configurations if dict(one.labels) == dict(labels))

    def network(self, labels: Mapping[str, Any], seed: int, epoch: int) -> Network:
        """A trained network as it was after an epoch."""
        configuration = self.configuration(labels)
        model = configuration.build()
        run = run_name(configuration, seed)
        try:
            model.load_state_dict(self.directory.snapshot(run, epoch))
        except RuntimeError as error:
            raise AffineLensError(
                f"{self.directory.path}: the parameters of {run} after epoch {epoch} do not fit its network; remove "
                f"that run and go on with resume (--resume)"
            ) from error
        return compile_network(model.eval(), input_shape=self.samples(labels, seed).points.shape[1:])

    def samples(self, labels: Mapping[str, Any], seed: int) -> Samples:
        """What a network was trained on."""
        return self.configuration(labels).samples(seed)
