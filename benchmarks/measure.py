"""Measuring: the best of several runs, because these are shared machines and noise only ever adds time.

What is measured is the walk. Laying out the network for it takes the same few milliseconds whatever it finds, and is
measured by itself.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import affinelens as al
from affinelens.engine.vertex.driver.task import Task
from affinelens.engine.vertex.driver.threads import Walk
from affinelens.engine.vertex.layout.program import compile_program
from affinelens.network import compile_model
from affinelens.walk import Limits, Request

_ENOUGH_SECONDS = 2.0
_MOST_RUNS = 100


class Measured(NamedTuple):
    """How many regions there are, and the shortest times the layout and the walk took."""

    regions: int
    layout: float
    seconds: float


def enumerating(model: Any, domain: al.Domain, *, workers: int = 1) -> Measured:
    """Patterns and interior points, in memory."""
    return _best(model, domain, workers, regions=True)


def counting(model: Any, domain: al.Domain, *, workers: int = 1) -> Measured:
    """The count alone."""
    return _best(model, domain, workers, regions=False)


def _best(model: Any, domain: al.Domain, workers: int, *, regions: bool) -> Measured:
    network = compile_model(model, inputs=domain.inputs)
    best = Measured(0, float("inf"), float("inf"))
    spent = 0.0
    for _ in range(_MOST_RUNS):
        started = time.perf_counter()
        compiled = compile_program(network, domain.frame)
        asked = Request(network, domain.frame, regions=regions, facets=False, limits=Limits(workers=workers))
        walk = Walk(Task("vertex" if regions else "count", asked, counts_sections=not regions), compiled)
        ready = time.perf_counter()
        outcome = walk.run()
        assert len(outcome.table) == (outcome.regions if regions else 0)  # put together only when looked at
        done = time.perf_counter()
        assert outcome.status is al.Status.COMPLETE
        best = Measured(outcome.regions, min(best.layout, ready - started), min(best.seconds, done - ready))
        spent += done - started
        if spent > _ENOUGH_SECONDS:
            break
    return best
