"""Running one job: the plain function that executors call, with bytes in and bytes out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from affinelens.deadline import NEVER
from affinelens.engine.executors.columns_data import columns_from_data, columns_to_data
from affinelens.engine.executors.context import Context, job_from_bytes, known_context
from affinelens.engine.executors.message import Arrays, named, of_prefix, packed, unpacked
from affinelens.engine.performing import perform
from affinelens.errors import AffineLensError
from affinelens.walk import Certificate, Chunk, Columns, HandedTo, Job, Limits, Outcome, Status


@dataclass(frozen=True, eq=False)
class Reply:
    """What running a job gave.

    ``chunks`` hold their columns. ``is_missing`` says that the worker does not know what is walked, and ``refusal`` why
    it does not run the job; then there is no outcome.
    """

    outcome: Outcome | None = None
    is_missing: bool = False
    refusal: str | None = None


def run_job(context: bytes | None, job: bytes, budget: float, most: int | None = None, parts: int = 1) -> bytes:
    """Run a job for about so many seconds or until it has found so many regions; the reply holds what is left.

    What is left is in about so many parts: as many threads walk, and each leaves its own.
    A worker remembers the context of a walk, and without one asks for it. What it refuses, it says in a sentence.
    """
    try:
        identity, task = job_from_bytes(job)
        known = known_context(identity.context, context)
        if known is None:
            return packed({"missing": True}, {})
        if identity.model != known.identity.model:
            raise AffineLensError("the job belongs to another model than what came with it")
        return _reply(_run(known, task, budget, most, parts))
    except AffineLensError as error:
        return packed({"refusal": str(error)}, {})


def _run(context: Context, job: Job, budget: float, most: int | None, parts: int) -> Outcome:
    columns: list[Columns] = []

    def keep(some: Columns) -> int:
        columns.append(some)
        return len(columns) - 1

    limits = Limits(most, budget, workers=parts, checkpoint_every=float("inf"))
    request = replace(context.request, open_work=(job,), limits=limits, sink=HandedTo(keep))
    started = time.monotonic()
    outcome = perform(context.choice, request, NEVER)
    chunks = _together(outcome.chunks, columns, outcome.open_work or ())
    return replace(outcome, chunks=chunks, seconds=time.monotonic() - started)


def _together(chunks: Sequence[Chunk], columns: Sequence[Columns], left: Sequence[Job]) -> tuple[Chunk, ...]:
    """Chunks with their columns, as one if all that is left comes behind them."""
    found = [chunk._replace(made=columns[chunk.made]) for chunk in chunks]
    if len(found) < 2 or any(job.place <= found[-1].place for job in left):
        return tuple(found)
    everything = Columns.joined([chunk.made for chunk in found])
    return (found[0]._replace(regions=len(everything), made=everything),)


def _reply(outcome: Outcome) -> bytes:
    arrays: Arrays = {}
    chunks = []
    for number, chunk in enumerate(outcome.chunks):
        structure, own = columns_to_data(chunk.made)
        arrays |= named(str(number), own)
        chunks.append([list(chunk.place), chunk.number, structure])
    left = None if outcome.open_work is None else [job.to_json() for job in outcome.open_work]
    return packed(
        {
            "engine": outcome.engine, "status": outcome.status.name, "certificate": asdict(outcome.certificate),
            "layer_counts": list(outcome.layer_counts), "seconds": outcome.seconds, "share": outcome.share,
            "is_stored_restricted": outcome.switching is not None, "chunks": chunks, "left": left,
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
        return Reply(_outcome(structure, arrays, context))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise AffineLensError("what a job found cannot be read") from error


def _outcome(structure: dict[str, Any], arrays: Arrays, context: Context) -> Outcome:
    request, restricted = context.request, context.choice.restricted
    switching = None if restricted is None or not structure["is_stored_restricted"] else restricted.switching
    chunks = []
    for number, (place, index, data) in enumerate(structure["chunks"]):
        columns = columns_from_data(data, of_prefix(str(number), arrays))
        chunks.append(Chunk(tuple(int(n) for n in place), int(index), len(columns), columns))
    counts = tuple(int(count) for count in structure["layer_counts"])
    expected = request.no_columns(None if switching is None else restricted)
    fits = len(counts) == max(len(request.network.stages), 1) and all(count >= 0 for count in counts)
    for chunk in chunks:
        columns = chunk.made
        fits &= columns.patterns.shape[1] == expected.patterns.shape[1] and columns.points.shape[1] == request.frame.dim
        fits &= (columns.facets is None) == (expected.facets is None)
        fits &= (columns.vertices is None) == (expected.vertices is None)
    if not fits or (request.regions and sum(chunk.regions for chunk in chunks) != counts[-1]):
        raise ValueError("it is of another request")
    left, share = structure["left"], structure["share"]
    return Outcome(
        str(structure["engine"]),
        Status[structure["status"]],
        Certificate(**structure["certificate"]),
        counts,
        float(structure["seconds"]),
        expected,
        tuple(chunks),
        None if share is None else float(share),
        switching,
        restricted,
        None if left is None else tuple(Job.from_json(job) for job in left),
    )
