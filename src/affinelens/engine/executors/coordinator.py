"""A walk by jobs: the open work is kept here, and its jobs are run by an executor until none is left.

Jobs are short at first and leave their rest in several, so that there is soon work for every worker; then they last
seconds. A job is accepted once: when its reply is here. What a lost worker was doing is still open and is sent again.
"""

from __future__ import annotations

import heapq
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from math import inf
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, NamedTuple

from affinelens.deadline import Deadline
from affinelens.engine.choice import Choice
from affinelens.engine.executors.adapters import NoMoreJobs, adapted
from affinelens.engine.executors.context import context_from_bytes, context_to_bytes, job_to_bytes
from affinelens.engine.executors.job_run import Reply, read_reply, run_job
from affinelens.errors import AffineLensError
from affinelens.progress import Progress
from affinelens.restrict import SwitchingChoices
from affinelens.walk import (
    NO_DECISIONS,
    Chunk,
    Columns,
    Job,
    JoinedLater,
    Outcome,
    Request,
    SharedPlace,
    SharedSink,
    Status,
    in_order,
)  # fmt: skip

# Seconds a job lasts while workers wait for work, once there is enough, and once there is plenty.
_SHORT, _LONG, _LONGEST = 0.2, 2.0, 5.0
# How many waiting jobs are plenty, for each worker.
_PLENTY = 4
# A job of fewer seconds is divided while workers wait: several threads walk, too short a time to start processes.
_DIVIDED_BELOW = 1.0
# Such a job leaves its rest in about so many.
_PARTS = 4
# Jobs that are with the executor, for each worker.
_AHEAD = 2
# A reply holds no more than about so many bytes, and what a job keeps where it is run no more than about so many.
_REPLY_BYTES, _KEPT_BYTES = 32 * 2**20, 256 * 2**20
# Of the regions still to be found, a job may take this share, so that others can find some too.
_SHARE_OF_ROOM = 4
# How often a job is sent again after what ran it was lost.
_SENT_AGAIN = 3
# A job that is silent for so many seconds and so many times its budget, while others answer or all are silent, is sent
# to somebody else too. Whoever answers first is believed. It takes twice as long before that happens again.
_PATIENCE, _PATIENCE_IN_BUDGETS = 30.0, 10.0
_REPORT_EVERY = 0.1
# How long a stopped walk waits for jobs that are about to end.
_GRACE = 1.0


@dataclass(eq=False)
class _Piece:
    """A job that is open: how often it failed, how long it should last at least, and whether a worker lacks context.

    It ``is_done`` once an answer was accepted. It was called ``silent`` so many times.
    """

    job: Job
    failures: int = 0
    at_least: float = 0.0
    send: bool = False
    silent: int = 0
    is_done: bool = False


@dataclass(frozen=True, eq=False)
class _Flight:
    """A job that is with the executor since a moment, how many were sent before, and how many regions it may find."""

    piece: _Piece
    room: int
    budget: float
    number: int
    sent: float

    def is_silent(self, now: float, last: _Answer) -> bool:
        """Whether it is no longer waited for, given the last answer to any job."""
        patience = (_PATIENCE + _PATIENCE_IN_BUDGETS * self.budget) * 2**self.piece.silent
        return now - self.sent > patience and (self.number < last.number or now - last.time > patience)


class _Answer(NamedTuple):
    """When a job was answered, and how many were sent before it."""

    number: int
    time: float


