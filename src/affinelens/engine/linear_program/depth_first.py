"""Algorithm 1 of the paper: from the domain down through the stages, each parent searched once.

The walk goes depth first, so that finished regions appear early and only the parents on the way down are open. Once it
has lasted a while, helper processes are given the next children of the topmost open parents. Every cell carries its
place in the tree of parents; sorting by place gives the same order however many processes took part.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import FrameType
from typing import Any

import numpy as np

from affinelens.arithmetic import ExactMatrix
from affinelens.arithmetic.highs import Solver
from affinelens.engine.linear_program import interior_point
from affinelens.engine.linear_program.cell_search import sub_cells
from affinelens.engine.linear_program.helpers import Place, Pool, Task
from affinelens.engine.linear_program.problem import Cell, Problem
from affinelens.engine.linear_program.proofs import Conditions, Ledger, Tally
from affinelens.walk import Certificate, Columns, Facets, Job, Outcome, Progress, Request, Sink, Status

_HELPERS_AFTER = 1.0
_REPORT_EVERY = 0.1
# Regions that are handed to a sink together, at least.
_CHUNK = 256


def walk(name: str, request: Request) -> Outcome:
    """Enumerate every region or, if only a count is asked for, do not decide the facets of the last stage."""
    with np.errstate(all="ignore"):  # an overflow makes a bound infinite, which leaves the decision to rationals
        problem = Problem(request.network, request.frame)
        if problem.box_mode:
            interior_point.prepare()
        return _Walk(name, problem, request).run()


class _Stopped(Exception):  # noqa: N818 (it is not an error)
    """A limit was reached in the middle of a search."""


@dataclass
class _Open:
    """A parent being searched: its place, its children still to come, and how many have been taken."""

    place: Place
    cell: Cell
    children: Iterator[Cell]
    taken: int = 0

    @property
    def task(self) -> Task:
        return Task(self.place, self.cell, self.taken)


class _Walk:
    def __init__(self, name: str, problem: Problem, request: Request) -> None:
        self._name = name
        self._problem = problem
        self._asked = request
        self._limits = request.limits
        self._facets = request.wants_facets
        self._progress = request.progress
        self._depth = len(problem.network.stages)
        self._counts = [0] * max(self._depth, 1)
        self._regions: list[tuple[Place, Cell]] = []
        self._chunks: list[Any] = []
        self._open: list[_Open] = []
        self._returned: list[Task] = [] if request.begins else [job.state for job in request.open_work]
        self._tally = Tally()
        self._solver = Solver(self._checkpoint)
        self._pool = Pool(problem, self._facets)
        self._started = time.monotonic()
        self._reported = self._started
        self._helpers_started = False
        self._interrupted = False
        self._status: Status | None = None

    def run(self) -> Outcome:
        restore = self._catch_interrupt()
        try:
            if self._asked.begins:
                self._enter((), root_cell(self._problem, self._solver, self._tally))
            while self._open or self._returned or self._pool.busy:
                while self._returned:
                    self._take_up(self._returned.pop())
                self._give()
                if self._open:
                    self._take(self._open[-1])
                self._collect(0.0 if self._open or self._returned else _REPORT_EVERY)
                if self._asked.sink is not None and len(self._regions) >= _CHUNK:
                    self._hand_on(self._asked.sink)
                self._checkpoint()
        except _Stopped:
            pass
        finally:
            self._returned += self._pool.tasks
            self._pool.close()
            restore()
        return self._outcome()

    def _take_up(self, task: Task) -> None:
        """Search a parent, or go on where its search was broken off; or accept a region."""
        if task.cell.depth == self._depth:
            self._accept(task.place, task.cell)
        else:
            children = self._children(task.cell, task.received)
            self._open.append(_Open(task.place, task.cell, children, task.received))

    def _hand_on(self, sink: Sink, *, everything: bool = False) -> None:
        """Give the sink those regions that none still to be found can come before; at the end, all."""
        self._regions.sort(key=lambda item: item[0])
        ready = len(self._regions) if everything else bisect_left(self._regions, self._frontier, key=lambda r: r[0])
        if ready >= _CHUNK or everything:
            self._chunks.append(sink(self._columns([cell for _, cell in self._regions[:ready]])))
            del self._regions[:ready]

    @property
    def _frontier(self) -> Place:
        """The first place at which a region may still be found."""
        waiting = [parent.task for parent in self._open] + self._returned + self._pool.tasks
        return min((task.next_place for task in waiting), default=(sys.maxsize,))

    def _children(self, cell: Cell, skip: int = 0) -> Iterator[Cell]:
        return islice(sub_cells(self._problem, self._solver, cell, self._tally, facets=self._facets), skip, None)

    def _take(self, parent: _Open) -> None:
        """Take a parent's next child and go into it; close the parent if there is none."""
        found = self._next_child(parent)
        if found is not None:
            self._count(found[1])
            self._enter(*found)

    def _next_child(self, parent: _Open) -> tuple[Place, Cell] | None:
        child = next(parent.children, None)
        if child is None:
            self._open.remove(parent)
            return None
        parent.taken += 1
        return (*parent.place, parent.taken - 1), child

    def _enter(self, place: Place, cell: Cell) -> None:
        """Keep a region, or open a cell that later stages may cut."""
        if cell.depth == self._depth:
            self._accept(place, cell)
        else:
            self._open.append(_Open(place, cell, self._children(cell)))

    def _count(self, cell: Cell) -> None:
        if cell.depth < self._depth:
            self._counts[cell.depth - 1] += 1

    def _give(self) -> None:
        """Give idle helpers the next children of the topmost open parents; those tend to hold the largest subtrees."""
        while self._pool.idle:
            if self._returned:
                self._pool.give(self._returned.pop(), self._returned)
                continue
            parent = next((p for p in self._open if len(p.place) + 1 < self._depth), None)
            if parent is None:
                return
            found = self._next_child(parent)
            if found is not None:
                self._count(found[1])
                self._pool.give(Task(*found), self._returned)

    def _collect(self, timeout: float) -> None:
        children, tally = self._pool.collect(self._returned, timeout)
        self._tally.add(tally)
        for place, child in children:
            self._count(child)
            self._returned.append(Task(place, child))

    def _accept(self, place: Place, region: Cell) -> None:
        if self._limits.max_regions is not None and self._counts[-1] >= self._limits.max_regions:
            self._returned.append(Task(place, region))
            self._stop(Status.REGION_LIMIT)
        self._counts[-1] += 1
        if self._asked.regions:
            self._regions.append((place, region))

    def _stop(self, status: Status) -> None:
        self._status = status
        raise _Stopped

    def _checkpoint(self) -> None:
        """Limits, interrupts, progress and the start of helpers; called between cells and before every program."""
        now = time.monotonic()
        elapsed = now - self._started
        if self._interrupted:
            self._stop(Status.CANCELLED)
        if self._limits.time_limit is not None and elapsed > self._limits.time_limit:
            self._stop(Status.TIME_LIMIT)
        if elapsed > _HELPERS_AFTER and not self._helpers_started and self._limits.workers > 1:
            self._helpers_started = True
            self._pool.start(self._limits.workers - 1)
        if self._progress is not None and now - self._reported > _REPORT_EVERY:
            self._reported = now
            self._progress(Progress(self._counts[-1], tuple(self._counts), elapsed))

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
        open_work = self._open_work() if status is not Status.COMPLETE else ()
        if self._asked.sink is not None and self._regions:
            self._hand_on(self._asked.sink, everything=True)
        self._regions.sort(key=lambda item: item[0])
        tally = self._tally
        certificate = Certificate(
            tally.by_rounding_bound + tally.by_reuse + tally.by_exact_arithmetic,
            tally.by_rounding_bound,
            tally.by_reuse,
            tally.by_exact_arithmetic,
            self._solver.solved + tally.programs,
            status is Status.COMPLETE,
        )
        return Outcome(
            self._name,
            status,
            certificate,
            tuple(self._counts),
            time.monotonic() - self._started,
            self._columns([cell for _, cell in self._regions]),
            tuple(self._chunks),
            open_work=open_work,
        )

    def _open_work(self) -> tuple[Job, ...]:
        """Parents whose search is not over, or what there was to do if not even the first was found."""
        tasks = sorted([parent.task for parent in self._open] + self._returned, key=lambda task: task.next_place)
        if not tasks and not any(self._counts):
            return self._asked.open_work
        return tuple(Job(self._name, task.next_place, task) for task in tasks)

    def _columns(self, cells: list[Cell]) -> Columns:
        network = self._problem.network
        return Columns(
            np.array([cell.pattern for cell in cells])
            .astype(network.pattern_type)
            .reshape(len(cells), network.choice_offsets[-1]),
            np.array([cell.point for cell in cells], dtype=np.float64).reshape(len(cells), self._problem.dim),
            {i: cell.exact_point for i, cell in enumerate(cells) if cell.exact_point is not None},
            _facets(cells) if self._facets else None,
        )


