"""Running a walk: workers that share it out among them, limits, progress, checkpoints, and results in one order.

Each worker walks one piece of the tree. When another has nothing to do, it asks the one that is likely to have the most
left, whose kernel then returns at once and gives away what it would come to last. Every piece says where in the tree it
begins, and the chunks of regions that are found in it carry that place: sorted by it, the regions are the same in the
same order for any number of workers, and however often the walk is stopped and gone on with.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from affinelens.engine.vertex.driver.bench import Bench, Findings
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.way import FROM_THE_ROOT, Way, together
from affinelens.engine.vertex.layout import endings
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.kernels.blas_threads import one_blas_thread
from affinelens.progress import Progress
from affinelens.walk import Certificate, Chunk, Columns, Job, Outcome, Status

# Work between two looks at what was found and what is open: up to about half a second. A worker that is waited for
# returns at once.
_SLICE = 100_000_000
# A count has no other way to stop near its limit.
_SLICE_OF_LIMITED_COUNT = 4_000_000
_CHUNK_BYTES = 16 * 2**20
_MOST_CHUNK_ROWS = 1 << 18
_REPORT_EVERY = 0.1
# How many chunks may wait for the sink.
_CHUNKS_AHEAD = 3
# A worker that had nothing to give is not asked again for so long.
_ASK_AGAIN = 1e-3
# How many pieces are given away at once, at the most.
_MOST_GIVEN = 4


@dataclass(eq=False)
class _Snapshot:
    """The walk as it is at one moment: what is open, and what was found, as far as workers have said so."""

    awaited: set[Bench]
    open_work: list[Way]
    found: Findings
    chunks: list[Chunk] = field(default_factory=list)


class Walk:
    """One enumeration or count: from the root of the tree, or of what an earlier one left open."""

    def __init__(self, task: Task, compiled: Compiled, left_open: Sequence[Way] | None = None) -> None:
        request = task.request
        self._task = task
        self._asked = request
        self._network = request.network
        self._limits = request.limits
        self._restricted = task.restricted
        self._compiled = compiled
        self._begins = left_open is None
        open_work = [FROM_THE_ROOT] if left_open is None else left_open
        self._share_at_start = together(way.share for way in open_work)
        self._queue = deque(open_work)
        rows = _rows_of_a_chunk(task, compiled)
        self._benches = [Bench(task, compiled, rows) for _ in range(request.limits.workers)]
        self._busy: set[Bench] = set()
        self._asked_to_give: dict[Bench, float] = {}
        self._lock = threading.Condition()
        self._stop = False
        self._error: BaseException | None = None
        self._writer = ThreadPoolExecutor(1)
        self._handed_on: deque[Future[Any]] = deque(maxlen=_CHUNKS_AHEAD)
        self._chunks: dict[Bench, list[Chunk]] = {bench: [] for bench in self._benches}
        self._snapshot: _Snapshot | None = None
        self._last_checkpoint = time.monotonic()
        self._reserved = 0
        self._walked = 0.0
        # what workers did, all together: how long they waited for work, and how much processor time they took
        self.seconds_waiting = self.seconds_working = 0.0

    def run(self) -> Outcome:
        """Walk until everything is found or a limit or Ctrl-C stops it."""
        status = Status.COMPLETE
        threads = [threading.Thread(target=self._work, args=(bench,), daemon=True) for bench in self._benches]
        for thread in threads:
            thread.start()
        with ExitStack() as settings:
            try:
                status = self._watch(settings)
            except KeyboardInterrupt:
                status = Status.CANCELLED
            finally:
                self._stop_here()
                for thread in threads:
                    thread.join()
        try:
            if self._error is not None:
                raise self._error
            return self._outcome(status)
        finally:
            self._writer.shutdown(cancel_futures=True)

    @property
    def seconds_unlocked(self) -> float:
        """The processor time that workers took without holding the interpreter's lock, all together."""
        return sum(bench.seconds_unlocked for bench in self._benches)

    # ------------------------------------------------------------------ the one who watches

    def _watch(self, settings: ExitStack) -> Status:
        """Wait for the workers, look at the clock, report, and have the sink told how the walk stands."""
        started = reported = self._task.started
        limit = inf if self._limits.time_limit is None else self._limits.time_limit
        is_settled = self._limits.workers == 1
        while True:
            with self._lock:
                if self._is_finished():
                    return Status.COMPLETE
                if self._stop:
                    return Status.REGION_LIMIT
                self._lock.wait(max(0.0, min(_REPORT_EVERY / 2, started + limit - time.monotonic())))
            if not is_settled:  # which takes some milliseconds, and does not pay in walks that are over by now
                settings.enter_context(one_blas_thread())
                is_settled = True
            now = time.monotonic()
            if now - started >= limit:
                return Status.COMPLETE if self._is_finished() else Status.TIME_LIMIT
            if self._asked.progress is not None and now - reported >= _REPORT_EVERY:
                reported = now
                self._asked.progress(self._progress(now - started))
                self._hurry_all()  # so that the next report is of what was found until then
            if self._asked.sink is not None and now - self._last_checkpoint >= self._limits.checkpoint_every:
                self._begin_snapshot()

    def _progress(self, seconds: float) -> Progress:
        """How far the walk is; what workers have still to do is known as it was when each was looked at."""
        with self._lock:
            pending = together([*(bench.pending for bench in self._busy), *(way.share for way in self._queue)])
        share = self._share_without(pending)
        self._walked = max(self._walked, share or 0.0)
        found = self._findings(self._benches)
        return Progress(
            found.regions, self._layer_counts(found), seconds, share=None if share is None else self._walked
        )

    def _share_without(self, pending: float | None) -> float | None:
        """How much of the domain was walked, if so much is open."""
        if self._share_at_start is None or pending is None:
            return None
        return max(0.0, self._share_at_start - pending)

    def _is_finished(self) -> bool:
        return not self._stop and not self._busy and not self._queue

    def _stop_here(self, error: BaseException | None = None) -> None:
        with self._lock:
            self._error = self._error or error
            self._stop = True
            self._hurry_all()
            self._lock.notify_all()

    def _hurry_all(self) -> None:
        with self._lock:
            for bench in self._busy:
                bench.hurry()

    # ------------------------------------------------------------------ workers

    def _work(self, bench: Bench) -> None:
        try:
            while (way := self._next_piece(bench)) is not None:
                bench.take_up(way)
                self._walk(bench)
        except BaseException as error:
            self._stop_here(error)
        with self._lock:
            self.seconds_working += time.thread_time()

    def _next_piece(self, bench: Bench) -> Way | None:
        """The next piece of work, for which a worker may have to wait; None if there is none, or the walk stops."""
        started = time.monotonic()
        with self._lock:
            if not self._stop:
                self._busy.discard(bench)
                self._add_to_snapshot(bench, None)
                if self._asked_to_give.pop(bench, None) is not None:
                    self._lock.notify_all()
            while not self._stop:
                if self._queue and self._snapshot is None:
                    self._busy.add(bench)
                    self.seconds_waiting += time.monotonic() - started
                    return self._queue.popleft()
                if not self._busy and not self._queue:
                    self._lock.notify_all()
                    return None
                self._lock.wait(None if self._ask_somebody() else _ASK_AGAIN)
        return None

    def _ask_somebody(self) -> bool:
        """Have the worker with the most work left give something away, if there is one who was not asked yet."""
        if self._snapshot is not None:
            return True
        now = time.monotonic()
        others = [bench for bench in self._busy if self._asked_to_give.get(bench, 0.0) <= now]
        if not others:
            return False
        bench = min(others, key=Bench.first_open)
        self._asked_to_give[bench] = float("inf")
        bench.hurry()
        return True

    def _walk(self, bench: Bench) -> None:
        """Walk one piece, giving some of it away when others have nothing to do."""
        limit = self._limits.max_regions
        budget = _SLICE if self._asked.regions or limit is None else min(_SLICE, _SLICE_OF_LIMITED_COUNT)
        while not self._stop:
            room = self._reserve(bench)
            before = bench.found.regions
            status = bench.walk(budget, room)
            self._give_back(room - (bench.found.regions - before))
            if not self._asked.regions and limit is not None and self._regions_found() > limit:
                self._stop_here()
                return
            if status == endings.FINISHED:
                bench.pending = 0.0
                self._hand_on(bench)
                return
            if status == endings.FULL:
                if room > 0:
                    self._hand_on(bench)
                elif self._regions_found() == limit:
                    self._stop_here()
                else:  # another worker holds the rest of max_regions, and may give some back
                    time.sleep(1e-3)
            if bench in self._asked_to_give:
                self._give_away(bench)
            snapshot = self._snapshot
            if snapshot is not None and bench in snapshot.awaited:
                self._hand_on(bench)
                way = bench.remainder()
                with self._lock:
                    self._add_to_snapshot(bench, way)
            if self._asked.progress is not None:
                bench.look()

    def _reserve(self, bench: Bench) -> int:
        """How many regions may be found next, so that ``max_regions`` is met exactly."""
        if not self._asked.regions:
            return 1 << 60
        if bench.rows_left == 0:
            self._hand_on(bench)
        room = bench.rows_left
        if self._limits.max_regions is not None:
            with self._lock:
                room = min(room, self._limits.max_regions - self._reserved)
                self._reserved += room
        return room

    def _give_back(self, unused: int) -> None:
        if self._limits.max_regions is not None and self._asked.regions:
            with self._lock:
                self._reserved -= unused

    def _regions_found(self) -> int:
        return sum(bench.found.regions for bench in self._benches)

    def _give_away(self, bench: Bench) -> None:
        """Give those who wait what a worker would come to last, as far as it has more than one thing left to do."""
        with self._lock:
            if self._asked_to_give.get(bench) != float("inf") or self._snapshot is not None:
                return
            wanted = min(_MOST_GIVEN, len(self._benches) - len(self._busy) - len(self._queue))
            given: list[Way] = []
            while len(given) < wanted and (way := bench.give()) is not None:
                given.append(way)
            if given:
                del self._asked_to_give[bench]
            else:
                self._asked_to_give[bench] = time.monotonic() + _ASK_AGAIN
            self._queue.extend(given)
            self._lock.notify_all()

    # ------------------------------------------------------------------ results

    def _hand_on(self, bench: Bench) -> None:
        """Move what a worker has found out of its walk."""
        columns = bench.handed_over()
        if columns is not None:
            piece = bench.piece
            made = columns if self._asked.sink is None else self._pass_on(columns)
            self._chunks[bench].append(Chunk(piece.place, piece.chunks, len(columns), made))
            piece.chunks += 1

    def _pass_on(self, columns: Columns) -> Future[Any]:
        """Hand columns to the sink, beside the walk; but wait if it is far behind, so that memory stays bounded."""
        with self._lock:
            late = self._handed_on[0] if len(self._handed_on) == _CHUNKS_AHEAD else None
        if late is not None:
            late.result()
        future = self._writer.submit(self._write, columns)
        with self._lock:
            self._handed_on.append(future)
        return future

    def _write(self, columns: Columns) -> Any:
        """Call the sink, until it fails once."""
        if self._asked.sink is None or self._error is not None:
            return None
        try:
            return self._asked.sink.write(columns)
        except BaseException as error:
            self._stop_here(error)
            raise

    # ------------------------------------------------------------------ checkpoints

    def _begin_snapshot(self) -> None:
        """Ask all workers how they stand; until all have said so, no work changes hands, but all go on."""
        with self._lock:
            if self._snapshot is not None or self._stop or not self._busy:
                return
            idle = [bench for bench in self._benches if bench not in self._busy]
            chunks = [chunk for bench in idle for chunk in self._chunks[bench]]
            self._snapshot = _Snapshot(set(self._busy), list(self._queue), self._findings(idle), chunks)
            self._hurry_all()

    def _add_to_snapshot(self, bench: Bench, way: Way | None) -> None:
        """Say what a worker has still to do, if it was asked; the last to do so has the checkpoint written.

        What it has found was handed on.
        """
        snapshot = self._snapshot
        if snapshot is None or bench not in snapshot.awaited:
            return
        snapshot.awaited.discard(bench)
        if way is not None:
            snapshot.open_work.append(way)
        snapshot.found += self._findings([bench])
        snapshot.chunks += self._chunks[bench]
        if not snapshot.awaited:
            self._snapshot = None
            self._last_checkpoint = time.monotonic()
            self._writer.submit(self._write_checkpoint, snapshot)
            self._hurry_all()  # who was asked to give meanwhile has not yet
            self._lock.notify_all()

    def _write_checkpoint(self, snapshot: _Snapshot) -> None:
        """Tell the sink how the walk stood; all chunks of that moment were handed to it before."""
        if self._asked.sink is None or self._error is not None:
            return
        try:
            self._asked.sink.checkpoint(
                self._outcome_of(Status.UNFINISHED, snapshot.found, snapshot.chunks, snapshot.open_work)
            )
        except BaseException as error:
            self._stop_here(error)

    # ------------------------------------------------------------------ the outcome

    def _outcome(self, status: Status) -> Outcome:
        for bench in self._benches:
            self._hand_on(bench)
        remainders = [bench.remainder() for bench in self._benches]
        open_work = [*(way for way in remainders if way is not None), *self._queue]
        chunks = [chunk for bench in self._benches for chunk in self._chunks[bench]]
        found = self._findings(self._benches)
        limit = self._limits.max_regions
        if status is Status.REGION_LIMIT and not self._asked.regions and limit is not None:
            found = replace(found, regions=limit)
            return replace(self._outcome_of(status, found, chunks, ()), share=None, open_work=None)
        return self._outcome_of(status, found, chunks, open_work)

    def _outcome_of(
        self, status: Status, found: Findings, chunks: Iterable[Chunk], open_work: Iterable[Way]
    ) -> Outcome:
        decided, by_integers, by_rationals = found.decided.tolist()
        exactly = by_integers + by_rationals
        certificate = Certificate(decided, decided - exactly, 0, exactly, 0, complete=False)
        written = [
            chunk._replace(made=chunk.made.result()) if isinstance(chunk.made, Future) else chunk for chunk in chunks
        ]
        ways = sorted(open_work, key=lambda way: way.place)
        share = self._share_without(together(way.share for way in ways))
        jobs = tuple(Job(self._task.engine, way.place, way.to_json()) for way in ways)
        return self._task.outcome(status, certificate, self._layer_counts(found), written, share, jobs)

    def _findings(self, benches: Iterable[Bench]) -> Findings:
        return sum((bench.found for bench in benches), Findings.none(self._compiled.program.stages))

    def _layer_counts(self, found: Findings) -> tuple[int, ...]:
        """Cells after each of the network's stages; one in which nothing switches leaves their number as it was."""
        if not self._compiled.program.stages:
            return (found.regions,) * max(len(self._network.stages), 1)
        counts = found.counts.tolist()
        if not self._asked.regions:
            counts[-1] = found.regions
        if self._restricted is None:
            return tuple(counts)
        switching = {stage.stage: count for stage, count in zip(self._restricted.stages, counts, strict=True)}
        cells = [1 if self._begins else 0]
        for stage in range(len(self._network.stages)):
            cells.append(switching.get(stage, cells[-1]))
        return tuple(cells[1:])


def _rows_of_a_chunk(task: Task, compiled: Compiled) -> int:
    """For how many regions there is room before they are handed on."""
    request, program = task.request, compiled.program
    if not request.regions:
        return 1
    dim, choices = program.dim, int(program.stage[-1].choice_offset) if program.stages else 0
    width = choices + 8 * dim + (64 * dim if request.wants_facets else 0)
    width += 24 * 2**dim if request.wants_vertices else 0
    return max(256, min(_MOST_CHUNK_ROWS, _CHUNK_BYTES // width))
