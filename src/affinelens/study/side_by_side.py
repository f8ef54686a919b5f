"""Tasks in several processes at once, with progress, a clean stop, and no task begun after one that failed."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, BrokenExecutor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any

from affinelens.engine import prepare, submitted
from affinelens.errors import AffineLensError
from affinelens.study.training_worker import Task, perform
from affinelens.walk import Limits

# How often progress is told, in seconds.
_PERIOD = 0.2
# What the processes share: a count of epochs done, and whether to stop.
_shared: tuple[Any, Any]
# Held while a network that was sent here is trained.
_training = threading.Lock()


class _StoppedError(Exception):
    """The study was stopped while a network was trained."""


def perform_all(tasks: Sequence[Task], limits: Limits, tell: Callable[[int, int], None]) -> None:
    """Perform tasks on an executor, in so many processes, or in this one.

    ``tell`` is called with runs and epochs done, on an executor those of finished runs.
    """
    workers = limits.workers
    if limits.executor is not None:
        _perform_elsewhere(tasks, limits.executor, tell)
    elif workers == 1 or len(tasks) == 1:
        _perform_here(tasks, tell)
    elif tasks:
        _perform_in_processes(tasks, min(workers, len(tasks)), tell)


def _perform_here(tasks: Sequence[Task], tell: Callable[[int, int], None]) -> None:
    runs, epochs, told = 0, 0, 0.0

    def after_epoch(networks: int) -> None:
        nonlocal epochs, told
        epochs += networks
        if time.monotonic() - told >= _PERIOD:
            told = time.monotonic()
            tell(runs, epochs)

    for task in tasks:
        perform(task, partial(after_epoch, len(task.seeds)))
        runs += len(task.seeds)
    tell(runs, epochs)


def _perform_in_processes(tasks: Sequence[Task], workers: int, tell: Callable[[int, int], None]) -> None:
    _require_sendable(tasks[0])
    context = multiprocessing.get_context("spawn")
    epochs, stop = context.Value("q", 0), context.Event()
    with ProcessPoolExecutor(workers, context, _begin_process, (epochs, stop)) as executor:
        futures = {executor.submit(_perform_task, task): len(task.seeds) for task in tasks}
        try:
            _watch(futures, lambda done: tell(done, epochs.value))
        except BrokenProcessPool as error:
            raise AffineLensError(
                "a process of the study ended unexpectedly; if memory ran out, go on with resume and fewer workers "
                "(--resume --workers 1); a script that runs a study must do so under if __name__ == '__main__'"
            ) from error
        finally:
            stop.set()
            executor.shutdown(cancel_futures=True)


def _perform_elsewhere(tasks: Sequence[Task], executor: Any, tell: Callable[[int, int], None]) -> None:
    if not tasks:
        return
    _require_sendable(tasks[0])
    futures = {submitted(executor, _perform_alone, task): task for task in tasks}
    waiting = set(futures)
    try:
        while waiting:
            time.sleep(_PERIOD)
            ended = {future for future in waiting if future.done()}
            for future in ended:
                future.result()
            waiting -= ended
            done = [task for future, task in futures.items() if future not in waiting]
            runs = sum(len(task.seeds) for task in done)
            tell(runs, sum(len(task.seeds) * task.study.epochs[-1] for task in done))
    except BrokenExecutor as error:
        raise AffineLensError(
            "the executor of the study broke; what was finished is kept: go on with resume and another executor"
        ) from error
    finally:
        for future in waiting:
            future.cancel()


def _perform_alone(task: Task) -> None:
    """Perform a task that was sent here; trainings share their process's random state, so there is one at a time."""
    with _training:
        perform(task, lambda: None)


def _require_sendable(task: Task) -> None:
    try:
        pickle.dumps(task)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise AffineLensError(
            f"the network's builder cannot be sent to other processes ({reason}); give a function defined at the top "
            f"of a module, or workers=1"
        ) from error


def _watch(futures: Mapping[Future[None], int], tell: Callable[[int], None]) -> None:
    """Wait for all, or for the first that fails, and tell how many networks are done."""
    waiting: set[Future[None]] = set(futures)
    while waiting:
        ended, waiting = wait(waiting, timeout=_PERIOD, return_when=FIRST_EXCEPTION)
        for future in ended:
            future.result()
        tell(sum(networks for future, networks in futures.items() if future.done()))


def _begin_process(epochs: Any, stop: Any) -> None:
    """Load kernels, and leave Ctrl-C to the process that started this one, which then asks this one to stop."""
    global _shared
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _shared = epochs, stop
    prepare()


def _perform_task(task: Task) -> None:
    epochs, stop = _shared

    def after_epoch() -> None:
        if stop.is_set():
            raise _StoppedError
        with epochs.get_lock():
            epochs.value += len(task.seeds)

    perform(task, after_epoch)
