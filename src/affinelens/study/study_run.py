"""Running a study: train what is not trained yet, then write the table, the figures and the report."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affinelens.api import checked_limits
from affinelens.errors import AffineLensError, MissingExtraError
from affinelens.walk import Limits

if TYPE_CHECKING:
    from torch import nn

    from affinelens.study.declaration import Configuration, Study
    from affinelens.study.results import Results

STUDIES = {
    "width": "one hidden layer of 16, 32 and 64 units, 2 to 5 inputs (Table 1)",
    "depth": "2 to 10 layers of 16, 32 and 64 units in 2-D, 2 to 4 layers in 3-D and 4-D (Figure 3, Table 2)",
    "layers": "five layers of 32 units, each widened in turn, during training (Figure 4)",
    "convolution": "MLP against CNN on CIFAR-10 and MNIST, or on small digits (Figures 5 and 8)",
    "residual": "2, 3 and 4 residual blocks, with and without skips, during training (Table 3)",
    "activation": "ReLU and LeakyReLU: regions and the decision boundary during training (Figure 7)",
}


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: networks and epochs done and to do in this call, seconds since it began, and what it does."""

    runs: int
    all_runs: int
    epochs: int
    all_epochs: int
    seconds: float
    note: str = ""


def names() -> tuple[str, ...]:
    """The names of the studies."""
    return tuple(STUDIES)


def run(
    name: str,
    directory: str | Path,
    *,
    seeds: int = 3,
    quick: bool = False,
    resume: bool = False,
    data: str | Path | None = None,
    model: Callable[[Configuration], nn.Module] | None = None,
    workers: int | None = None,
    executor: Any = None,
    progress: Callable[[StudyProgress], None] | None = None,
    **choices: Any,
) -> Path:
    """Run one of the paper's studies and return the path of its report.

    Parameters
    ----------
    name
        One of :func:`names`.
    directory
        Where everything is written: the configuration, every trained snapshot, the table (Parquet and CSV), the figures
        (PNG and SVG) and the report.
    seeds
        How often each network is trained, with seeds 0, 1, ...
    quick
        A smaller study of the same shape, in minutes.
    resume
        Go on with a study that was stopped; the other options must be the same.
    data
        Folder of image files, for a study that reads some.
    model
        Trains your own network in place of the study's: called with a configuration, whose ``labels`` say which one it
        is, it returns a ``torch.nn.Module``. With several workers it must be a function of a module.
    workers
        Processes that train at the same time; None for one a core. The result does not depend on it.
    executor
        What trains and measures instead of processes here, one network a job: any ``concurrent.futures.Executor`` or a
        ``dask.distributed.Client`` whose workers can write to the directory. In one process, one trains at a time.
    progress
        Called several times a second with a :class:`StudyProgress`.
    **choices
        What is chosen otherwise than in the paper, such as ``epochs=(10, 100)`` or ``noise=0.1``; the report lists all.

    Examples
    --------
    >>> import affinelens.study
    >>> affinelens.study.run("activation", "activation")  # doctest: +SKIP
    """
    limits = checked_limits(workers, None, None, executor)
    study = _checked_study(name, seeds, quick, data, choices)
    from affinelens.study.report import write_report

    results = _begun(study, Path(directory), seeds, data, model, resume=resume)
    _train(results, limits, progress)
    return write_report(results)


def find(name: str) -> type[Study]:
    """A study by name."""
    if name not in STUDIES:
        raise AffineLensError(f"there is no study {name!r:.60}; take one of {', '.join(STUDIES)}")
    for package in ("torch", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError.for_extra(package, "study", f"the study {name}")
    study: type[Study] = getattr(import_module(f"affinelens.study.{name}_study"), f"{name.capitalize()}Study")
    return study


def _checked_study(name: str, seeds: Any, quick: bool, data: Any, choices: dict[str, Any]) -> Study:
    """A study with its choices, or an error that names the option that makes no sense."""
    study = find(name)
    from affinelens.study.setup import changed

    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise AffineLensError(f"seeds must be a whole number of at least 1, but got {seeds!r:.60}")
    if data is not None and not study.reads_data:
        raise AffineLensError(f"the study {name} makes its own data; leave data (--data) out")
    return changed(study(**study.quick) if quick else study(), choices)


def _begun(study: Study, directory: Path, seeds: int, data: Any, model: Any, *, resume: bool) -> Results:
    """The results of a study whose directory is made, or is there and holds the same study."""
    from affinelens.study.results import Results
    from affinelens.study.study_directory import StudyDirectory

    built_by = _model_name(model)
    configurations = study.configurations(None if data is None else Path(data))
    if model is not None:
        configurations = [replace(one, build=partial(model, one)) for one in configurations]
    asked = {"study": study.name, "seeds": seeds, "data": None if data is None else str(data), "model": built_by}
    place = StudyDirectory(directory)
    place.begin({**asked, "setup": study.to_json()}, resume=resume)
    return Results(study, seeds, configurations, place, built_by)


def _train(results: Results, limits: Limits, progress: Callable[[StudyProgress], None] | None) -> None:
    """Train and measure what is not there yet."""
    from affinelens.engine import prepare
    from affinelens.progress import telling_of_progress
    from affinelens.study.side_by_side import perform_all
    from affinelens.study.training_worker import Task

    started = time.monotonic()
    study, place = results.study, results.directory
    together = study.together and results.model is None
    groups = [range(results.seeds)] if together else [range(seed, seed + 1) for seed in range(results.seeds)]
    # The longest trainings tend to come last; begun first, they leave no process without work at the end.
    tasks = [Task(one, seeds, one.adapted(study), place) for seeds in groups for one in results.configurations[::-1]]
    left = [task for task in tasks if not all(map(place.has, task.runs))]
    networks = sum(len(task.seeds) for task in left)
    epochs = sum(len(task.seeds) * task.study.epochs[-1] for task in left)

    def tell(runs_done: int, epochs_done: int, note: str = "") -> None:
        if progress is not None:
            seconds = time.monotonic() - started
            progress(StudyProgress(runs_done, networks, epochs_done, epochs, seconds, note))

    with telling_of_progress(lambda update: tell(0, 0, update.note)):
        prepare()
    perform_all(left, limits, tell)
    tell(networks, epochs, "drawing")


def _model_name(model: Any) -> str | None:
    if model is None:
        return None
    return f"{getattr(model, '__module__', '')}.{getattr(model, '__qualname__', type(model).__qualname__)}"
