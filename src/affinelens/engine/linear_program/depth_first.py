"""Algorithm 1 of the paper: from the domain down through the stages, each parent searched once.

The walk goes depth first, so that finished regions appear early and only the parents on the way down are open. Once it
has lasted a while, helper processes are given the next children of the topmost open parents. Every cell carries its
place in the tree of parents; sorting by place gives the same order however many processes took part, and however often
the walk was stopped.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from types import FrameType

import numpy as np

from affinelens.engine.linear_program import interior_point
from affinelens.engine.linear_program.cell_facets import root_cell
from affinelens.engine.linear_program.cell_search import sub_cells
from affinelens.engine.linear_program.helpers import Pool
from affinelens.engine.linear_program.open_work import OpenWork
from affinelens.engine.linear_program.problem import Cell, Problem
from affinelens.engine.linear_program.search_state import Place, Step, Task, gaps
from affinelens.progress import Progress
from affinelens.walk import (
    WHOLE_DOMAIN,
    Certificate,
    Chunk,
    Columns,
    Facets,
    Job,
    Outcome,
    Request,
    Sink,
    Status,
    in_order,
)

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
    steps: Iterator[Step]


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
        self._work = OpenWork(name, self._problem, facets=self._facets)
        self._returned = [self._work.task(job) for job in request.open_work if job is not WHOLE_DOMAIN]
        self._from_root = len(self._returned) < len(request.open_work)
        # Regions of earlier walks may come here, between those of two jobs, or what this one handed on out of order.
        self._seams = gaps([task.next_place for task in self._returned])
        self._root: Cell | None = None
        self._pool = Pool(self._problem, self._facets, self._returned)
        self._started = time.monotonic()
        self._reported = self._kept = self._started
        self._helpers_started = False
        self._interrupted = False
        self._status: Status | None = None

    def run(self) -> Outcome:
        restore = self._catch_interrupt()
        try:
            self._root = root_cell(self._problem)
            if self._from_root:
                self._returned.append(Task((), self._root))
            while self._open or self._returned or self._pool.busy:
                while self._returned:
                    self._take_up(self._next_returned())
                self._give()
                if self._open:
                    child = self._next_child(self._open[-1])
                    if child is not None:
                        self._take_up(child)
                self._collect(0.0 if self._open or self._returned else _REPORT_EVERY)
                if self._asked.sink is not None:
                    self._keep(self._asked.sink)
                self._checkpoint()
        except _Stopped:
            pass
        finally:
            self._returned += self._pool.tasks
            self._pool.close()
            restore()
        if self._asked.sink is not None:
            self._hand_on_all(self._asked.sink)
        stopped = self._status if self._root is None or self._unfinished else None
        return self._outcome(stopped or Status.COMPLETE)

    def _take_up(self, task: Task) -> None:
        """Search a parent, or go on where its search was broken off; or accept a region."""
        if task.cell.depth == self._depth:
            self._accept(task)
        else:
            self._open.append(_Open(task, self._steps(task)))

    def _steps(self, task: Task) -> Iterator[Step]:
        self._vouch_for(task)
        yield from sub_cells(self._problem, task.cell, task.search, facets=self._facets)

    def _next_returned(self) -> Task:
        """The last task that was returned; one to be searched here is vouched for when its search begins."""
        task = self._returned[-1]
        if task.cell.depth == self._depth or self._pool.idle:
            self._vouch_for(task)
        return self._returned.pop()

    def _vouch_for(self, task: Task) -> None:
        """Prove what was read; a limit may end that, so the task is still open work meanwhile."""
        assert self._root is not None
        self._work.vouch_for(task, self._root)

    def _accept(self, region: Task) -> None:
        if self._limits.max_regions is not None and self._counts[-1] >= self._limits.max_regions:
            self._returned.append(region)
            self._stop(Status.REGION_LIMIT)
        self._counts[-1] += 1
        if self._asked.regions:
            self._regions.append(region)

    def _next_child(self, parent: _Open) -> Task | None:
        """Take a parent's next child; close the parent if there is none."""
        step = next(parent.steps, None)
        if step is None:
            self._open.remove(parent)
            return None
        return self._counted(parent.task.child(step))

    def _counted(self, child: Task) -> Task:
        if child.cell.depth < self._depth:
            self._counts[child.cell.depth - 1] += 1
        return child

    def _give(self) -> None:
        """Give idle helpers the next children of the topmost open parents; those tend to hold the largest subtrees."""
        while self._pool.idle:
            if self._returned:
                self._pool.give(self._next_returned())
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

    def _keep(self, sink: Sink) -> None:
        """Now and then, have the sink keep what was found and what is open; else hand on what is a chunk by now."""
        if time.monotonic() - self._kept >= self._limits.checkpoint_every and self._unfinished:
            self._hand_on_all(sink)
            sink.checkpoint(self._outcome(Status.UNFINISHED))
            self._kept = time.monotonic()
        elif len(self._regions) >= _CHUNK:
            self._regions.sort(key=_place)
            ready = bisect_left(self._regions, self._frontier, key=_place)
            if ready >= _CHUNK:
                self._hand_on(sink, ready, self._seams)

    def _hand_on_all(self, sink: Sink) -> None:
        """Give the sink all regions, in chunks that none still to be found comes between."""
        self._regions.sort(key=_place)
        self._seams = sorted({*self._seams, *(task.next_place for task in self._unfinished)})
        self._hand_on(sink, len(self._regions), self._seams)
        del self._seams[: bisect_left(self._seams, self._frontier)]  # nothing is found before it any more

    def _hand_on(self, sink: Sink, ready: int, between: list[Place]) -> None:
        """Give the sink the first regions, so many of them, in chunks that do not reach across places in between."""
        regions, self._regions = self._regions[:ready], self._regions[ready:]
        ends = {bisect_left(regions, place, key=_place) for place in between}
        for start, end in pairwise(sorted({0, *ends, ready})):
            part = regions[start:end]
            self._chunks.append(Chunk(part[0].place, 0, len(part), sink.write(self._columns(part))))

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

    def _outcome(self, status: Status) -> Outcome:
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
            in_order(self._chunks),
            open_work=self._open_work(),
        )

    def _open_work(self) -> tuple[Job, ...]:
        """Parents whose search is not over, and regions beyond a limit; or what there was to do, if none was begun."""
        if self._root is None:
            return self._asked.open_work
        return tuple(map(self._work.job, sorted(self._unfinished, key=lambda task: task.next_place)))

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
