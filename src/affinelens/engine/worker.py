"""Helper processes: each searches one parent at a time and streams the children back.

Helpers are started as plain commands that connect to this process, so that a user's script needs no ``__main__``
guard. Messages are pickled between our own processes only, over a connection that both ends authenticate with a fresh
key.
"""

from __future__ import annotations

import os
import pickle
import secrets
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from typing import Any

import numpy as np

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
    connection: Any
    task: Task | None = None


class Pool:
    """Helper processes for one walk. Without helpers every method is a no-op, and the caller does all the work."""

    def __init__(self, problem: Problem, facets: bool) -> None:
        self._problem = problem
        self._facets = facets
        self._helpers: list[_Helper] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        self._admission: _Admission | None = None

    def start(self, count: int) -> None:
        """Start helpers, which join when they are ready; if the system does not allow any, go on without."""
        welcome = pickle.dumps((self._problem.network, self._problem.frame, self._facets))
        try:
            self._admission = _Admission(welcome, count, self._helpers)
            self._processes = [self._admission.launch() for _ in range(count)]
        except OSError:
            self.close()

    @property
    def busy(self) -> bool:
        return any(helper.task is not None for helper in self._helpers)

    @property
    def idle(self) -> bool:
        return any(helper.task is None for helper in self._helpers)

    def give(self, task: Task, returned: list[Task]) -> None:
        """Hand a task to an idle helper; if the helper has died, the task is returned."""
        helper = next(helper for helper in self._helpers if helper.task is None)
        helper.task = task
        try:
            helper.connection.send((task.cell, task.received))
        except OSError:
            self._lose(helper, returned)

    def collect(self, returned: list[Task], timeout: float) -> tuple[list[tuple[Place, Cell]], Tally]:
        """Children that have arrived; the task of a helper that died is returned."""
        children: list[tuple[Place, Cell]] = []
        tally = Tally()
        if not self._helpers:
            return children, tally
        ready = wait([helper.connection for helper in self._helpers], timeout)
        for helper in [h for h in self._helpers if h.connection in ready]:
            try:
                cells, finished = helper.connection.recv()
            except (EOFError, OSError):
                self._lose(helper, returned)
                continue
            if helper.task is None:
                continue
            for cell in cells:
                children.append(((*helper.task.place, helper.task.received), cell))
                helper.task.received += 1
            if finished is not None:
                tally.add(finished)
                helper.task = None
        return children, tally

    def _lose(self, helper: _Helper, returned: list[Task]) -> None:
        """Go on without a helper; what it was working on, less what arrived, is returned."""
        self._helpers.remove(helper)
        helper.connection.close()
        if helper.task is not None:
            returned.append(helper.task)

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


class _Admission:
    """Lets helpers in, from a thread, because they need a while to start; each gets the problem as its welcome."""

    def __init__(self, welcome: bytes, count: int, helpers: list[_Helper]) -> None:
        self._welcome = welcome
        self._missing = count
        self._helpers = helpers
        self._key = secrets.token_hex(32)
        self._listener = Listener(authkey=self._key.encode())
        self._closed = False
        self._thread = threading.Thread(target=self._admit, daemon=True)
        self._thread.start()

    def launch(self) -> subprocess.Popen[bytes]:
        return _launch(str(self._listener.address), self._key)

    def _admit(self) -> None:
        with self._listener:
            while self._missing and not self._closed:
                try:
                    connection = self._listener.accept()
                    if not self._closed:
                        connection.send_bytes(self._welcome)
                        self._helpers.append(_Helper(connection))
                        self._missing -= 1
                except (OSError, EOFError, AuthenticationError):
                    continue

    def close(self) -> None:
        """Stop admitting: a last connection, our own, wakes the thread up."""
        self._closed = True
        if self._thread.is_alive():
            with suppress(OSError, EOFError):
                Client(self._listener.address, authkey=self._key.encode()).close()
            self._thread.join(timeout=5.0)


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
        network, frame, facets = pickle.loads(connection.recv_bytes())
        problem = Problem(network, frame)
        solver = Solver()
        with np.errstate(all="ignore"):
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
