"""What a study found: rows by label, seed and epoch, and the trained networks behind them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from affinelens.array_types import Floats
from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network import network as compile_network
from affinelens.study.data.samples import Samples
from affinelens.study.declaration import Configuration, Labels, Row, Study, Sweep, combinations
from affinelens.study.study_directory import StudyDirectory


@dataclass(frozen=True)
class Cell:
    """Numbers of regions, one a seed, and the paper's beside them."""

    ours: Floats
    paper: int | None


@dataclass(frozen=True)
class Results:
    """All runs of a study; ``model`` names what built its networks, if that was not the study itself."""

    study: Study
    seeds: int
    configurations: Sequence[Configuration]
    directory: StudyDirectory
    model: str | None = None

    @cached_property
    def runs(self) -> list[list[Row]]:
        """The rows of every run, configurations and then seeds in order."""
        return [self.directory.rows(one.run_name(seed)) for one in self.configurations for seed in range(self.seeds)]

    @cached_property
    def rows(self) -> list[Row]:
        """Every row of every run."""
        return [row for run in self.runs for row in run]

    def last_epoch(self, labels: Labels) -> int:
        """When the training of a configuration ended."""
        return self.configuration(labels).adapted(self.study).epochs[-1]

    def select(self, **labels: Any) -> list[Row]:
        """Rows with these labels, of which the epoch is one: the last of their run, if none is given."""
        return [
            row
            for run in self.runs
            for row in run
            if all(row.get(name) == value for name, value in {"epoch": run[-1]["epoch"], **labels}.items())
        ]

    def regions(self, **labels: Any) -> Floats:
        """The number of regions, one a seed."""
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
        labels = {"epoch": self.study.epochs[-1], **labels}
        return Cell(self.regions(**labels), None if sweep.paper is None else sweep.paper(labels))

    def configuration(self, labels: Labels) -> Configuration:
        """The configuration with exactly these labels."""
        return next(one for one in self.configurations if dict(one.labels) == dict(labels))

    def network(self, labels: Labels, seed: int, epoch: int) -> Network:
        """A trained network as it was after an epoch."""
        configuration = self.configuration(labels)
        model = configuration.build()
        run = configuration.run_name(seed)
        try:
            model.load_state_dict(self.directory.snapshot(run, epoch))
        except RuntimeError as error:
            raise AffineLensError(
                f"{self.directory.path}: the parameters of {run} after epoch {epoch} do not fit its network; remove "
                f"that run and go on with resume (--resume)"
            ) from error
        return compile_network(model.eval(), input_shape=self.samples(labels, seed).points.shape[1:])

    def samples(self, labels: Labels, seed: int) -> Samples:
        """What a network was trained on."""
        return self.configuration(labels).samples(seed)
