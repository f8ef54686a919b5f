"""Helper processes: each searches one parent at a time and streams the children back.

Helpers are started as plain commands that connect to this process, so that a user's script needs no ``__main__``
guard. Messages are pickled between our own processes only, over a connection that both ends authenticate with a fresh
key.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from typing import Any

from affinelens.engine.problem import Cell, Problem
from affinelens.engine.proofs import Tally
from affinelens.engine.search import sub_cells
from affinelens.engine.solver import Solver

_KEY = "AFFINELENS_WORKER_KEY"
_ADDRESS = "AFFINELENS_WORKER_ADDRESS"
_SEND_EVERY = 0.05
Place = tuple[int, ...]


@dataclass
class Task:
    """A parent to search, its place in the tree, and how many of its children have already arrived."""

    place: Place
    cell: Cell
    received: int = 0


@dataclass
class _Helper:
    process: subprocess.Popen[bytes]
    connection: Any
    task: Task | None = None


@dataclass
class Pool:
    """Helper processes for one walk. Without helpers every method is a no-op, and the caller does all the work."""

    problem: Problem
    facets: bool
    helpers: list[_Helper] = field(default_factory=list)

    def start(self, count: int) -> None:
        """Start helpers; if the system does not allow it, go on without."""
        key = secrets.token_hex(32)
        try:
            with Listener(authkey=key.encode()) as listener:
                processes = [_launch(str(listener.address), key) for _ in range(count)]
                for process in processes:
                    self._admit(listener, process)
        except (OSError, EOFError):
            self.close()

    def _admit(self, listener: Listener, process: subprocess.Popen[bytes]) -> None:
        connection = listener.accept()
        connection.send((self.problem.network, self.problem.frame, self.facets))
        self.helpers.append(_Helper(process, connection))

    @property
    def busy(self) -> bool:
        return any(helper.task is not None for helper in self.helpers)

    def give(self, tasks: list[Task]) -> None:
        """Hand the oldest tasks to idle helpers; they tend to hold the largest subtrees."""
        for helper in list(self.helpers):
            if helper.task is None and tasks:
                helper.task = tasks.pop(0)
                try:
                    helper.connection.send((helper.task.cell, helper.task.received))
                except OSError:
                    tasks.append(self._lose(helper))

    def collect(self, tasks: list[Task], timeout: float) -> tuple[list[tuple[Place, Cell]], Tally]:
        """Children that have arrived; the task of a helper that died goes back to the list."""
        children: list[tuple[Place, Cell]] = []
        tally = Tally()
        if not self.helpers:
            return children, tally
        ready = wait([helper.connection for helper in self.helpers], timeout)
        for helper in [h for h in self.helpers if h.connection in ready]:
            assert helper.task is not None
            try:
                cells, finished = helper.connection.recv()
            except (EOFError, OSError):
                tasks.append(self._lose(helper))
                continue
            for cell in cells:
                children.append(((*helper.task.place, helper.task.received), cell))
                helper.task.received += 1
            if finished is not None:
                tally.add(finished)
                helper.task = None
        return children, tally

    def _lose(self, helper: _Helper) -> Task:
        self.helpers.remove(helper)
        _stop(helper)
        assert helper.task is not None
        return helper.task

    def close(self) -> None:
        for helper in self.helpers:
            _stop(helper)
        self.helpers.clear()


def _stop(helper: _Helper) -> None:
    helper.connection.close()
    helper.process.kill()
    helper.process.wait()


def _launch(address: str, key: str) -> subprocess.Popen[bytes]:
    package_parent = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    environment = {
        **os.environ,
        _KEY: key,
        _ADDRESS: address,
        "PYTHONPATH": os.pathsep.join([package_parent, inherited] if inherited else [package_parent]),
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-c", "from affinelens.engine.worker import main; main()"]
    return subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)


def main() -> None:
    """What a helper process runs: search each parent it is sent, until the connection closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = Client(os.environ[_ADDRESS], authkey=os.environ[_KEY].encode())
    try:
        network, frame, facets = connection.recv()
        problem = Problem(network, frame)
        solver = Solver()
        while True:
            parent, skip = connection.recv()
            _search(connection, problem, solver, parent, skip, facets)
    except (EOFError, OSError):
        return


def _search(
    connection: Connection[Any, Any], problem: Problem, solver: Solver, parent: Cell, skip: int, facets: bool
) -> None:
    tally = Tally()
    before = solver.solved
    batch: list[Cell] = []
    sent = time.monotonic()
    for index, child in enumerate(sub_cells(problem, solver, parent, tally, facets=facets)):
        if index >= skip:
            batch.append(child)
        if time.monotonic() - sent > _SEND_EVERY:
            connection.send((batch, None))
            batch, sent = [], time.monotonic()
    tally.programs = solver.solved - before
    connection.send((batch, tally))
