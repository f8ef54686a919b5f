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
from dataclasses import dataclass, replace
from itertools import islice
from types import FrameType

import numpy as np

from affinelens.engine.linear_program import interior_point
from affinelens.engine.linear_program.cell_search import sub_cells
from affinelens.engine.linear_program.helpers import Place, Pool, Task
from affinelens.engine.linear_program.parent_cell import Parent
from affinelens.engine.linear_program.problem import Cell, Problem, Witness
from affinelens.engine.linear_program.proofs import Ledger
from affinelens.progress import Progress
from affinelens.walk import Certificate, Chunk, Columns, Facets, Job, Outcome, Request, Sink, Status

_HELPERS_AFTER = 1.0
_REPORT_EVERY = 0.1
# Regions that are handed to a sink together, at least.
_CHUNK = 256


def walk(name: str, request: Request) -> Outcome:
    """Enumerate every region or, if only a count is asked for, do not decide the facets of the last stage."""
    return _Walk(name, request).run()


class _Stopped(Exception):  # noqa: N818 (it is not an error)
    """A limit was reached in the middle of a search."""


@dataclass
class _Open:
    """A parent being searched, and its children still to come."""

    task: Task
    children: Iterator[Cell]


class _Walk:
    def __init__(self, name: str, request: Request) -> None:
        self._name = name
        self._problem = Problem(request.network, request.frame, self._checkpoint)
        if self._problem.box_mode:
            interior_point.prepare()
        self._asked = request
        self._limits = request.limits
        self._facets = request.wants_facets
        self._depth = len(request.network.stages)
        self._counts = [0] * max(self._depth, 1)
        self._regions: list[Task] = []
        self._chunks: list[Chunk] = []
        self._open: list[_Open] = []
        self._returned: list[Task] = [] if request.begins else [replace(job.state) for job in request.open_work]
        self._pool = Pool(self._problem, self._facets, self._returned)
        self._started = time.monotonic()
        self._reported = self._started
        self._helpers_started = False
        self._interrupted = False
        self._status: Status | None = None

    def run(self) -> Outcome:
        restore = self._catch_interrupt()
        try:
            if self._asked.begins:
                self._take_up(Task((), root_cell(self._problem)))
            while self._open or self._returned or self._pool.busy:
                while self._returned:
                    self._take_up(self._returned.pop())
                self._give()
                if self._open:
                    child = self._next_child(self._open[-1])
                    if child is not None:
                        self._take_up(child)
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
            self._accept(task)
        else:
            children = sub_cells(self._problem, task.cell, facets=self._facets)
            self._open.append(_Open(task, islice(children, task.received, None)))

    def _accept(self, region: Task) -> None:
        if self._limits.max_regions is not None and self._counts[-1] >= self._limits.max_regions:
            self._returned.append(region)
            self._stop(Status.REGION_LIMIT)
        self._counts[-1] += 1
        if self._asked.regions:
            self._regions.append(region)

    def _next_child(self, parent: _Open) -> Task | None:
        """Take a parent's next child; close the parent if there is none."""
        cell = next(parent.children, None)
        if cell is None:
            self._open.remove(parent)
            return None
        return self._counted(parent.task.child(cell))

    def _counted(self, child: Task) -> Task:
        if child.cell.depth < self._depth:
            self._counts[child.cell.depth - 1] += 1
        return child

    def _give(self) -> None:
        """Give idle helpers the next children of the topmost open parents; those tend to hold the largest subtrees."""
        while self._pool.idle:
            if self._returned:
                self._pool.give(self._returned.pop())
                continue
            parent = next((p for p in self._open if len(p.task.place) + 1 < self._depth), None)
            if parent is None:
                return
            child = self._next_child(parent)
            if child is not None:
                self._pool.give(child)

    def _collect(self, timeout: float) -> None:
        children, tally = self._pool.collect(timeout)
        self._problem.tally.add(tally)
        self._returned += map(self._counted, children)

    def _hand_on(self, sink: Sink, *, everything: bool = False) -> None:
        """Give the sink those regions that none still to be found can come before; at the end, all."""
        self._regions.sort(key=_place)
        ready = len(self._regions) if everything else bisect_left(self._regions, self._frontier, key=_place)
        if ready >= _CHUNK or everything:
            made = sink.write(self._columns(self._regions[:ready]))
            self._chunks.append(Chunk(self._regions[0].place, 0, ready, made))
            del self._regions[:ready]

    @property
    def _unfinished(self) -> list[Task]:
        return [*(parent.task for parent in self._open), *self._returned, *self._pool.tasks]

    @property
    def _frontier(self) -> Place:
        """The first place at which a region may still be found."""
        return min((task.next_place for task in self._unfinished), default=(sys.maxsize,))

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
        if self._asked.progress is not None and now - self._reported > _REPORT_EVERY:
            self._reported = now
            self._asked.progress(Progress(self._counts[-1], tuple(self._counts), elapsed))

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
        if self._asked.sink is not None and self._regions:
            self._hand_on(self._asked.sink, everything=True)
        self._regions.sort(key=_place)
        tally = self._problem.tally
        certificate = Certificate(
            tally.by_rounding_bound + tally.by_reuse + tally.by_exact_arithmetic,
            tally.by_rounding_bound,
            tally.by_reuse,
            tally.by_exact_arithmetic,
            self._problem.solver.solved + tally.programs,
            status is Status.COMPLETE,
        )
        return Outcome(
            self._name,
            status,
            certificate,
            tuple(self._counts),
            time.monotonic() - self._started,
            self._columns(self._regions),
            tuple(self._chunks),
            open_work=self._open_work() if status is not Status.COMPLETE else (),
        )

    def _open_work(self) -> tuple[Job, ...]:
        """Parents whose search is not over, or what there was to do if not even the first was found."""
        if not self._unfinished and not any(self._counts):
            return self._asked.open_work
        in_order = sorted(self._unfinished, key=lambda task: task.next_place)
        return tuple(Job(self._name, task.next_place, task) for task in in_order)

    def _columns(self, regions: list[Task]) -> Columns:
        network = self._problem.network
        cells = [region.cell for region in regions]
        points = [cell.inside.point for cell in cells]
        exact = {i: cell.inside.exact for i, cell in enumerate(cells) if cell.inside.exact is not None}
        return Columns(
            np.array([cell.pattern for cell in cells])
            .astype(network.pattern_type)
            .reshape(len(cells), network.choice_offsets[-1]),
            np.array(points, dtype=np.float64).reshape(len(cells), self._problem.dim),
            exact,
            _facets(cells) if self._facets else None,
        )