def _facets(cells: list[Cell]) -> Facets:
    sizes = [len(cell.facets) for cell in cells]
    empty = np.zeros(0, dtype=np.int64)
    return Facets(
        np.concatenate([empty, *(cell.facets for cell in cells)]),
        np.concatenate([empty.astype(np.int8), *(cell.signs for cell in cells)]),
        np.cumsum([0, *sizes], dtype=np.int64),
    )


def root_cell(problem: Problem, solver: Solver, tally: Tally) -> Cell:
    """The domain as a cell: its Chebyshev center and its irredundant constraints."""
    count = problem.hyperplanes.domain_count
    center = 0.5 * (problem.frame.lower + problem.frame.upper)
    rows = problem.rows([], np.arange(count), center)
    scale = float((problem.frame.upper - problem.frame.lower).max())

    def exact() -> ExactMatrix:
        return problem.frame.rows

    ledger = Ledger(problem, solver, tally, center, scale, rows, exact, count, count)
    conditions = Conditions.all_positive(count)
    witness = ledger.find(conditions)
    assert witness is not None  # the frame is full-dimensional
    facets = np.arange(count)
    if not problem.frame.irredundant:
        facets = np.array([i for i in range(count) if ledger.find(conditions.flipped(i)) is not None])
    pattern = np.zeros(0, dtype=problem.network.pattern_type)
    return Cell(0, pattern, facets, np.ones(len(facets), dtype=np.int8), witness.point, witness.exact)