class Coordinator:
    """One walk, by an engine that was chosen, on the request's executor."""

    def __init__(self, choice: Choice, request: Request, deadline: Deadline) -> None:
        self._asked = request
        self._choice = choice
        self._deadline = deadline
        self._started = time.monotonic()
        context = context_to_bytes(request, choice)
        self._context = context_from_bytes(context)
        self._adapter = adapted(request.executor, context, request.limits.workers)
        self._order = count()
        self._waiting: list[tuple[tuple[int, ...], int, _Piece]] = []
        for job in request.open_work:
            self._put(_Piece(job))
        self._flying: dict[Any, _Flight] = {}
        self._silent: dict[Any, _Flight] = {}
        self._sent = count()
        self._last_answer = _Answer(-1, self._started)
        self._ended: SimpleQueue[Any] = SimpleQueue()
        self._counts = [0] * max(len(request.network.stages), 1)
        self._certificate = NO_DECISIONS
        self._share: float | None = 0.0
        self._chunks: list[Chunk] = []
        self._switching: SwitchingChoices | None = None
        self._reserved = 0
        self._bytes_a_region = self._guessed_bytes()
        self._is_more = False
        self._interrupted = False
        self._reported = self._saved = self._started

    def run(self) -> Outcome:
        """Walk until there is no open work, or a limit or Ctrl-C ends it."""
        restore = self._catch_interrupt()
        try:
            status = self._watch()
            self._withdraw()
        except NoMoreJobs as lost:
            self._checkpoint()
            self._forget_all()
            raise AffineLensError(
                f"the walk stopped at {self._counts[-1]} regions: {lost}; a run directory (run) keeps what was found, "
                f"to be resumed with another executor"
            ) from lost
        except BaseException:
            self._forget_all()
            raise
        finally:
            restore()
        return self._outcome(status)

    def _watch(self) -> Status:
        while True:
            if self._interrupted:
                return Status.CANCELLED
            if self._is_more:
                return Status.REGION_LIMIT
            if not self._flying and not self._waiting:
                return Status.COMPLETE
            if self._time_left <= 0:
                return Status.TIME_LIMIT
            self._send()
            self._take(min(_REPORT_EVERY, max(self._time_left, 0.0)))
            now = time.monotonic()
            self._give_up_silent(now)
            if now - self._saved >= self._asked.limits.checkpoint_every:
                self._checkpoint()
                self._saved = time.monotonic()
            if self._asked.progress is not None and now - self._reported >= _REPORT_EVERY:
                self._reported = now
                self._asked.progress(self._progress(now - self._started))

    @property
    def _time_left(self) -> float:
        left = self._deadline.left
        return inf if left is None else left

    def _put(self, piece: _Piece) -> None:
        heapq.heappush(self._waiting, (piece.job.place, next(self._order), piece))

    def _send(self) -> None:
        """Keep the executor busy, with the first jobs in order."""
        workers = self._adapter.workers()
        while self._waiting and len(self._flying) < _AHEAD * workers + 1:
            is_hungry = len(self._waiting) + len(self._flying) < _AHEAD * workers + 1
            room = self._room(_REPLY_BYTES)
            if room == 0 and self._reserved:
                return  # others hold the rest of the room, and may give some back
            piece = heapq.heappop(self._waiting)[2]
            budget = _SHORT if is_hungry else _LONG if len(self._waiting) < _PLENTY * workers else _LONGEST
            budget = min(max(budget, piece.at_least), max(self._time_left, _SHORT))
            parts = _PARTS if is_hungry and workers > 1 and budget < _DIVIDED_BELOW else 1
            job = job_to_bytes(self._context.identity, piece.job)
            shared = self._shared(piece)
            if shared is not None:
                room = shared[1]
            silent = [future for future, flight in self._silent.items() if flight.piece is piece]
            self._adapter.avoid(silent)
            try:
                future = self._adapter.submit(run_job, job, budget, self._most(room), parts, shared, send=piece.send)
            except NoMoreJobs:
                self._put(piece)
                raise
            self._flying[future] = _Flight(piece, room, budget, next(self._sent), time.monotonic())
            self._reserved += room
            self._adapter.tell(future, self._ended.put)

    def _shared(self, piece: _Piece) -> tuple[SharedPlace, int] | None:
        """Where the next job may keep regions, and how many; one that failed sends them."""
        sink = self._asked.sink
        if not self._asked.regions or piece.failures or not isinstance(sink, SharedSink):
            return None
        place = sink.shared()
        return None if place is None else (place, self._room(_KEPT_BYTES))

    def _room(self, size: int) -> int:
        """How many regions the next job may find: what fits into so many bytes, and of a limit what others leave."""
        room = max(int(size / self._bytes_a_region), 1)
        left = self._room_left()
        if not self._asked.regions or left == inf:
            return room
        return min(room, -(-int(left) // _SHARE_OF_ROOM))

    def _room_left(self) -> float:
        """How many regions may be found that no job has room for."""
        most = self._asked.limits.max_regions
        return inf if most is None else most - self._counts[-1] - self._reserved

    def _most(self, room: int) -> int | None:
        return room if self._asked.regions else None

    def _guessed_bytes(self) -> float:
        """About how many bytes a region takes; replies tell."""
        none, dim = self._asked.no_columns(self._choice.restricted), self._asked.frame.dim
        facets = 40 * dim if self._asked.wants_facets else 0
        vertices = 2 ** min(dim, 14) * (8 * dim + 8) if self._asked.wants_vertices else 0
        return float(none.patterns.shape[1] + 8 * dim + facets + vertices)

    def _take(self, timeout: float) -> None:
        """Take up what has ended, waiting for the first a while."""
        try:
            future = self._ended.get(timeout=timeout)
            while True:
                self._end(future)
                future = self._ended.get_nowait()
        except Empty:
            return

    def _give_up_silent(self, now: float) -> None:
        """Send jobs to somebody else that should have been answered long ago; an answer may still come."""
        if self._adapter.workers() == 0:
            self._last_answer = self._last_answer._replace(time=now)
            return
        for future, flight in list(self._flying.items()):
            if flight.is_silent(now, self._last_answer):
                self._silent[future] = self._flying.pop(future)
                self._reserved -= flight.room
                flight.piece.silent += 1
                self._put(flight.piece)

    def _end(self, future: Any) -> None:
        """Accept what a future came to, or leave its job open if it was lost."""
        flight = self._flying.pop(future, None)
        if flight is not None:
            self._reserved -= flight.room
            self._last_answer = _Answer(max(flight.number, self._last_answer.number), time.monotonic())
        elif future in self._silent:
            self._end_late(future)
            return
        else:
            return
        piece = flight.piece
        try:
            reply = read_reply(self._adapter.result(future), self._context)
            made = self._adopted(reply)
        except BaseException as error:  # of cancelled futures, which are no exceptions in all libraries, too
            self._adapter.forget([future])
            self._put(piece)
            piece.failures += 1
            if piece.failures > _SENT_AGAIN:
                self._checkpoint()
                raise AffineLensError(
                    f"a job failed {piece.failures} times, at last with {type(error).__name__}: {error!s:.200}"
                ) from error
            return
        if reply.is_missing:
            piece.send = True
            self._put(piece)
        elif reply.refusal is not None:
            self._put(piece)
            raise AffineLensError(f"a worker refused a job: {reply.refusal}")
        elif reply.outcome is not None:
            self._accept(reply, reply.outcome, flight, made)

    def _end_late(self, future: Any) -> None:
        """Accept an answer that nobody waited for any more, if it is one and there is room for its regions."""
        flight = self._silent.pop(future)
        if flight.piece.is_done:
            self._adapter.forget([future])
            return
        try:
            reply = read_reply(self._adapter.result(future), self._context)
            found = reply.outcome
            if found is None or (self._asked.regions and found.regions > self._room_left()):
                return
            made = self._adopted(reply)
        except BaseException:  # the job was sent again already
            return
        self._accept(reply, found, flight, made)

    def _adopted(self, reply: Reply) -> list[Any]:
        """What stands for the regions that a job has kept where it was run."""
        sink, outcome = self._asked.sink, reply.outcome
        if outcome is None or reply.kept is None:
            return []
        if not isinstance(sink, SharedSink):
            raise AffineLensError("a job has kept regions that were to be sent")
        regions = {chunk.made: chunk.regions for chunk in outcome.chunks}
        return sink.adopt(reply.kept, [regions[write] for write in range(len(regions))])

    def _accept(self, reply: Reply, found: Outcome, flight: _Flight, made: list[Any]) -> None:
        """Take over what a job found and left; ``made`` is what stands for regions that it has kept."""
        self._finish(flight.piece)
        left = found.open_work
        if left is None:
            raise AffineLensError("a job was stopped where it cannot be gone on with")
        gained = any(found.layer_counts) or found.certificate.decisions > 0 or len(left) != 1
        for job in left:
            self._put(_Piece(job, at_least=0.0 if gained else 2 * flight.budget))
        self._counts = [a + b for a, b in zip(self._counts, found.layer_counts, strict=True)]
        self._certificate += found.certificate
        self._share = None if self._share is None or found.share is None else self._share + found.share
        if found.switching is not None:
            self._switching = found.switching
        if found.regions and self._asked.regions:
            self._bytes_a_region = max(reply.size / found.regions, 1.0)
        sink = self._asked.sink
        for chunk in found.chunks:
            if reply.kept is not None:
                chunk = chunk._replace(made=made[chunk.made])
            elif sink is not None:
                chunk = chunk._replace(made=sink.write(chunk.made))
            self._chunks.append(chunk)
        most = self._asked.limits.max_regions
        if most is None:
            return
        if self._asked.regions:
            self._is_more = flight.room == 0 and found.status is Status.REGION_LIMIT
        elif self._counts[-1] > most:
            self._counts[-1] = most
            self._is_more = True

    def _finish(self, piece: _Piece) -> None:
        """A job was answered: whoever else has it need not go on.

        But who was silent keeps it, so that the executor takes it for busy and sends no other there.
        """
        piece.is_done = True
        if piece.silent == 0:
            return
        others = [future for future, flight in self._flying.items() if flight.piece is piece]
        self._reserved -= sum(self._flying.pop(future).room for future in others)
        self._waiting = [entry for entry in self._waiting if not entry[2].is_done]
        heapq.heapify(self._waiting)
        self._adapter.forget(others)

    def _withdraw(self) -> None:
        """Call jobs back, but wait a while for those that are about to end."""
        running = set(self._adapter.withdraw(list(self._flying)))
        for future in [future for future in self._flying if future not in running]:
            flight = self._flying.pop(future)
            self._reserved -= flight.room
            self._put(flight.piece)
        end = time.monotonic() + _GRACE
        is_exceeded = self._is_more and not self._asked.regions
        while self._flying and not is_exceeded and time.monotonic() < end:
            self._take(_REPORT_EVERY)
        self._forget_all()
        for flight in self._flying.values():
            self._put(flight.piece)
        self._flying.clear()

    def _forget_all(self) -> None:
        self._adapter.forget([*self._flying, *self._silent])

    def _progress(self, seconds: float) -> Progress:
        return Progress(
            self._counts[-1], tuple(self._counts), seconds, share=self._share, workers=self._adapter.workers()
        )

    def _checkpoint(self) -> None:
        if self._asked.sink is not None:
            self._asked.sink.checkpoint(self._outcome(Status.UNFINISHED))

    def _outcome(self, status: Status) -> Outcome:
        """The walk as it stands: what was accepted, and as open work all else."""
        none = self._asked.no_columns(None if self._switching is None else self._choice.restricted)
        chunks, columns = in_order(self._chunks), none
        later: Columns | JoinedLater = columns
        if self._asked.sink is None:
            later, chunks = JoinedLater([none, *(chunk.made for chunk in chunks)]), ()
        cannot_go_on = self._is_more and not self._asked.regions
        return Outcome(
            self._choice.name,
            status,
            replace(self._certificate, complete=status is Status.COMPLETE),
            tuple(self._counts),
            time.monotonic() - self._started,
            later,
            chunks,
            None if cannot_go_on else self._whole_share(status),
            self._switching,
            self._choice.restricted,
            None if cannot_go_on else self._open_work(),
        )

    def _whole_share(self, status: Status) -> float | None:
        """The share of what was walked, of which rounding leaves less or more than all."""
        if self._share is None or (status is Status.COMPLETE and self._asked.begins):
            return None if self._share is None else 1.0
        return min(self._share, 1.0)

    def _open_work(self) -> tuple[Job, ...]:
        pieces = [piece for *_, piece in self._waiting] + [flight.piece for flight in self._flying.values()]
        return tuple(sorted((piece.job for piece in pieces), key=lambda job: job.place))

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
