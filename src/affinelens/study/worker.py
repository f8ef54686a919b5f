"""One network of a study: trained, saved and measured at each of its epochs, in whatever process this runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from affinelens.network.torch_following import ModuleFollower
from affinelens.study.declaration import Configuration, Measure, Row
from affinelens.study.setup import Setup
from affinelens.study.study_directory import StudyDirectory, write_rows, write_snapshot
from affinelens.study.training import accuracy, train


@dataclass(frozen=True)
class Task:
    """A configuration to train with a seed."""

    configuration: Configuration
    seed: int
    setup: Setup
    measure: Measure
    directory: StudyDirectory

    @property
    def name(self) -> str:
        return run_name(self.configuration, self.seed)


def run_name(configuration: Configuration, seed: int) -> str:
    """What the folder of a run is called."""
    return f"{configuration.name}_seed-{seed}"


def perform(task: Task, after_epoch: Callable[[], None]) -> None:
    """Train a network and write its run; the process's own random state and threads are left as they were."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=()), task.directory.new_run(task.name) as folder:
            torch.manual_seed(task.seed)
            configuration = task.configuration
            samples = configuration.samples(task.seed)
            model = configuration.build()
            follower = ModuleFollower(samples.points.shape[1:])
            rows: list[Row] = []
            for milestone in train(model, samples, task.setup, after_epoch):
                write_snapshot(folder, milestone.epoch, model.state_dict())
                started = time.perf_counter()
                network = follower.network(model)
                compiled = time.perf_counter()
                measured = task.measure(network, configuration, task.setup, task.seed)
                counted = time.perf_counter()
                held_out = (
                    {} if configuration.held_out is None
                    else {"test_accuracy": accuracy(model, configuration.held_out())}
                )  # fmt: skip
                rows += [
                    {
                        **configuration.labels, "seed": task.seed, "epoch": milestone.epoch, **found,
                        "loss": milestone.loss, "accuracy": milestone.accuracy, **held_out,
                        "training_seconds": milestone.training_seconds, "compiling_seconds": compiled - started,
                        "counting_seconds": (counted - compiled) / len(measured),
                    }
                    for found in measured
                ]  # fmt: skip
            write_rows(folder, rows)
    finally:
        torch.set_num_threads(threads)
