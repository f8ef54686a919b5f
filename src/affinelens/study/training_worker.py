"""Networks of a study: trained, saved and measured at each of its epochs, in whatever process this runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch

from affinelens.errors import AffineLensError
from affinelens.network.torch.following import ModuleFollower
from affinelens.study.data.samples import Samples
from affinelens.study.declaration import Configuration, Row, Study
from affinelens.study.study_directory import StudyDirectory
from affinelens.study.training import Milestone, accuracy, train


@dataclass(frozen=True)
class Task:
    """A configuration to train with some seeds at once."""

    configuration: Configuration
    seeds: Sequence[int]
    study: Study
    directory: StudyDirectory

    @property
    def runs(self) -> list[str]:
        """The names of the folders that come of it."""
        return list(map(self.configuration.run_name, self.seeds))


def perform(task: Task, after_epoch: Callable[[], None]) -> None:
    """Train networks and write their runs; the process's own random state and threads are left as they were."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=()), ExitStack() as stack:
            folders = [stack.enter_context(task.directory.new_run(run)) for run in task.runs]
            _train_and_measure(task, folders, after_epoch)
    except AffineLensError as error:
        raise error.located(task.configuration.name) from None
    finally:
        torch.set_num_threads(threads)


def _train_and_measure(task: Task, folders: Sequence[Path], after_epoch: Callable[[], None]) -> None:
    samples = [task.configuration.samples(seed) for seed in task.seeds]
    models = [_built(task.configuration, seed, of) for seed, of in zip(task.seeds, samples, strict=True)]
    follower = ModuleFollower(samples[0].points.shape[1:])
    rows: list[list[Row]] = [[] for _ in task.seeds]
    for milestones in train(models, samples, task.seeds, task.study, after_epoch):
        for number, (model, milestone) in enumerate(zip(models, milestones, strict=True)):
            task.directory.write_snapshot(folders[number], milestone.epoch, model.state_dict())
            rows[number] += _measured(task, task.seeds[number], model, milestone, follower)
    for folder, of_seed in zip(folders, rows, strict=True):
        task.directory.write_rows(folder, of_seed)


def _built(configuration: Configuration, seed: int, samples: Samples) -> torch.nn.Module:
    """A network that can be trained on the samples."""
    torch.manual_seed(seed)
    model = configuration.build()
    if not isinstance(model, torch.nn.Module):
        raise AffineLensError(f"model must return a torch.nn.Module, but returned {type(model).__name__}")
    kind = next((parameter.dtype for parameter in model.parameters()), None)
    if kind is None:
        raise AffineLensError("model returned a module without parameters; there is nothing to train")
    points, classes = samples.points[:2], int(samples.labels.max()) + 1
    try:
        with torch.no_grad():
            outputs = model.eval()(torch.as_tensor(points).to(kind))
    except Exception as error:  # whatever a module of the user's own raises
        reason = " ".join(str(error).split())[:200]
        raise AffineLensError(f"the network cannot take inputs of shape {points.shape[1:]} ({reason})") from error
    if outputs.ndim != 2 or len(outputs) != len(points) or outputs.shape[1] < classes:
        raise AffineLensError(
            f"the network's outputs for {len(points)} inputs have shape {tuple(outputs.shape)}; a number a class is "
            f"needed for each, as {(len(points), classes)}"
        )
    return model


def _measured(
    task: Task, seed: int, model: torch.nn.Module, milestone: Milestone, follower: ModuleFollower
) -> list[Row]:
    started = time.process_time()
    network = follower.network(model)
    compiled = time.process_time()
    rows = task.study.measure(network, task.configuration, seed)
    counted = time.process_time()
    held_out = task.configuration.held_out
    tested = {} if held_out is None else {"test_accuracy": accuracy(model, held_out())}
    return [
        {
            **task.configuration.labels, "seed": seed, "epoch": milestone.epoch, **row,
            "loss": milestone.loss, "accuracy": milestone.accuracy, **tested,
            "training_seconds": milestone.training_seconds, "compiling_seconds": compiled - started,
            "counting_seconds": (counted - compiled) / len(rows),
        }
        for row in rows
    ]  # fmt: skip
