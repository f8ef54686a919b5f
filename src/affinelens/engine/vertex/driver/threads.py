"""Running a walk: slices of kernel work in threads, limits, progress, and results in one order however many work.

Each worker walks its own part of the tree. When one has nothing to do, a busy one gives away the last child of its
topmost open frame: the part of its work that it would have come to last. So the parts form a list in the order of the
tree, in which a part that was given away stands right behind the part it was taken from, and the regions of all parts
in that order are the same for any number of workers.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affinelens.array_types import Floats
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.open_work import half_of_section, pending_share, single_child
from affinelens.engine.vertex.exact.arbiter import Arbiter
from affinelens.engine.vertex.kernels.arrangement import walk
from affinelens.engine.vertex.layout import endings, kinds
from affinelens.engine.vertex.layout.first_state import new_state
from affinelens.engine.vertex.layout.program import Compiled
from affinelens.engine.vertex.layout.state import State
from affinelens.progress import Progress
from affinelens.walk import Certificate, Chunk, Columns, Facets, Job, Outcome, Status, Vertices

# Work between two looks at limits and at idle workers: up to about 20 ms, and less at first, so that work is soon
# shared.
_SLICE = 4_000_000
_FIRST_SLICE = 100_000
_CHUNK_BYTES = 16 * 2**20
_MOST_CHUNK_ROWS = 1 << 18
_REPORT_EVERY = 0.1
# A part's share of the domain is looked at this often, but takes no more than this much of the time.
_LOOK_EVERY = 0.3
_LOOKING = 0.02
# How many chunks may wait for the sink.
_CHUNKS_AHEAD = 3


@dataclass(eq=False)
class _Part:
    """A part of the tree: its walk, and what was found in it, in order."""

    state: State
    chunks: list[Any] = field(default_factory=list)
    exact_points: dict[int, tuple[Fraction, ...]] = field(default_factory=dict)
    emitted: int = 0
    slice: int = _FIRST_SLICE
    pending: float = 0.0
    look_at: float = 0.0

    def look(self, compiled: Compiled) -> None:
        """See how much of the domain the part has still to walk, if it was not looked at lately."""
        started = time.monotonic()
        if started >= self.look_at:
            self.pending = pending_share(compiled, self.state)
            ended = time.monotonic()
            self.look_at = ended + max(_LOOK_EVERY, (ended - started) / _LOOKING)

    def taken_from_the_end(self) -> State | None:
        """Take away what this part would come to last, or None if it has one thing left to do."""
        frame, depth = self.state.stack.frame, int(self.state.control.depth)
        for f in range(depth):
            if frame[f].kind == kinds.SECTION:
                half = half_of_section(self.state, f)
                if half is not None:
                    return half
            elif f < depth - 1 and frame[f].next < frame[f].end:
                taken = single_child(self.state, f, int(frame[f].end) - 1)
                frame[f].end -= 1
                return taken
        return None


class Walk:
    """One enumeration or count: from the root of the tree, or from what an earlier one left open."""

    def __init__(self, task: Task, compiled: Compiled, open_states: Sequence[State] | None = None) -> None:
        request = task.request
        self._task = task
        self._asked = request
        self._network = request.network
        self._limits = request.limits
        self._restricted = task.restricted
        self._compiled = compiled
        program = compiled.program
        stages, dim = program.stages, program.dim
        choices = int(program.stage[-1].choice_offset) if stages else 0
        width = choices + 8 * dim + (64 * dim if request.wants_facets else 0)
        width += 24 * 2**dim if request.wants_vertices else 0
        self._chunk = max(256, min(_MOST_CHUNK_ROWS, _CHUNK_BYTES // width)) if request.regions else 1
        if open_states is None:
            self._share_at_start = 1.0
            first = new_state(
                compiled, self._chunk, facets=request.wants_facets, vertices=request.wants_vertices,
                count_only=not request.regions, sections=task.counts_sections,
            )  # fmt: skip
            self._parts = [_Part(first, pending=1.0)]
        else:
            shares = [pending_share(compiled, state) for state in open_states]
            self._share_at_start = sum(shares)
            self._parts = [
                _Part(state.taken_up(compiled, self._chunk), pending=share)
                for state, share in zip(open_states, shares, strict=True)
            ]
        self._queue = deque(self._parts)
        self._lock = threading.Condition()
        self._idle = 0
        self._stop = False
        self._error: BaseException | None = None
        self._writer = ThreadPoolExecutor(1)
        self._handed_on: deque[Future[Any]] = deque(maxlen=_CHUNKS_AHEAD)
        self._reserved = 0
        self._found = 0
        self._walked = 0.0
        self._counts = np.zeros(max(stages, 1), dtype=np.int64)
        self._decided = np.zeros(3, dtype=np.int64)

    def run(self) -> Outcome:
        """Walk until everything is found or a limit or Ctrl-C stops it."""
        status = Status.COMPLETE
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(self._limits.workers)]
        for thread in threads:
            thread.start()
        try:
            status = self._watch()
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

    def _watch(self) -> Status:
        """Wait for the workers, look at the clock and report."""
        started = reported = self._task.started
        while True:
            with self._lock:
                if self._is_finished():
                    return Status.COMPLETE
                if self._stop:
                    return Status.REGION_LIMIT
                self._lock.wait(_REPORT_EVERY / 2)
            now = time.monotonic()
            if self._limits.time_limit is not None and now - started >= self._limits.time_limit:
                return Status.COMPLETE if self._is_finished() else Status.TIME_LIMIT
            if self._asked.progress is not None and now - reported >= _REPORT_EVERY:
                reported = now
                self._asked.progress(self._progress(now - started))

    def _progress(self, seconds: float) -> Progress:
        """How far the walk is; what parts have still to do is known as it was when each was looked at."""
        with self._lock:
            pending = sum(part.pending for part in self._parts)
        self._walked = max(self._walked, self._share_at_start - pending)
        return Progress(self._found, self._layer_counts(), seconds, share=self._walked)

    def _is_finished(self) -> bool:
        return not self._stop and self._idle == self._limits.workers and not self._queue

    def _work(self) -> None:
        try:
            arbiter = Arbiter(self._compiled)
            while True:
                with self._lock:
                    self._idle += 1
                    if self._idle == self._limits.workers and not self._queue:
                        self._lock.notify_all()
                    while not self._queue and not self._stop:
                        if self._idle == self._limits.workers:
                            return
                        self._lock.wait()
                    if self._stop:
                        return
                    self._idle -= 1
                    part = self._queue.popleft()
                self._walk(part, arbiter)
        except BaseException as error:
            self._stop_here(error)

    def _walk(self, part: _Part, arbiter: Arbiter) -> None:
        """Walk one part, giving some of it away when others have nothing to do."""
        while not self._stop:
            if self._asked.progress is not None:
                part.look(self._compiled)
            room = self._reserve(part)
            state = part.state
            budget = min(part.slice, _SLICE)
            part.slice = 2 * budget
            status = walk(self._compiled.program, state, budget)
            self._note(part, arbiter, room)
            if (
                not self._asked.regions
                and self._limits.max_regions is not None
                and self._found > self._limits.max_regions
            ):
                self._found = self._limits.max_regions
                self._counts[-1] = self._found
                self._stop_here()
                return
            if status == endings.FINISHED:
                part.pending = 0.0
                self._flush(part, is_last=True)
                return
            if status == endings.FULL:
                if room > 0:
                    self._flush(part)
                elif self._found == self._limits.max_regions:
                    self._stop_here()
                else:  # another worker holds the rest of max_regions, and may give some back
                    time.sleep(1e-3)
            elif status == endings.UNDECIDED:
                arbiter.answer(state)
            elif status == endings.NO_POINT:
                index = int(state.control.emitted) - 1
                exact = arbiter.interior_point(state, index)
                if exact is not None:
                    part.exact_points[index] = exact
            elif endings.is_growth(status):
                part.state = state.grown(status)
            if self._idle and not self._queue:
                self._give_away(part)

    def _reserve(self, part: _Part) -> int:
        """Set how many regions the next slice may find, so that ``max_regions`` is met exactly."""
        control = part.state.control
        if not self._asked.regions:
            control.room = 1 << 60
            return 1
        if control.emitted == self._chunk:
            self._flush(part)
        room = self._chunk - int(control.emitted)
        if self._limits.max_regions is not None:
            with self._lock:
                room = min(room, self._limits.max_regions - self._reserved)
                self._reserved += room
        control.room = control.emitted + room
        return room

    def _note(self, part: _Part, arbiter: Arbiter, room: int) -> None:
        control, counts = part.state.control, part.state.results.counts
        emitted = int(control.emitted)
        with self._lock:
            new = emitted - part.emitted
            part.emitted = emitted
            self._found += new
            if self._limits.max_regions is not None and self._asked.regions:
                self._reserved -= room - new
            self._counts += counts
            if not self._asked.regions:
                self._counts[-1] = self._found
            self._decided += [control.decided, control.by_integers, arbiter.decided]
        counts[:] = 0
        control.decided = control.by_integers = 0
        arbiter.decided = 0

    def _stop_here(self, error: BaseException | None = None) -> None:
        with self._lock:
            self._error = self._error or error
            self._stop = True
            self._lock.notify_all()

    def _give_away(self, part: _Part) -> None:
        taken = part.taken_from_the_end()
        if taken is None:
            return
        new = _Part(taken)
        part.look_at = 0.0
        with self._lock:
            self._parts.insert(self._parts.index(part) + 1, new)
            self._queue.append(new)
            self._lock.notify_all()

    def _flush(self, part: _Part, *, is_last: bool = False) -> None:
        """Move what a part has found out of its walk; what the walk will not write to again need not be copied."""
        control, results = part.state.control, part.state.results
        n = int(control.emitted)
        if not n or not self._asked.regions:
            return
        ends = np.concatenate([np.zeros((1, 2), dtype=np.int64), results.ends[:n]])
        shift, scale = self._compiled.shift, self._compiled.scale
        listed = results.facets[: control.facets_emitted]
        corners = slice(0, int(control.vertices_emitted))
        patterns = results.patterns[:n] if is_last else results.patterns[:n].copy()
        columns = Columns(
            patterns if self._restricted is None else self._restricted.pieces(patterns),
            results.points[:n] * scale + shift,
            {i: _moved(point, shift, scale) for i, point in part.exact_points.items()},
            Facets(
                self._numbers(listed[:, 0]),
                listed[:, 1].astype(np.int8),
                ends[:, 0].copy(),
                listed[:, 2].astype(np.int32) if self._asked.wants_vertices else None,
            )
            if self._asked.wants_facets
            else None,
            Vertices(results.vertices[corners] * scale + shift, results.vertex_tight[corners].copy(), ends[:, 1].copy())
            if self._asked.wants_vertices
            else None,
        )
        part.chunks.append((n, columns if self._asked.sink is None else self._pass_on(columns)))
        part.exact_points = {}
        part.emitted = 0
        control.emitted = control.facets_emitted = control.vertices_emitted = 0

    def _numbers(self, hyperplanes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers that hyperplanes have in the domain and the whole network."""
        if self._restricted is None:
            return hyperplanes.copy()
        rows = self._compiled.program.domain_rows
        return np.concatenate([np.arange(rows), rows + self._restricted.breaks])[hyperplanes]

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

    def _outcome(self, status: Status) -> Outcome:
        for part in self._parts:
            self._flush(part)
        chunks = [
            Chunk((place,), number, rows, made.result() if isinstance(made, Future) else made)
            for place, part in enumerate(self._parts)
            for number, (rows, made) in enumerate(part.chunks)
        ]
        decided, by_integers, by_rationals = (int(n) for n in self._decided)
        exactly = by_integers + by_rationals
        certificate = Certificate(decided, decided - exactly, 0, exactly, 0, complete=False)
        share, open_work = self._share(status), self._open_work(status)
        return self._task.outcome(status, certificate, self._layer_counts(), chunks, share, open_work)

    def _layer_counts(self) -> tuple[int, ...]:
        """Cells after each of the network's stages; one in which nothing switches leaves their number as it was."""
        if not self._compiled.program.stages:
            return (self._found,) * max(len(self._network.stages), 1)
        counts = self._counts.tolist()
        if self._restricted is None:
            return tuple(counts)
        switching = {stage.stage: count for stage, count in zip(self._restricted.stages, counts, strict=True)}
        found = [1]
        for stage in range(len(self._network.stages)):
            found.append(switching.get(stage, found[-1]))
        return tuple(found[1:])

    def _open_work(self, status: Status) -> tuple[Job, ...] | None:
        """The parts that are not finished; None where a count went beyond its limit before it was stopped."""
        if status is Status.REGION_LIMIT and not self._asked.regions:
            return None
        unfinished = [part.state for part in self._parts if part.state.control.depth > 0]
        return tuple(Job(self._task.engine, (place,), state.set_down()) for place, state in enumerate(unfinished))

    def _share(self, status: Status) -> float | None:
        """How much of the domain's volume was walked: all but what is still open in some part.

        It is not known of a count that went beyond its limit.
        """
        if status is Status.COMPLETE:
            return self._share_at_start
        if status is Status.REGION_LIMIT and not self._asked.regions:
            return None
        return max(0.0, self._share_at_start - sum(pending_share(self._compiled, part.state) for part in self._parts))


def _moved(point: tuple[Fraction, ...], shift: Floats, scale: Floats) -> tuple[Fraction, ...]:
    """A rational point in the domain's own coordinates."""
    numbers = zip(point, scale.tolist(), shift.tolist(), strict=True)
    return tuple(y * Fraction(s) + Fraction(c) for y, s, c in numbers)
