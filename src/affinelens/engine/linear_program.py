"""Algorithm 1 of the paper: from the domain down through the stages, each parent searched once.

Parents wait on a stack, the deepest last found first, so that finished regions appear early and memory stays small.
Helper processes take the oldest parents once the walk has lasted a while. Every cell carries its place in the tree of
parents; sorting by place gives the same order however many processes took part.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.domain import Frame
from affinelens.engine.outcome import Certificate, Limits, Outcome, Progress, ProgressFunction, Status
from affinelens.engine.problem import Cell, Problem
from affinelens.engine.proofs import Conditions, Ledger, Tally
from affinelens.engine.search import sub_cells
from affinelens.engine.solver import Solver
from affinelens.engine.worker import Pool, Task
from affinelens.network import Network

NAME = "linear_program"
_HELPERS_AFTER = 1.0
_REPORT_EVERY = 0.1
Place = tuple[int, ...]


def run(
    network: Network,
    frame: Frame,
    limits: Limits,
    *,
    facets: bool = True,
    keep: bool = True,
    progress: ProgressFunction | None = None,
) -> Outcome:
    """Enumerate every region; with ``keep`` off, only count (facets of the last stage are then not decided)."""
    return _Walk(Problem(network, frame), limits, facets and keep, keep, progress).run()


class _Walk:
    def __init__(
        self, problem: Problem, limits: Limits, facets: bool, keep: bool, progress: ProgressFunction | None
    ) -> None:
        self._problem = problem
        self._limits = limits
        self._facets = facets
        self._keep = keep
        self._progress = progress
        self._depth = len(problem.network.stages)
        self._counts = [0] * max(self._depth, 1)
        self._regions: list[tuple[Place, Cell]] = []
        self._tasks: list[Task] = []
        self._tally = Tally()
        self._solver = Solver()
        self._pool = Pool(problem, facets)
        self._started = time.monotonic()
        self._reported = self._started
        self._helpers_started = False
        self._interrupted = False
        self._status: Status | None = None

    def run(self) -> Outcome:
        restore = self._catch_interrupt()
        try:
            root = root_cell(self._problem, self._solver, self._tally)
            if self._depth == 0:
                self._accept((0,), root)
            else:
                self._tasks.append(Task((), root))
            while self._status is None and (self._tasks or self._pool.busy):
                self._pool.give(self._tasks)
                if self._tasks:
                    self._search(self._tasks.pop())
                else:
                    self._collect(timeout=_REPORT_EVERY)
                    self._check()
        finally:
            self._pool.close()
            restore()
        return self._outcome()

    def _search(self, task: Task) -> None:
        """Search one parent in this process, looking after helpers and limits between its children."""
        children = sub_cells(self._problem, self._solver, task.cell, self._tally, facets=self._facets)
        found: list[Task] = []
        for index, child in enumerate(children):
            if index >= task.received:
                self._place((*task.place, index), child, found)
            self._collect(timeout=0.0)
            self._check()
            if self._status is not None:
                break
            self._pool.give(found)
        self._tasks.extend(reversed(found))

    def _collect(self, timeout: float) -> None:
        children, tally = self._pool.collect(self._tasks, timeout)
        self._tally.add(tally)
        found: list[Task] = []
        for place, child in children:
            self._place(place, child, found)
        self._tasks.extend(reversed(found))

    def _place(self, place: Place, child: Cell, found: list[Task]) -> None:
        if self._status is not None:
            return
        if child.depth == self._depth:
            self._accept(place, child)
        else:
            self._counts[child.depth - 1] += 1
            found.append(Task(place, child))

    def _accept(self, place: Place, region: Cell) -> None:
        if self._limits.max_regions is not None and self._counts[-1] >= self._limits.max_regions:
            self._status = Status.REGION_LIMIT
            return
        self._counts[-1] += 1
        if self._keep:
            self._regions.append((place, region))

    def _check(self) -> None:
        """Limits, interrupts, progress, and the start of helpers."""
        now = time.monotonic()
        elapsed = now - self._started
        if self._status is not None:
            return
        if self._interrupted:
            self._status = Status.CANCELLED
        elif self._limits.time_limit is not None and elapsed > self._limits.time_limit:
            self._status = Status.TIME_LIMIT
        elif elapsed > _HELPERS_AFTER and not self._helpers_started and self._limits.workers > 1:
            self._helpers_started = True
            self._pool.start(self._limits.workers - 1)
        if self._progress is not None and now - self._reported > _REPORT_EVERY:
            self._reported = now
            self._progress(Progress(self._counts[-1], tuple(self._counts), len(self._tasks), elapsed))

    def _catch_interrupt(self) -> Callable[[], object]:
        """Make the first Ctrl-C a clean stop; a second one acts as usual."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        previous = signal.getsignal(signal.SIGINT)

        def stop(number: int, frame: FrameType | None) -> None:
            self._interrupted = True
            signal.signal(signal.SIGINT, previous)

        signal.signal(signal.SIGINT, stop)
        return lambda: signal.signal(signal.SIGINT, previous)

    def _outcome(self) -> Outcome:
        status = self._status or Status.COMPLETE
        self._regions.sort(key=lambda item: item[0])
        cells = [cell for _, cell in self._regions]
        network = self._problem.network
        sizes = [len(cell.facets) for cell in cells]
        empty = np.zeros(0, dtype=np.int64)
        tally = self._tally
        decided = tally.by_rounding_bound + tally.by_reuse + tally.by_exact_arithmetic
        programs = self._solver.solved + tally.programs
        certificate = Certificate(
            decided,
            tally.by_rounding_bound,
            tally.by_reuse,
            tally.by_exact_arithmetic,
            programs,
            status is Status.COMPLETE,
        )
        return Outcome(
            NAME,
            status,
            certificate,
            tuple(self._counts),
            time.monotonic() - self._started,
            np.array([cell.pattern for cell in cells])
            .astype(network.pattern_type)
            .reshape(len(cells), network.choice_offsets[-1]),
            np.array([cell.point for cell in cells], dtype=np.float64).reshape(len(cells), self._problem.dim),
            np.concatenate([empty, *(cell.facets for cell in cells)]),
            np.concatenate([empty.astype(np.int8), *(cell.signs for cell in cells)]),
            np.cumsum([0, *sizes], dtype=np.int64),
            {i: cell.exact_point for i, cell in enumerate(cells) if cell.exact_point is not None},
        )


def root_cell(problem: Problem, solver: Solver, tally: Tally) -> Cell:
    """The domain as a cell: its Chebyshev centre and its irredundant constraints."""
    count = problem.domain_count
    centre = 0.5 * (problem.frame.lower + problem.frame.upper)
    rows = problem.rows([], np.arange(count), centre)
    scale = float((problem.frame.upper - problem.frame.lower).max())

    def exact() -> ExactMatrix:
        return problem.frame.rows

    ledger = Ledger(problem, solver, tally, centre, scale, rows, exact, count, count)
    conditions = Conditions.all_positive(count)
    witness = ledger.find(conditions)
    assert witness is not None  # the frame is full-dimensional
    facets = np.arange(count)
    if not problem.frame.irredundant:
        facets = np.array([i for i in range(count) if ledger.find(conditions.flipped(i)) is not None])
    pattern = np.zeros(0, dtype=problem.network.pattern_type)
    return Cell(0, pattern, facets, np.ones(len(facets), dtype=np.int8), witness.point, witness.exact)
