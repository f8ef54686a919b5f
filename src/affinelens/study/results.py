"""What a study found: rows by label, seed and epoch, and the trained networks behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.errors import AffineLensError
from affinelens.network import Network
from affinelens.network import network as compile_network
from affinelens.study.data.samples import Samples
from affinelens.study.declaration import Configuration, Row
from affinelens.study.setup import Setup
from affinelens.study.study_directory import StudyDirectory
from affinelens.study.training_worker import run_name


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

    def select(self, epoch: int | None = None, **labels: Any) -> list[Row]:
        """Rows with these labels after an epoch, the last one if none is given."""
        wanted = {"epoch": self.last_epoch if epoch is None else epoch, **labels}
        return [row for row in self.rows if all(row.get(name) == value for name, value in wanted.items())]

    def regions(self, epoch: int | None = None, **labels: Any) -> NDArray[np.float64]:
        """The number of regions, one a seed."""
        return np.array([row["regions"] for row in self.select(epoch, **labels)], dtype=np.float64)

    def mean(self, epoch: int | None = None, **labels: Any) -> float:
        """The mean number of regions over the seeds."""
        return float(self.regions(epoch, **labels).mean())

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
