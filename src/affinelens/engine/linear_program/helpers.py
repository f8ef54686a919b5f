"""Helper processes: each searches one parent at a time and streams the children back."""

from __future__ import annotations

import pickle
import subprocess
import time
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

from affinelens.engine.linear_program.cell_search import sub_cells
from affinelens.engine.linear_program.problem import Cell, Problem, Tally
from affinelens.engine.linear_program.search_state import Search, Step, Task
from affinelens.helper_process import Admission, connection_from_helper

_SEND_EVERY = 0.05


@dataclass
class _Helper:
    connection: Any
    task: Task | None = None


class Pool:
    """Helper processes for one walk. Without helpers every method is a no-op, and the caller does all the work.

    The task of a helper that died is appended to ``returned``.
    """

    def __init__(self, problem: Problem, facets: bool, returned: list[Task]) -> None:
        self._problem = problem
        self._facets = facets
        self._returned = returned
        self._helpers: list[_Helper] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._admission: Admission | None = None

    def start(self, count: int) -> None:
        """Start helpers, which join when they are ready; if the system does not allow any, go on without."""
        welcome = pickle.dumps((self._problem.network, self._problem.frame, self._facets))
        try:
            self._admission = Admission(
                __name__, welcome, count, lambda connection: self._helpers.append(_Helper(connection))
            )
            self._processes = [self._admission.launch() for _ in range(count)]
        except OSError:
            self.close()

    @property
    def tasks(self) -> list[Task]:
        """What helpers are working on."""
        return [helper.task for helper in self._helpers if helper.task is not None]

    @property
    def busy(self) -> bool:
        return any(helper.task is not None for helper in self._helpers)

    @property
    def idle(self) -> bool:
        return any(helper.task is None for helper in self._helpers)

    def give(self, task: Task) -> None:
        """Hand a task to an idle helper."""
        helper = next(helper for helper in self._helpers if helper.task is None)
        helper.task = task
        try:
            helper.connection.send((task.cell, task.search))
        except OSError:
            self._lose(helper)

    def collect(self, timeout: float) -> tuple[list[Task], Tally]:
        """Children that have arrived."""
        children: list[Task] = []
        tally = Tally()
        ready = wait([helper.connection for helper in self._helpers], timeout) if self._helpers else []
        for helper in [h for h in self._helpers if h.connection in ready]:
            try:
                steps, finished = helper.connection.recv()
            except (EOFError, OSError):
                self._lose(helper)
                continue
            if helper.task is None:
                continue
            children += [helper.task.child(step) for step in steps]
            if finished is not None:
                tally.add(finished)
                helper.task = None
        return children, tally

    def _lose(self, helper: _Helper) -> None:
        """Go on without a helper; what it was working on, less what arrived, is returned."""
        self._helpers.remove(helper)
        helper.connection.close()
        if helper.task is not None:
            self._returned.append(helper.task)

    def close(self) -> None:
        if self._admission is not None:
            self._admission.close()
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
        for helper in self._helpers:
            helper.connection.close()
        self._helpers.clear()


def main() -> None:
    """What a helper process runs: search each parent it is sent, until the connection closes or cannot be made."""
    try:
        connection = connection_from_helper()
        network, frame, facets = pickle.loads(connection.recv_bytes())
        problem = Problem(network, frame)
        with np.errstate(all="ignore"):
            while True:
                parent, search = connection.recv()
                _search(connection, problem, parent, search, facets)
    except (EOFError, OSError, AuthenticationError):
        return


def _search(connection: Connection[Any, Any], problem: Problem, parent: Cell, search: Search, facets: bool) -> None:
    problem.tally = Tally()
    before = problem.solver.solved
    batch: list[Step] = []
    sent = time.monotonic()
    for step in sub_cells(problem, parent, search, facets=facets):
        batch.append(step)
        if time.monotonic() - sent > _SEND_EVERY:
            connection.send((batch, None))
            batch, sent = [], time.monotonic()
    problem.tally.programs = problem.solver.solved - before
    connection.send((batch, problem.tally))
