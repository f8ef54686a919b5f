"""Running a request: the one place where an engine is chosen and set to work."""

from __future__ import annotations

import time
from dataclasses import replace

from affinelens.deadline import NEVER, Deadline, TimeIsUp
from affinelens.engine.choice import Choice, choose
from affinelens.engine.executors import perform_elsewhere
from affinelens.engine.performing import perform
from affinelens.walk import NO_DECISIONS, Outcome, Request, Status


def run(request: Request, choice: Choice | None = None) -> Outcome:
    """Walk what is asked for, by the engine that fits best unless one was chosen already.

    Time is counted from here, without that of compiling kernels.
    """
    started = time.monotonic()
    limit = request.limits.time_limit
    deadline = NEVER if limit is None else Deadline(started + limit)
    spent = 0.0
    try:
        chosen = choose(request, deadline) if choice is None else choice
        spent = time.monotonic() - started
        left = replace(request, limits=replace(request.limits, time_limit=deadline.left))
        walk = perform if request.executor is None else perform_elsewhere
        outcome = walk(chosen, left, deadline)
    except TimeIsUp:
        outcome = _nothing_found(request, request.engine if choice is None else choice.name)
        spent = time.monotonic() - started
    return replace(outcome, seconds=spent + outcome.seconds)


def _nothing_found(request: Request, engine: str) -> Outcome:
    """The outcome of a request whose time was up before the walk began."""
    counts = (0,) * max(len(request.network.stages), 1)
    certificate = replace(NO_DECISIONS, complete=False)
    return Outcome(
        engine, Status.TIME_LIMIT, certificate, counts, 0.0, request.no_columns(), share=0.0,
        open_work=request.open_work,
    )  # fmt: skip
