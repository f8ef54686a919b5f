"""Running one job: the plain function that executors call, with bytes in and bytes out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from affinelens.deadline import NEVER
from affinelens.engine.executors.columns_data import columns_from_data, columns_to_data, size_of
from affinelens.engine.executors.context import Context, job_from_bytes, known_context
from affinelens.engine.executors.message import Arrays, named, of_prefix, packed, unpacked
from affinelens.engine.performing import perform
from affinelens.errors import AffineLensError
from affinelens.kernels.blas_threads import one_blas_thread
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import Certificate, Chunk, Columns, Deposit, HandedTo, Job, Limits, Outcome, SharedPlace, Status

# Regions of fewer bytes come back in the reply: many small files serve nobody.
_LITTLE = 4 * 2**20


@dataclass(frozen=True, eq=False)
class Reply:
    """What running a job gave.

    ``chunks`` hold their columns. ``is_missing`` says that the worker does not know what is walked, and ``refusal`` why
    it does not run the job; then there is no outcome. If regions were ``kept`` where the job was run, chunks hold the
    numbers of their writes instead. ``size`` is about how many bytes the regions take.
    """

    outcome: Outcome | None = None
    kept: dict[str, Any] | None = None
    size: int = 0
    is_missing: bool = False
    refusal: str | None = None


def run_job(
    context: bytes | None,
    job: bytes,
    budget: float,
    most: int | None = None,
    parts: int = 1,
    shared: tuple[SharedPlace, int] | None = None,
) -> bytes:
    """Run a job for about so many seconds or until it has found so many regions; the reply holds what is left.

    What is left is in about so many parts: as many threads walk, and each leaves its own.
    A worker remembers the context of a walk, and without one asks for it. What it refuses, it says in a sentence.
    If it reaches the shared place, it may find as many regions as come with that, and keeps them there unless they are
    few.
    """
    try:
        identity, task = job_from_bytes(job)
        known = known_context(identity.context, context)
        if known is None:
            return packed({"missing": True}, {})
        if identity.model != known.identity.model:
            raise AffineLensError("the job belongs to another model than what came with it")
        deposit = None if shared is None else shared[0].opened(shared[0].told, known.request)
        most = shared[1] if shared is not None and deposit is not None else most
        found = _Found(deposit)
        try:
            with one_blas_thread():
                return _reply(_run(known, task, budget, most, parts, found), found)
        except BaseException:
            found.discard()
            raise
    except AffineLensError as error:
        return packed({"refusal": str(error)}, {})


class _Found:
    """What a job finds: in memory while it is little or there is no deposit, and otherwise there."""

    def __init__(self, deposit: Deposit | None) -> None:
        self._deposit = deposit
        self._is_deposited = False
        self.columns: list[Columns] = []
        self.writes = self.size = 0

    def take(self, some: Columns) -> int:
        """Keep some regions; returns which write that was."""
        self.size += size_of(some)
        self.columns.append(some)
        self.writes += 1
        if self._deposit is not None and (self._is_deposited or self.size > _LITTLE):
            self._is_deposited = True
            for columns in self.columns:
                self._deposit.write(columns)
            self.columns.clear()
        return self.writes - 1

    def kept(self) -> dict[str, Any] | None:
        """What stands for all of it in the shared place; None if it is in memory."""
        if self._deposit is None or not self._is_deposited:
            return None
        kept = self._deposit.close()
        if kept is None:
            raise OSError("the run directory is not there any more, or another walk is")
        return kept

    def discard(self) -> None:
        """Give up what was kept."""
        if self._deposit is not None:
            self._deposit.discard()


def _run(context: Context, job: Job, budget: float, most: int | None, parts: int, found: _Found) -> Outcome:
    limits = Limits(most, budget, workers=parts, checkpoint_every=float("inf"))
    request = replace(context.request, open_work=(job,), limits=limits, sink=HandedTo(found.take))
    started = time.monotonic()
    outcome = perform(context.choice, request, NEVER)
    return replace(outcome, seconds=time.monotonic() - started)


def _together(chunks: Sequence[Chunk], columns: Sequence[Columns], left: Sequence[Job]) -> tuple[Chunk, ...]:
    """Chunks with their columns, as one if all that is left comes behind them."""
    found = [chunk._replace(made=columns[chunk.made]) for chunk in chunks]
    if len(found) < 2 or any(job.place <= found[-1].place for job in left):
        return tuple(found)
    everything = Columns.joined([chunk.made for chunk in found])
    return (found[0]._replace(regions=len(everything), made=everything),)


def _reply(outcome: Outcome, found: _Found) -> bytes:
    arrays: Arrays = {}
    chunks: list[list[Any]] = []
    kept = found.kept()
    if kept is None:
        for number, chunk in enumerate(_together(outcome.chunks, found.columns, outcome.open_work or ())):
            structure, own = columns_to_data(chunk.made)
            arrays |= named(str(number), own)
            chunks.append([list(chunk.place), chunk.number, structure])
    else:
        chunks = [[list(chunk.place), chunk.number, chunk.regions, chunk.made] for chunk in outcome.chunks]
    left = None if outcome.open_work is None else [job.to_json() for job in outcome.open_work]
    return packed(
        {
            "engine": outcome.engine, "status": outcome.status.name, "certificate": asdict(outcome.certificate),
            "layer_counts": list(outcome.layer_counts), "seconds": outcome.seconds, "share": outcome.share,
            "is_stored_restricted": outcome.switching is not None, "chunks": chunks, "left": left,
            "kept": kept, "size": found.size,
        },
        arrays,
    )  # fmt: skip


def read_reply(message: bytes, context: Context) -> Reply:
    """What a job of this context gave; anything that does not fit is an error."""
    structure, arrays = unpacked(message)
    if structure.get("missing"):
        return Reply(is_missing=True)
    if "refusal" in structure:
        return Reply(refusal=str(structure["refusal"]))
    try:
        kept = structure["kept"]
        outcome = _outcome(structure, _chunks(structure, arrays, context), context)
        return Reply(outcome, None if kept is None else dict(kept), size=int(structure["size"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AffineLensError("what a job found cannot be read") from error


def _chunks(structure: dict[str, Any], arrays: Arrays, context: Context) -> tuple[Chunk, ...]:
    """The chunks of a reply with their columns or, of regions that were kept, with the numbers of their writes."""
    if structure["kept"] is not None:
        told = [
            Chunk(tuple(int(n) for n in place), int(index), int(regions), int(write))
            for place, index, regions, write in structure["chunks"]
        ]
        if sorted(chunk.made for chunk in told) != list(range(len(told))):
            raise ValueError("it does not say where its regions are")
        return tuple(told)
    request = context.request
    expected = request.no_columns(_restricted(structure, context))
    chunks = []
    for number, (place, index, data) in enumerate(structure["chunks"]):
        columns = columns_from_data(data, of_prefix(str(number), arrays))
        fits = (
            columns.patterns.shape[1] == expected.patterns.shape[1]
            and columns.points.shape[1] == request.frame.dim
            and (columns.facets is None) == (expected.facets is None)
            and (columns.vertices is None) == (expected.vertices is None)
        )
        if not fits:
            raise ValueError("it is of another request")
        chunks.append(Chunk(tuple(int(n) for n in place), int(index), len(columns), columns))
    return tuple(chunks)


def _restricted(structure: dict[str, Any], context: Context) -> RestrictedNetwork | None:
    """The restricted network, if patterns are stored for that."""
    return context.choice.restricted if structure["is_stored_restricted"] else None


def _outcome(structure: dict[str, Any], chunks: tuple[Chunk, ...], context: Context) -> Outcome:
    request, stored = context.request, _restricted(structure, context)
    counts = tuple(int(count) for count in structure["layer_counts"])
    if len(counts) != max(len(request.network.stages), 1) or any(count < 0 for count in counts):
        raise ValueError("it is of another request")
    if request.regions and sum(chunk.regions for chunk in chunks) != counts[-1]:
        raise ValueError("it holds another number of regions than it says")
    left, share = structure["left"], structure["share"]
    return Outcome(
        str(structure["engine"]),
        Status[structure["status"]],
        Certificate(**structure["certificate"]),
        counts,
        float(structure["seconds"]),
        request.no_columns(stored),
        chunks,
        None if share is None else float(share),
        None if stored is None else stored.switching,
        context.choice.restricted,
        None if left is None else tuple(Job.from_json(job) for job in left),
    )
