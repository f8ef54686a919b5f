"""An engine for tests of those who keep what a walk finds: it walks in steps, out of order, and stops where it is told.

Its regions are the vertex engine's. It goes on with ranges of them, from the middle of the domain first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import affinelens as al
from affinelens.deadline import NEVER, Deadline
from affinelens.engine.choice import engine_named
from affinelens.restrict import RestrictedNetwork
from affinelens.walk import (
    NO_DECISIONS,
    WHOLE_DOMAIN,
    Ability,
    Chunk,
    Fit,
    HandedTo,
    Job,
    Limits,
    Outcome,
    Request,
    Restriction,
)  # fmt: skip

NAME = "piecewise"
_STEP = 3


@dataclass
class Piecewise:
    """``before_step`` is called before each step of a few regions, and may end the walk in any way."""

    before_step: Callable[[int], None] = lambda step: None
    name: str = NAME
    abilities: frozenset[Ability] = frozenset(Ability)

    def fit(self, request: Request, restriction: Restriction, *, freely: bool) -> Fit:
        """Where it is asked for."""
        return Fit("it is for tests") if freely else engine_named("vertex").fit(request, restriction, freely=False)

    def walk(self, request: Request, restricted: RestrictedNetwork | None, deadline: Deadline) -> Outcome:
        """Walk a few regions at a time."""
        alone = replace(request, regions=True, sink=None, open_work=(WHOLE_DOMAIN,), limits=Limits(), progress=None)
        whole = engine_named("vertex").walk(alone, restricted, NEVER)
        sink = request.sink or HandedTo(lambda columns: columns)
        ranges = _read(request.open_work, whole.regions)
        chunks: list[Chunk] = []
        found, step, status = 0, 0, al.Status.COMPLETE
        most = request.limits.max_regions

        def outcome(status: al.Status) -> Outcome:
            certificate = replace(NO_DECISIONS, decisions=found, complete=status is al.Status.COMPLETE)
            jobs = tuple(Job(NAME, (start,), [start, stop]) for start, stop in ranges)
            counts = (*(found for _ in whole.layer_counts[1:]), found)
            return replace(
                whole, engine=NAME, status=status, certificate=certificate, layer_counts=counts, seconds=0.5,
                columns=request.no_columns(restricted), chunks=tuple(chunks), share=found / whole.regions,
                open_work=jobs, restricted=restricted,
            )  # fmt: skip

        while ranges:
            self.before_step(step)
            start, stop = ranges.pop()
            if stop - start > 2 * _STEP:
                middle = (start + stop) // 2
                ranges += [(start, middle)]
                start = middle
            end = min(start + _STEP, stop)
            if most is not None and found + end - start > most:
                end = start + most - found
                status = al.Status.REGION_LIMIT
            if end < stop:
                ranges.append((end, stop))
            if end > start and request.regions:
                chunks.append(Chunk((start,), 0, end - start, sink.write(whole.table[start:end])))
            found += end - start
            step += 1
            if status is not al.Status.COMPLETE:
                break
            if step % 2 == 0 and request.sink is not None:
                request.sink.checkpoint(outcome(al.Status.UNFINISHED))
        return outcome(status)


def _read(jobs: tuple[Job, ...], regions: int) -> list[tuple[int, int]]:
    if jobs == (WHOLE_DOMAIN,):
        return [(0, regions)]
    for job in jobs:
        fits = isinstance(job.state, list) and len(job.state) == 2 and all(type(n) is int for n in job.state)
        if not fits or not 0 <= job.state[0] < job.state[1] <= regions:
            raise al.AffineLensError("its open work is not of this engine")
    return [(start, stop) for start, stop in (job.state for job in jobs)]