def _place(task: Task) -> Place:
    return task.place


def _facets(cells: list[Cell]) -> Facets:
    sizes = [len(cell.facets) for cell in cells]
    empty = np.zeros(0, dtype=np.int64)
    return Facets(
        np.concatenate([empty, *(cell.facets for cell in cells)]),
        np.concatenate([empty.astype(np.int8), *(cell.signs for cell in cells)]),
        np.cumsum([0, *sizes], dtype=np.int64),
    )


def root_cell(problem: Problem) -> Cell:
    """The domain as a cell: its Chebyshev center and its irredundant constraints."""
    lower, upper = problem.box
    count = problem.hyperplanes.domain_count
    pattern, signs = np.zeros(0, dtype=problem.network.pattern_type), np.ones(count, dtype=np.int8)
    outline = Cell(0, pattern, np.arange(count), signs, Witness(0.5 * (lower + upper)))
    parent = Parent(problem, outline, scale=float((upper - lower).max()))
    ledger = Ledger(parent, np.zeros(0, dtype=np.int64))
    inside = ledger.find(parent.inside)
    assert inside is not None  # the frame is full-dimensional
    if problem.frame.irredundant:
        return replace(outline, inside=inside)
    beyond_others = [parent.inside.flipped(i) for i in range(len(parent.facets))]
    beyond_bounds = [replace(parent.inside, beyond=i) for i in range(len(parent.bounds))]
    asked = zip([*parent.facet_numbers, *parent.bounds.numbers], [*beyond_others, *beyond_bounds], strict=True)
    facets = np.sort([number for number, beyond in asked if ledger.find(beyond) is not None])
    return replace(outline, facets=facets, signs=signs[facets], inside=inside)
